package kinglet

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/engine/budget"
	"github.com/kinglet-go/kinglet/internal/wire/footprint"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
)

// Budget is how many bytes the whole objects of informers on demand may take, about: see
// OnDemandOptions. Several informers may share one. An object counts with its size on the
// wire, which is more than it takes where objects have parts in common.
type Budget = budget.Budget

// NewBudget returns a Budget of so many bytes.
func NewBudget(bytes int64) *Budget { return budget.New(bytes) }

// ledger is what the whole objects of an informer take of its Budget.
type ledger struct {
	budget *Budget // nil if there is no bound

	mu sync.Mutex
	// The fields below are guarded by mu.

	// sizes are of whole objects.
	sizes map[Key]int64
	// short are the sizes of objects for which there was no room, since when there are any,
	// and least is no more than the least of them.
	short map[Key]int64
	since time.Time
	least int64
	// listed are the keys of the list that is being received; nil if there is none.
	listed map[Key]struct{}
}

func newLedger(b *Budget) *ledger {
	return &ledger{budget: b, sizes: map[Key]int64{}, short: map[Key]int64{}}
}

// room reports whether an object can be whole.
func (l *ledger) room(key Key) bool {
	if l.budget == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, has := l.sizes[key]; has {
		return true
	}
	return l.budget.Has(max(l.short[key], 1))
}

// whole counts an object that is whole, and reports whether there is room for it, or must be.
func (l *ledger) whole(key Key, size int64, must bool) bool {
	if l.budget == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	had := l.sizes[key]
	if more := size - had; more > 0 && !l.budget.Take(more, must) {
		l.removeLocked(key)
		l.shortLocked(key, size)
		return false
	} else if more < 0 {
		l.budget.Give(-more)
	}
	l.sizes[key] = size
	l.enoughLocked(key)
	return true
}

// partial counts an object of which only metadata is held; size is 0 if that is as it should be.
func (l *ledger) partial(key Key, size int64) {
	if l.budget == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(key)
	if size > 0 {
		l.shortLocked(key, size)
	} else {
		l.enoughLocked(key)
	}
}

func (l *ledger) shortLocked(key Key, size int64) {
	if len(l.short) == 0 {
		l.since, l.least = time.Now(), size
	}
	l.short[key], l.least = size, min(l.least, size)
}

func (l *ledger) enoughLocked(key Key) {
	if delete(l.short, key); len(l.short) == 0 {
		l.since = time.Time{}
	}
}

func (l *ledger) removeLocked(key Key) {
	if size, has := l.sizes[key]; has {
		l.budget.Give(size)
		delete(l.sizes, key)
	}
}

// list begins a list, or ends it: objects that it did not name are gone.
func (l *ledger) list(begin bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if begin {
		l.listed = map[Key]struct{}{}
		return
	}
	for key := range l.sizes {
		if _, named := l.listed[key]; !named {
			l.removeLocked(key)
		}
	}
	for key := range l.short {
		if _, named := l.listed[key]; !named {
			l.enoughLocked(key)
		}
	}
	l.listed = nil
}

// saw notes the key of an object in a list.
func (l *ledger) saw(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.listed != nil {
		l.listed[key] = struct{}{}
	}
}

// fits returns the keys of objects for which there was no room and is now, not more than
// fit.
func (l *ledger) fits() (keys []Key) {
	if l.budget == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.short) == 0 || !l.budget.Has(l.least) {
		return nil // as after most events
	}
	total := int64(0)
	for key, size := range l.short {
		if l.budget.Has(total + size) {
			total += size
			keys = append(keys, key)
		}
	}
	return keys
}

// excess returns the keys of objects that are not to be whole any more, because others must
// be.
func (l *ledger) excess(must func(Key) bool) (keys []Key) {
	if l.budget == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, size := range l.sizes {
		if l.budget.Has(0) {
			break
		}
		if !must(key) {
			l.removeLocked(key)
			l.shortLocked(key, size)
			keys = append(keys, key)
		}
	}
	return keys
}

// reduced counts an object that has become metadata; if there is no room for it, that is
// known.
func (l *ledger) reduced(key Key) {
	if l.wanted(key) == 0 {
		l.partial(key, 0)
	}
}

// wanted returns the size of an object for which there was no room, or 0.
func (l *ledger) wanted(key Key) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.short[key]
}

func (l *ledger) status() (s status.Budget) {
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
type budgeted[T metav1.Object] struct {
	source.Source[T]
	demand *OnDemand[T]
}

// ReadAnswer implements source.AnswerReader.
func (b budgeted[T]) ReadAnswer(a source.Answer) (source.Written[T], error) {
	return source.ReadAnswer(b.Source, a)
}

// List implements source.Source.
func (b budgeted[T]) List(ctx context.Context, req source.ListRequest[T], yield func(source.Page[T]) error) error {
	if req.Exact {
		return b.Source.List(ctx, req, yield) // a comparison
	}
	l := b.demand.ledger
	if req.Continue == "" {
		l.list(true)
	}
	return b.Source.List(ctx, req, func(page source.Page[T]) error {
		for i := range page.Items {
			l.saw(page.Items[i].Key)
			b.fit(&page.Items[i])
		}
		if err := yield(page); err != nil {
			return err
		}
		if !page.More && page.Continue == "" {
			l.list(false)
		}
		return nil
	})
}

// Watch implements source.Source.
func (b budgeted[T]) Watch(ctx context.Context, req source.WatchRequest[T], yield func([]source.Event[T]) error) error {
	l := b.demand.ledger
	if req.SendInitialEvents {
		l.list(true)
	}
	return b.Source.Watch(ctx, req, func(events []source.Event[T]) error {
		for i := range events {
			ev := &events[i]
			switch ev.Type {
			case source.Added, source.Modified:
				l.saw(ev.Key)
				b.fit(&ev.Item)
			case source.Deleted:
				l.partial(ev.Key, 0)
			}
			if ev.InitialEventsEnd {
				l.list(false)
			}
		}
		return yield(events)
	})
}

// fit makes an object metadata if there is no room for more.
func (b budgeted[T]) fit(it *source.Item[T]) {
	d := b.demand
	if it.Err != nil {
		return // what is held stays
	}
	size := it.Size
	if size == 0 {
		size = footprint.One(it.Object)
	}
	for !source.IsPartial(it.Object) {
		held := d.holds(it.Key)
		if d.ledger.whole(it.Key, size, held) {
			if held {
				d.signal() // others may have to make room
			}
			return
		}
		obj, err := d.reduce(it.Object)
		if err != nil {
			it.Err = err
			return
		}
		it.Object, it.Memo = obj.(T), nil
	}
	if !d.chosen(it.Object) {
		size = 0
	}
	d.ledger.partial(it.Key, size)
}
