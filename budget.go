package kinglet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/internal/engine/budget"
	"github.com/kinglet-go/kinglet/internal/wire/footprint"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// Budget is how many bytes the whole objects of informers on demand may take, about: see
// OnDemandOptions. Several informers may share one, each from the beginning of its Run to the
// end. An object counts with its size on the wire, which is more than it takes where objects
// have parts in common.
type Budget = budget.Budget

// NewBudget returns a Budget of so many bytes.
func NewBudget(bytes int64) *Budget { return budget.New(bytes) }

// ledger is what the whole objects of an informer take of its Budget: what the store holds,
// counted under the hub's lock with each of its changes, and what is on its way there.
type ledger[T any] struct {
	budget *Budget // nil if there is no bound

	mu sync.Mutex
	// The fields below are guarded by mu.

	// sizes are of the whole objects that the store holds, and short those of objects for
	// which there was no room, since when there are any.
	sizes, short map[Key]int64
	since        time.Time
	// untried and trying are the whole objects that makeRoom has not tried to make metadata
	// since they changed, or were held or released. trying are taken first, and some of them
	// may be gone.
	untried map[Key]struct{}
	trying  []Key
	// least is not more than any size in short.
	least int64
	// arriving are objects of the steps, or the lists, that are under way in their scopes.
	arriving map[Key]arrival
	// leaving is the object that is about to become metadata, so that others have room.
	leaving Key
}

// unknownSize is the size of an object that a client has decoded and that is metadata, until it
// is read.
const unknownSize = 1

// arrival is an object on its way to the store.
type arrival struct {
	size int64
	// taken is what was taken of the Budget, beyond the size of the object that the store
	// holds. It is 0 if the object is not whole.
	taken int64
}

func newLedger[T any](b *Budget) *ledger[T] {
	return &ledger[T]{budget: b, sizes: map[Key]int64{}, short: map[Key]int64{}, untried: map[Key]struct{}{}, arriving: map[Key]arrival{}}
}

// room reports whether an object can be whole, or stay so.
func (l *ledger[T]) room(key Key) bool {
	if l.budget == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if key == l.leaving {
		return false
	}
	size, has := l.sizes[key]
	if a, arrives := l.arriving[key]; arrives {
		return a.taken > 0 || l.budget.Has(max(a.size-size, 0))
	}
	return has || l.budget.Has(max(l.short[key], 1))
}

// arrives notes an object that comes with a list or an event, and reports whether it can be
// whole, or must be. If there is no room for it, only its size is noted.
func (l *ledger[T]) arrives(key Key, size int64, whole, must bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.budget.Give(l.arriving[key].taken) // of an earlier event
	more := max(0, size-l.sizes[key])
	if whole = whole && (more == 0 || l.budget.Take(more, must)); !whole {
		more = 0
	}
	l.arriving[key] = arrival{size, more}
	return whole
}

// arrived ends a step of a scope, or begins a list: what is on its way there will not reach
// the store.
func (l *ledger[T]) arrived(scope Scope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrivedLocked(scope)
}

func (l *ledger[T]) arrivedLocked(scope Scope) {
	for key, a := range l.arriving {
		if scope.Has(key) {
			l.budget.Give(a.taken)
			delete(l.arriving, key)
		}
	}
}

// changed counts the changes of a step.
func (l *ledger[T]) changed(changes []store.Change[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range changes {
		if c := &changes[i]; c.Type == store.Deleted {
			l.goneLocked(c.Key)
		} else {
			l.holdsLocked(c.Key, c.New)
		}
	}
}

// replaced counts what the store holds after a list of a scope.
func (l *ledger[T]) replaced(held *store.Store[T], scope Scope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := held.Snapshot()
	for _, of := range []map[Key]int64{l.sizes, l.short} {
		for key := range of {
			if _, ok := all.Get(key); !ok {
				l.goneLocked(key)
			}
		}
	}
	for key := range all.SpanKeys(scope.Span) {
		obj, _ := all.Get(key)
		if _, arrives := l.arriving[key]; scope.Has(key) && (arrives || !partial(obj)) {
			l.holdsLocked(key, obj)
		}
	}
	l.arrivedLocked(scope)
}

func (l *ledger[T]) goneLocked(key Key) {
	l.countLocked(key, 0, l.storedLocked(key).taken)
	l.shortLocked(key, 0)
}

// storedLocked returns the arrival of an object that has reached the store. Its size stays
// known, for a later one in the step.
func (l *ledger[T]) storedLocked(key Key) arrival {
	a, is := l.arriving[key]
	if is {
		l.arriving[key] = arrival{size: a.size}
	}
	return a
}

// holdsLocked counts an object that the store holds from now on.
func (l *ledger[T]) holdsLocked(key Key, obj T) {
	a := l.storedLocked(key)
	if partial(obj) {
		l.countLocked(key, 0, a.taken)
		l.shortLocked(key, a.size)
		return
	}
	l.countLocked(key, cmp.Or(a.size, l.sizes[key], footprint.One(obj)), a.taken)
	l.shortLocked(key, 0)
}

// countLocked sets the size of a whole object that the store holds, or 0 if it holds none,
// of which a part was taken already.
func (l *ledger[T]) countLocked(key Key, size, taken int64) {
	if more := size - l.sizes[key] - taken; more > 0 {
		l.budget.Take(more, true)
	} else {
		l.budget.Give(-more)
	}
	if size > 0 {
		l.sizes[key] = size
		l.untried[key] = struct{}{}
	} else {
		delete(l.sizes, key)
		delete(l.untried, key)
	}
}

// shortLocked sets the size of an object for which there was no room, or 0 if it lacks none.
func (l *ledger[T]) shortLocked(key Key, size int64) {
	switch delete(l.short, key); {
	case size > 0:
		if len(l.short) == 0 || size < l.least {
			l.least = size
		}
		if l.short[key] = size; l.since.IsZero() {
			l.since = time.Now()
		}
	case len(l.short) == 0:
		l.since = time.Time{}
	}
}

// take takes the room for an object that is about to become whole in the store, or must. The
// caller calls became when it has, or Budget.Give. If there is no room, its size is noted, if obj
// is still what the store holds; another is counted when it comes.
func (l *ledger[T]) take(key Key, obj T, must bool, still func() bool) (size int64, ok bool) {
	if l.budget == nil {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if size = l.short[key]; size <= unknownSize {
		size = footprint.One(obj)
	}
	if ok = l.budget.Take(size, must); !ok && still() {
		l.shortLocked(key, size)
	}
	return size, ok
}

// noted returns the size of an object that the store holds, if that is known.
func (l *ledger[T]) noted(key Key) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(l.sizes[key], l.short[key])
}

// became counts an object that has another form in the store: it is whole, and size has been
// taken, or metadata, and size is 0. short reports that it is that for want of room.
func (l *ledger[T]) became(key Key, size int64, short bool) {
	if l.budget == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.sizes[key]
	l.countLocked(key, size, size)
	if !short {
		was = 0
	}
	l.shortLocked(key, was)
}

// forget gives up the wish for an object that the server does not have, or that need not be
// whole, if it is still what the store holds; another is counted when it comes.
func (l *ledger[T]) forget(key Key, still func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if still() {
		l.shortLocked(key, 0)
	}
}

// fits returns the keys of objects for which there was no room and is now, a few of them, and
// not more than fit beside those that are being read, or wait for it. They are none of skip.
func (l *ledger[T]) fits(reading, waiting map[Key]struct{}, skip ...map[Key]struct{}) (keys []Key) {
	const few = 4 * settleReads
	if l.budget == nil || len(waiting) >= few {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	room := l.budget.Room()
	skip = append(skip, reading, waiting)
	for _, of := range skip[len(skip)-2:] {
		for key := range of {
			room -= l.short[key]
		}
	}
	least := int64(math.MaxInt64)
	for key, size := range l.short {
		if room < l.least || len(keys) == few {
			return keys
		}
		least = min(least, size)
		is := func(in map[Key]struct{}) bool { _, is := in[key]; return is }
		if size <= room && !slices.ContainsFunc(skip, is) {
			room -= size
			keys = append(keys, key)
		}
	}
	l.least = least
	return keys
}

// retry has leave return the whole ones of these objects again.
func (l *ledger[T]) retry(keys map[Key]struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key := range keys {
		if _, whole := l.sizes[key]; whole {
			l.untried[key] = struct{}{}
		}
	}
}

// leave sets leaving to an object that has not been tried, if there is one and more is taken of
// the Budget than there is.
func (l *ledger[T]) leave() (key Key, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaving = Key{}
	if len(l.untried)+len(l.trying) == 0 || l.budget.Has(0) {
		return key, false
	}
	if len(l.trying) == 0 {
		// To take one key of a map that was large costs a look at all of it.
		l.trying, l.untried = slices.Collect(maps.Keys(l.untried)), map[Key]struct{}{}
	}
	last := len(l.trying) - 1
	l.leaving, l.trying = l.trying[last], l.trying[:last]
	return l.leaving, true
}

// close returns everything to the Budget, and counts nothing any more.
func (l *ledger[T]) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arrivedLocked(Scope{})
	for key := range l.sizes {
		l.countLocked(key, 0, 0)
	}
	clear(l.short)
	l.trying, l.since = nil, time.Time{}
}

func (l *ledger[T]) status() (s status.Budget) {
	if l.budget == nil {
		return s
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Used, s.Bytes = l.budget.Used()
	for _, size := range l.sizes {
		s.Whole += size
	}
	s.Short, s.Since = len(l.short), l.since
	return s
}

// budgeted is a source of objects of which those that do not fit in a Budget are not whole.
type budgeted[T any] struct {
	source.Source[T]
	scope  Scope
	demand *OnDemand[T]
}

// List implements source.Source.
func (b budgeted[T]) List(ctx context.Context, req source.ListRequest[T], yield func(source.Page[T]) error) error {
	if req.Continue == "" {
		b.demand.ledger.arrived(b.scope)
	}
	return b.Source.List(ctx, req, func(page source.Page[T]) error {
		for i := range page.Items {
			b.fit(&page.Items[i])
		}
		return yield(page)
	})
}

// Watch implements source.Source.
func (b budgeted[T]) Watch(ctx context.Context, req source.WatchRequest[T], yield func([]source.Event[T]) error) error {
	listing := req.SendInitialEvents
	if listing || req.OnOpen == nil { // else a list is published when the watch opens
		b.demand.ledger.arrived(b.scope)
	}
	step := func(events []source.Event[T]) error {
		for i := range events {
			if ev := &events[i]; ev.Type == source.Added || ev.Type == source.Modified {
				b.fit(&ev.Item)
			}
		}
		if listing {
			return yield(events)
		}
		defer b.demand.ledger.arrived(b.scope)
		return yield(events)
	}
	return b.Source.Watch(ctx, req, func(events []source.Event[T]) error {
		// What follows the initial events is a step of its own: they are a list.
		if end := slices.IndexFunc(events, func(ev source.Event[T]) bool { return listing && ev.InitialEventsEnd }); end >= 0 {
			err := step(events[:end+1])
			listing = false
			if events = events[end+1:]; err != nil || len(events) == 0 {
				return err
			}
		}
		return step(events)
	})
}

// fit makes an object metadata if there is no room for more.
func (b budgeted[T]) fit(it *source.Item[T]) {
	d := b.demand
	if it.Err != nil {
		return // what is held stays
	}
	size := it.Size
	switch whole := !partial(it.Object); {
	case size == 0 && whole:
		size = footprint.One(it.Object)
	case size == 0:
		size = unknownSize
		if held, ok := d.store.Get(it.Key); ok && d.state(held) == d.state(it.Object) {
			size = max(size, d.ledger.noted(it.Key)) // of another version it says nothing
		}
	}
	if !partial(it.Object) {
		if d.ledger.arrives(it.Key, size, true, d.holds(it.Key)) {
			return
		}
		obj, err := reduce(b.Source, it.Object)
		if err != nil {
			d.opts.OnError(d.named(fmt.Errorf("%s stays whole without room for it: %w", it.Key, err)))
			d.ledger.arrives(it.Key, size, true, true)
			return
		}
		if it.Object, it.Memo = obj, nil; !partial(it.Object) {
			// Held since, or there is room again, or somebody else's option says so.
			d.ledger.arrives(it.Key, size, true, true)
			return
		}
	}
	if !d.chosen(it.Object) {
		size = 0
	}
	d.ledger.arrives(it.Key, size, false, false)
}
