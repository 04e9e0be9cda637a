package kinglet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/engine/consistency"
	"github.com/kinglet-go/kinglet/internal/engine/deliver"
	"github.com/kinglet-go/kinglet/internal/engine/mutation"
	"github.com/kinglet-go/kinglet/internal/engine/own"
	"github.com/kinglet-go/kinglet/internal/proflabel"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Informer keeps a live, indexed copy of one collection and calls handlers with its
// changes. Make one with New. All methods are safe for concurrent use.
type Informer[T any] struct {
	opts     Options[T]
	sources  sources[T]
	store    *store.Store[T]
	own      *own.Writes[T]
	hub      *deliver.Hub[T]
	detector *mutation.Detector[T] // nil if off
	checker  *consistency.Checker[T]
	reads    latest[T]                        // what Store returns
	first    atomic.Pointer[source.Source[T]] // the first that it got
	memory   memory

	started atomic.Bool
	// synced is closed when the store holds the first list.
	synced chan struct{}
	// stopped is closed when Run returns.
	stopped chan struct{}
}

var _ Runnable = (*Informer[any])(nil)

// New returns an informer of the objects of src: NewScoped with one source, whose scope
// is everything. It starts nothing: see Run. The error names everything that is wrong
// with opts.
func New[T any](src source.Source[T], opts Options[T]) (*Informer[T], error) {
	if src == nil {
		return nil, errors.New("informer: no source")
	}
	return NewScoped(opts, ScopedSource[T]{Source: src})
}

// traits returns those of the first source that the informer got.
func (i *Informer[T]) traits() source.Traits {
	first := i.first.Load()
	if first == nil {
		return source.Traits{Secrets: true} // for all that is known
	}
	t := (*first).Traits()
	// A source of the program's own may not say so.
	t.Secrets = t.Secrets || reflect.TypeFor[T]() == reflect.TypeFor[*corev1.Secret]()
	return t
}

// listed returns what is listed and watched; empty as long as that is not known.
func (i *Informer[T]) listed() schema.GroupVersionResource {
	return i.traits().Resource
}

// assemble makes the stages that all sources share, from the last to the first.
func (i *Informer[T]) assemble() (err error) {
	i.store, err = store.New(store.Options[T]{
		KeyFunc:      i.opts.KeyFunc,
		RememberKeys: i.opts.RememberKeys,
		Indexers:     i.opts.Indexers,
		Equal:        i.sameVersion,
	})
	if err != nil {
		return err
	}
	i.detector, err = i.newDetector()
	if err != nil {
		return err
	}
	i.hub = deliver.NewHub(deliver.Options[T]{
		KeyFunc:  i.opts.KeyFunc,
		Snapshot: func() store.Reader[T] { return i.store.Snapshot() },
		Begin:    func() (store.Reader[T], map[store.Key]bool) { return i.store.Begin() },
		Report:   i.opts.OnError,
		Grace:    i.opts.StopGrace,
	})
	i.own = own.New(own.Options[T]{
		Store:       i.store,
		Rules:       own.Rules[T]{UID: i.opts.UID, Version: objectVersion[T], Deleting: deleting[T]},
		Stopped:     ErrStopped,
		Unconfirmed: i.unconfirmed,
		Report:      i.opts.OnError,
	})
	i.reads = latest[T]{store: i.store, own: i.own}
	i.checker = consistency.New(i.checked, consistency.Config[T]{
		Name:    i.opts.Name,
		Options: i.opts.ConsistencyCheck,
		UID:     i.opts.UID,
		Version: objectVersion[T],
		Equal:   i.opts.checkedEqual(),
		Synced:  i.synced,
	})
	return nil
}

// sameVersion reports whether a relist returned an object that is already held. UID and
// resource version alone do not prove it: defaulting and conversion change an object
// without a new version.
func (i *Informer[T]) sameVersion(a, b T) bool {
	version := objectVersion(a)
	if version != objectVersion(b) || i.opts.UID(a) != i.opts.UID(b) {
		return false
	}
	if i.opts.Equal == nil {
		return gotype.Equal(a, b, version != "")
	}
	return i.opts.Equal(a, b)
}

// Run keeps the store equal to the source and calls the handlers until ctx ends. It
// returns nil once everything that it started has ended, including handlers; OnError is
// called with the names of handlers that take long. It may be called once.
//
// Failures of the source do not end Run: it retries, and shows them in Status.
func (i *Informer[T]) Run(ctx context.Context) error {
	if i.started.Swap(true) {
		return i.named(ErrAlreadyRun)
	}
	defer close(i.stopped)
	i.own.Begin()
	defer i.own.End()
	// The first source runs here, and each handler on its own goroutine: an idle informer
	// with one handler costs two.
	defer proflabel.Restore(ctx)
	ctx, stop := context.WithCancel(proflabel.Informer(ctx, i.opts.Name))
	defer stop()
	i.hub.Start(ctx)
	if d := i.opts.demand; d != nil {
		defer d.start(ctx)()
	}
	var beside sync.WaitGroup
	if i.detector != nil {
		beside.Go(func() { i.detector.Run(proflabel.Stage(ctx, proflabel.Mutation)) })
	}
	i.checker.Start(ctx, &beside)
	// The closures above capture ctx, so this goroutine's has another name.
	labelled := proflabel.Stage(ctx, proflabel.Reflector)
	err := i.sources.run(labelled)
	stop()
	i.hub.Wait()
	beside.Wait()
	// Neither the reflector nor a handler writes any more.
	i.detector.Check()
	return err
}

// named adds the informer's name to err.
func (i *Informer[T]) named(err error) error {
	return fmt.Errorf("informer of %s: %w", i.opts.Name, err)
}

// Store returns a reader of the latest state, before, during and after Run: the store,
// merged with the program's own writes that it does not show yet (Wrote).
func (i *Informer[T]) Store() store.Reader[T] { return &i.reads }

// WritableStore returns the store itself, for programs that write to it by hand, at any
// time: before Run, as unit tests do, or ahead of the watch. Handlers do not get such a
// write. A handler that is added later has it in its initial state, and the next change
// of the key has it as Old. The next event or list that has the key is such a change,
// even if the object is as it is held. If an object that a handler has received is
// removed by hand, the handler gets the source's delete, or the object's next state as an
// Updated. The source always wins: the first list, and each later one, removes what it
// does not name. Indexes belong to the informer: see AddIndex. Writes to the store return
// their errors, and do not call OnError. Its reads do not include the program's own writes
// (Wrote).
func (i *Informer[T]) WritableStore() *store.Store[T] { return i.store }

// Snapshot returns the latest state as one immutable version: objects, indexes,
// resource version and own writes agree. Its cost does not depend on the number of
// objects.
func (i *Informer[T]) Snapshot() Snapshot[T] { return Snapshot[T]{i.own.View()} }

// checkIndex returns an error if an index reads what a source leaves out.
func checkIndex[T any](src source.Source[T], name string, fn store.IndexFunc[T]) error {
	check := src.Traits().CheckIndex
	if check == nil || fn == nil {
		return nil
	}
	err := check(func(obj any) any {
		values, err := fn(obj.(T))
		return []any{values, err != nil}
	})
	if err != nil {
		return fmt.Errorf("index %q: %w", name, err)
	}
	return nil
}

// AddIndex adds an index, even if there are objects already: when AddIndex returns, the
// index covers all of them, except those for which fn fails. OnError is called with an
// *IndexError for each of these.
func (i *Informer[T]) AddIndex(name string, fn store.IndexFunc[T]) error {
	for _, p := range i.sources.each() {
		if err := checkIndex(p.Source, name, fn); err != nil {
			return i.named(err)
		}
	}
	for _, err := range store.Errors(i.store.AddIndex(name, fn)) {
		if _, added := err.(*store.IndexError); !added {
			return i.named(err)
		}
		i.opts.OnError(err)
	}
	i.own.IndexesChanged()
	return nil
}

// RemoveIndex removes an index. Snapshots taken before keep it.
func (i *Informer[T]) RemoveIndex(name string) error {
	if err := i.store.RemoveIndex(name); err != nil {
		return i.named(err)
	}
	i.own.IndexesChanged()
	return nil
}

// Synced returns a channel that is closed when the store holds the first list.
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

// HasSynced reports whether the store holds the first list.
func (i *Informer[T]) HasSynced() bool {
	return closed(i.synced)
}

// closed reports whether a channel is closed on which nothing is sent.
func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// WaitSynced blocks until the store holds the first list. If ctx ends first,
// or the informer stops, the error is a *NotSyncedError: it names the
// informer, what it was doing, and what failed last.
func (i *Informer[T]) WaitSynced(ctx context.Context) error {
	return i.wait(ctx, i.synced, i.stopped)
}

func (i *Informer[T]) wait(ctx context.Context, done, over <-chan struct{}) error {
	reason := ErrStopped
	select {
	case <-done:
		return nil
	case <-over:
	case <-ctx.Done():
		reason = context.Cause(ctx)
	}
	if closed(done) { // it counts if both have happened
		return nil
	}
	st := i.Status()
	return &NotSyncedError{Name: st.Name, Phase: st.Phase, LastError: st.LastError, Err: reason}
}

// Quarantined lists the keys whose latest version could not be stored, in key
// order: at most 10,000 of each source; Status counts all.
func (i *Informer[T]) Quarantined() []Quarantined { return i.sources.quarantined() }
