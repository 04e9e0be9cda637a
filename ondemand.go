package kinglet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinglet-go/kinglet/internal/engine/budget"
	"github.com/kinglet-go/kinglet/internal/engine/readthrough"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// DefaultOnDemandBytes is OnDemandOptions.Bytes if that is 0.
const DefaultOnDemandBytes = 64 << 20

// OnDemandOptions are the options of an OnDemand.
type OnDemandOptions[T any] struct {
	// Options are those of the informer.
	Options[T]
	// Bytes is how much memory the objects may take that Get has read and keeps, about;
	// 64 MiB if 0. About the least recently used are forgotten first.
	Bytes int64
	// WholeLabels and Whole choose objects that are held whole beside those of Hold; there
	// are none if both are nil. Without Whole and Budget, lists ask for metadata, and for
	// whole objects beside it: see source.Options.WholeLabels. If Whole panics for an object
	// that is stored, that is reported, and the object keeps its form; for others see
	// source.Options.Whole.
	WholeLabels labels.Selector
	Whole       func(key Key, labels map[string]string, owners []metav1.OwnerReference) bool
	// Budget bounds what all of this takes. Once it is used up, what Get has read is
	// forgotten, of all informers that share the Budget; then objects that Whole and
	// WholeLabels choose come as metadata, those first that come last, and Get reads them.
	// They are a Problem of the Status, and become whole when there is room again. Objects of
	// Hold are whole in any case. nil is no bound.
	Budget *Budget
}

// OnDemandStats are what an OnDemand keeps of what Get has read, and its calls: those that
// found an object there, and those that waited for the server.
type OnDemandStats = readthrough.Stats

// OnDemand is an informer that holds the metadata of all objects, without annotations, and
// those whole that are held: see Hold. Get reads any other whole from the server. Store,
// Snapshot, indexes and handlers have what is held; source.IsPartial tells an object that is
// not whole, and a server refuses an Update with it.
//
// Make one with NewOnDemand. All methods are safe for concurrent use.
type OnDemand[T any] struct {
	*Informer[T]
	reads *readthrough.Cache[T]
	// choose is OnDemandOptions.Whole and WholeLabels.
	choose   func(key Key, labels map[string]string, owners []metav1.OwnerReference) bool
	panicked func(v any) // reports the first panic of choose
	ledger   *ledger[T]
	// decides is set once objects may become whole, or metadata, without a change of their
	// own: there is a Budget, or something was held.
	decides atomic.Bool
	// wake holds a token if there is something in changed.
	wake chan struct{}

	mu sync.Mutex
	// held are the keys of Hold; guarded by mu.
	held map[Key]struct{}
	// changed are keys whose stored object may have another form than it is to have; nil
	// unless settle runs, which looks at them. Guarded by mu.
	changed map[Key]struct{}
}

// NewOnDemand returns an informer that starts nothing: see Run. open makes its two sources,
// of the same objects: it adds a namespace, selectors and the like to the options that it is
// given, and passes them to source.FromConfig, FromREST or FromListerWatcher. Of fields, only
// managed ones can be dropped. Get's requests are lists of one name, which need no other
// permission than the informer's, and are subject to the rate limit of the second source's
// client.
func NewOnDemand[T metav1.Object](open func(source.Options) (source.Source[T], error), opts OnDemandOptions[T]) (*OnDemand[T], error) {
	if open == nil {
		return nil, errors.New("informer on demand: no source")
	}
	return newOnDemand(opts, func(held source.Options) ([]ScopedSource[T], error) {
		lean, err := open(held)
		if err != nil {
			return nil, err
		}
		whole, err := open(source.Options{})
		if err != nil {
			return nil, err
		}
		if lean == nil || whole == nil {
			return nil, errors.New("informer on demand: no source")
		}
		of := whole.Traits()
		if of.Reduce != nil || of.CheckIndex != nil {
			return nil, fmt.Errorf("informer on demand of %s: its options leave fields out, and Get is to return whole objects: of Keep, Drop and Whole only Drop of managed fields can be added", lean)
		}
		if lean.Traits().Reduce == nil || !of.ExactLists {
			return nil, fmt.Errorf("informer on demand of %s: the source does not do what its options say: is it made by package source with them?", lean)
		}
		return []ScopedSource[T]{{Source: lean, Whole: whole}}, nil
	})
}

// NewScopedOnDemand is NewOnDemand for objects of several scopes: see NewScoped. sources
// returns those to begin with. Each Source, also one that is added later, is made with the
// options that sources is given, and each Whole without them.
func NewScopedOnDemand[T any](opts OnDemandOptions[T], sources func(source.Options) []ScopedSource[T]) (*OnDemand[T], error) {
	return newOnDemand(opts, func(held source.Options) ([]ScopedSource[T], error) { return sources(held), nil })
}

func newOnDemand[T any](opts OnDemandOptions[T], sources func(source.Options) ([]ScopedSource[T], error)) (*OnDemand[T], error) {
	if opts.Bytes < 0 {
		return nil, fmt.Errorf("informer on demand: Bytes is %d, must not be negative", opts.Bytes)
	}
	if opts.Bytes == 0 {
		opts.Bytes = DefaultOnDemandBytes
	}
	o := &OnDemand[T]{
		wake: make(chan struct{}, 1), held: map[Key]struct{}{},
		choose: opts.chooses(), ledger: newLedger[T](opts.Budget),
	}
	o.decides.Store(opts.Budget != nil)
	o.reads = readthrough.New(readthrough.Options[T]{Bytes: opts.Bytes, Budget: opts.Budget, Read: o.read, State: o.state, Exists: o.exists})
	held := source.Options{Whole: func(key Key, labels map[string]string, owners []metav1.OwnerReference) bool {
		return o.holds(key) || o.choose(key, labels, owners) && o.ledger.room(key)
	}}
	if opts.Whole == nil && opts.Budget == nil {
		if held.WholeLabels = opts.WholeLabels; held.WholeLabels == nil {
			held.WholeLabels = labels.Nothing()
		}
	}
	scoped, err := sources(held)
	if err != nil {
		return nil, err
	}
	opts.demand = o
	if o.Informer, err = NewScoped(opts.Options, scoped...); err != nil {
		return nil, err
	}
	o.panicked = o.opts.firstPanic("OnDemandOptions.Whole")
	if _, err := o.AddHandler(HandlerFunc[T](o.handle), HandlerOptions{Name: "on demand"}); err != nil {
		return nil, err
	}
	return o, nil
}

// chooses returns a function that chooses what Whole and WholeLabels do.
func (o *OnDemandOptions[T]) chooses() func(key Key, labels map[string]string, owners []metav1.OwnerReference) bool {
	byLabels, whole := o.WholeLabels, o.Whole
	return func(key Key, set map[string]string, owners []metav1.OwnerReference) bool {
		return byLabels != nil && byLabels.Matches(labels.Set(set)) || whole != nil && whole(key, set, owners)
	}
}

// join makes a source of a scope, which the informer is to follow, leave objects out that do
// not fit in the Budget. stepped is sink.Options.Stepped.
func (o *OnDemand[T]) join(s ScopedSource[T]) (limited source.Source[T], stepped func([]store.Change[T], bool)) {
	if o.ledger.budget == nil {
		return s.Source, nil
	}
	return budgeted[T]{s.Source, s.Scope, o}, func(changes []store.Change[T], list bool) {
		if list {
			o.ledger.replaced(o.store, s.Scope)
		} else {
			o.ledger.changed(changes)
		}
	}
}

// start runs what Informer.Run runs beside the informer until ctx ends, when end returns.
func (o *OnDemand[T]) start(ctx context.Context) (end func()) {
	b, member := o.ledger.budget, &budget.Member{Spare: o.reads.Bytes, Evict: o.reads.Evict, Changed: o.signal}
	if b != nil {
		b.Join(member)
	}
	o.collectChanged(map[Key]struct{}{})
	var settling sync.WaitGroup
	settling.Go(func() { o.settle(ctx) })
	return func() {
		settling.Wait()
		o.reads.Wait()
		o.collectChanged(nil)
		if b != nil {
			o.reads.Close()
			o.ledger.close()
			b.Leave(member)
		}
	}
}

// Get returns the object under key, whole, in the state whose metadata the informer has, or a
// later one. It is read-only. If it is not held, Get reads it from the server, with one
// request for all calls that wait for it, and keeps it while the metadata has that version,
// as long as there is room: see OnDemandOptions.Bytes. What the store does not have is read as
// well until the source of its scope has been listed.
//
// Get blocks until that is done, or ctx ends. An object that the informer, or the server,
// does not have is a NotFound (k8s.io/apimachinery/pkg/api/errors); other errors are the
// request's, or those of AwaitOwnWrites.
func (o *OnDemand[T]) Get(ctx context.Context, key Key) (T, error) {
	var none T
	if o.OwnWritesUnsure() && ctx.Value(withoutOwnWrites{}) == nil {
		if err := o.AwaitOwnWrites(ctx, key); err != nil {
			return none, err
		}
	}
	p := o.sources.sourceOf(key)
	synced := p != nil && closed(p.listed) // before the store is read
	obj, ok := o.Store().Get(key)
	switch {
	case ok && !partial(obj):
		return obj, nil
	case ok:
		return o.reads.Get(ctx, key, o.state(obj))
	case synced:
		return none, o.notFound(key)
	}
	// Not shared: a read that is under way may be older than a write of this program's.
	return o.read(ctx, key, readthrough.State{})
}

// Hold makes the store hold the objects under keys whole from now on, whether they exist or
// not, and their handlers receive every change of them whole. It does not block: what exists
// and is not whole yet is read soon, and handlers receive it as an update, of the same
// version. Held before Run, an object comes whole in the first list.
func (o *OnDemand[T]) Hold(keys ...Key) { o.hold(true, keys) }

// Release ends what Hold began. The store soon has the objects' metadata alone again, and
// handlers receive that as an update.
func (o *OnDemand[T]) Release(keys ...Key) { o.hold(false, keys) }

func (o *OnDemand[T]) hold(held bool, keys []Key) {
	o.decides.Store(true)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, key := range keys {
		if _, was := o.held[key]; was == held {
			continue
		}
		if held {
			o.held[key] = struct{}{}
		} else {
			delete(o.held, key)
		}
		o.changeLocked(key)
	}
}

func (o *OnDemand[T]) holds(key Key) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, held := o.held[key]
	return held
}

// wants reports whether an object is to be held whole.
func (o *OnDemand[T]) wants(key Key, obj T) bool {
	return o.holds(key) || o.chosen(obj) && o.ledger.room(key)
}

// chosen reports whether Whole chooses an object; not if it panics.
func (o *OnDemand[T]) chosen(obj T) (is bool) {
	defer func() {
		if v := recover(); v != nil {
			o.panicked(v)
		}
	}()
	m, ok := any(obj).(metav1.Object)
	return ok && o.choose(Key{Namespace: m.GetNamespace(), Name: m.GetName()}, m.GetLabels(), m.GetOwnerReferences())
}

// partial is source.IsPartial.
func partial[T any](obj T) bool {
	m, ok := any(obj).(metav1.Object)
	return ok && source.IsPartial(m)
}

// OnDemandStats returns what Get keeps, and how often it was called.
func (o *OnDemand[T]) OnDemandStats() OnDemandStats { return o.reads.Stats() }

func (o *OnDemand[T]) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// handle forgets what was read of earlier versions, and has objects looked at that were
// decoded before their key was held, or released.
func (o *OnDemand[T]) handle(_ context.Context, changes []store.Change[T]) {
	if o.ledger.budget != nil {
		o.signal() // one that was to become whole may have gone, and left room
	}
	for i := range changes {
		c := &changes[i]
		if c.Type == Deleted {
			o.reads.Forget(c.Key, readthrough.State{})
			if o.decides.Load() {
				o.change(c.Key) // settle may have it in mind
			}
			continue
		}
		o.reads.Forget(c.Key, o.state(c.New))
		if !o.decides.Load() {
			continue // a transform may have changed the labels that it was chosen by
		}
		if partial := partial(c.New); partial && (o.holds(c.Key) || o.chosen(c.New)) || !partial && !o.wants(c.Key, c.New) {
			o.change(c.Key)
		}
	}
}

// change has settle look at a key.
func (o *OnDemand[T]) change(key Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changeLocked(key)
}

func (o *OnDemand[T]) changeLocked(key Key) {
	if o.changed != nil {
		o.changed[key] = struct{}{}
		o.signal()
	}
}

// collectChanged has keys added to changed from now on.
func (o *OnDemand[T]) collectChanged(changed map[Key]struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.changed = changed
}

// settleRetry is the least time between two attempts to read what is held, which doubles up
// to settleRetryMax. An attempt takes settleTimeout at most, and settleReads are made at once.
const (
	settleRetry    = time.Second
	settleRetryMax = 30 * time.Second
	settleTimeout  = time.Minute
	settleReads    = 8
)

var (
	errSettle = fmt.Errorf("no answer within %v", settleTimeout)
	// errAhead: the server has a later version, which the watch will bring.
	errAhead = errors.New("a later version was read")
)

// settled is the result of reading an object whole: of is the stored one that it replaces.
type settled[T any] struct {
	key Key
	of  T
	err error
}

// settle gives stored objects the form that they are to have, until ctx ends. It alone
// changes their forms; reads run beside it.
func (o *OnDemand[T]) settle(ctx context.Context) {
	// Handlers, and so handle, begin once all sources have been listed, which one may never be.
	synced, early := o.Synced(), time.NewTicker(settleRetry)
	defer early.Stop()
	retry := settleRetry
	again := time.NewTimer(0)
	defer again.Stop()
	ended := make(chan settled[T])
	// looked are keys to look at, waiting those to read, reading those that are being read, and
	// failed those that could not be, which only the timer has read again.
	looked, waiting, reading, failed := map[Key]struct{}{}, map[Key]struct{}{}, map[Key]struct{}{}, map[Key]struct{}{}
	// ahead are those of which the server has a later version: handle has them looked at.
	ahead := map[Key]struct{}{}
	for {
		select {
		case <-ctx.Done():
			for range reading {
				<-ended
			}
			return
		case <-synced:
			synced = nil
			early.Stop()
			o.takeHeld(looked)
		case <-early.C:
			o.takeHeld(looked)
		case <-o.wake:
			o.takeChanged(looked)
		case <-again.C:
			maps.Copy(looked, failed)
			clear(failed)
		case end := <-ended:
			delete(reading, end.key)
			switch {
			case end.err == nil:
				retry = settleRetry
			case end.err == errAhead:
				if now, ok := o.store.Get(end.key); ok && any(now) == any(end.of) {
					ahead[end.key] = struct{}{}
				}
			case ctx.Err() == nil:
				o.opts.OnError(o.named(fmt.Errorf("%s is held, and could not be read whole: %w", end.key, end.err)))
				if len(failed) == 0 {
					again.Reset(retry)
					retry = min(2*retry, settleRetryMax)
				}
				failed[end.key] = struct{}{}
			}
		}
		o.ledger.retry(looked)
		o.makeRoom()
		for _, key := range o.ledger.fits(reading, waiting, ahead, failed) {
			looked[key] = struct{}{}
		}
		for key := range looked {
			if _, now := reading[key]; now {
				continue // and looked at again then
			}
			delete(looked, key)
			if _, later := failed[key]; later {
				continue
			}
			delete(ahead, key)
			if _, reads := o.look(key); reads {
				waiting[key] = struct{}{}
			}
		}
		for key := range waiting {
			if len(reading) == settleReads {
				break
			}
			delete(waiting, key)
			if obj, reads := o.look(key); reads {
				reading[key] = struct{}{}
				go func() { ended <- settled[T]{key, obj, o.readWhole(ctx, key, obj)} }()
			}
		}
	}
}

// makeRoom makes objects metadata that need not be whole, as long as more is taken of the
// Budget than there is. Its cost does not grow with the objects that have to stay whole: it
// tries them once.
func (o *OnDemand[T]) makeRoom() {
	for key, ok := o.ledger.leave(); ok; key, ok = o.ledger.leave() {
		if obj, ok := o.store.Get(key); ok && !o.holds(key) && !partial(obj) {
			o.makePartial(key, obj)
		}
	}
}

// takeChanged moves the keys of changed to others.
func (o *OnDemand[T]) takeChanged(to map[Key]struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.Copy(to, o.changed)
	clear(o.changed)
}

// takeHeld copies the keys of held to others.
func (o *OnDemand[T]) takeHeld(to map[Key]struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.Copy(to, o.held)
}
