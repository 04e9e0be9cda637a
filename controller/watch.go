package controller

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/keyqueue"
	"github.com/kinglet-go/kinglet/store"
)

// Change is what a Watch maps to keys.
type Change[T any] = store.Change[T]

// WatchOptions select the changes of an informer that matter. The zero value selects
// all of them.
type WatchOptions[T any] struct {
	// If, if not nil, selects the changes that are mapped to keys. See
	// GenerationChanged and the other predicates.
	If func(Change[T]) bool
	// SkipOwn leaves out changes that are OwnEcho: writes that the program recorded with the
	// informer, by Wrote, WroteDelete or OwnWrites, and that reads showed before. Do not set
	// it for a reconciler that counts on a run after its own write. Of OwnWrites, patches and
	// applies that name no resource version are not left out, nor are deletes that only mark
	// an object: one that changes nothing has the same answer as another's write. Nor is what
	// reads did not show at once: an update that brings an object into a selector, and writes
	// whose answers do not tell what the informer will have (see kinglet.OwnWrites), such as
	// those of a typed client, in protobuf, where the informer's objects are unstructured.
	SkipOwn bool
	// Resync, if not 0, is the period at which each object is mapped again.
	Resync time.Duration
}

// Watch makes the changes of an informer enqueue keys: those that the function keys
// returns for a change, where nil means none. See Self, Owner and ByIndex. Watch takes
// at most one WatchOptions.
//
// It may be called before Run and while Run is running. Runs begin only once the
// informer has synced and all of its initial objects are in the queue. None begins later
// than half a second after the informer has stopped. The controller does not run the
// informer, which may serve others. The registration ends with Run. Its Remove ends it
// earlier, and the controller then does without the informer.
//
// Each change of what runs read leads to a run, with one exception: an own write that the
// watch never shows, since somebody undid it and the server forgot the events in between,
// or that ends with an UnconfirmedWriteError, leaves reads without a change.
func Watch[T any, K comparable](c *Controller[K], i *kinglet.Informer[T], keys func(Change[T]) iter.Seq[K], o ...WatchOptions[T]) (kinglet.Registration, error) {
	switch {
	case c == nil:
		return nil, fmt.Errorf("watch: the controller is nil")
	case i == nil:
		return nil, fmt.Errorf("controller %s: watch: the informer is nil", c.opts.Name)
	case keys == nil:
		return nil, fmt.Errorf("controller %s: watch %s: the function from changes to keys is nil", c.opts.Name, i.Status().Name)
	case len(o) > 1:
		return nil, fmt.Errorf("controller %s: watch %s: %d WatchOptions, at most one is allowed", c.opts.Name, i.Status().Name, len(o))
	}
	var opts WatchOptions[T]
	if len(o) == 1 {
		opts = o[0]
	}
	name := i.Status().Name
	index, err := c.addInput(input{name: name, status: i.Status})
	if err != nil {
		return nil, fmt.Errorf("controller %s: watch %s: %w", c.opts.Name, name, err)
	}
	f := &feed[T, K]{c: c, input: index, name: name, keys: keys, matters: opts.If, skipOwn: opts.SkipOwn}
	r, err := i.AddHandler(kinglet.HandlerFunc[T](f.handle), kinglet.HandlerOptions{
		Name: "controller " + c.opts.Name, Resync: opts.Resync,
		// A run reads the store, and own writes, and may have seen what a folded record would
		// not tell: an object that came and went, or a state between two that are alike.
		EveryVersion: true, Bound: mostPending,
	})
	if err != nil {
		c.connect(index, nil)
		return nil, fmt.Errorf("controller %s: %w", c.opts.Name, err)
	}
	c.connect(index, r)
	return r, nil
}

// input is a watched informer.
type input struct {
	name   string
	status func() kinglet.Status
	// handler is nil until the handler is registered.
	handler kinglet.Registration
	// gone is set if it could not be registered, or was removed and has returned.
	// The name stays, for the causes of keys.
	gone bool
}

// yield is by how much keys of an initial list, of a relist and of a resync let others go
// first: compared with first in, first out, they are served at most that much later.
const yield = 30 * time.Second

// mostPending is how many changes may wait to be mapped before updates of one key fold. Mapping
// is quick.
const mostPending = 1 << 16

// feed is the handler that maps changes to keys.
type feed[T any, K comparable] struct {
	c       *Controller[K]
	input   int
	name    string
	keys    func(Change[T]) iter.Seq[K]
	matters func(Change[T]) bool
	skipOwn bool
}

func (f *feed[T, K]) handle(ctx context.Context, changes []Change[T]) {
	for i := range changes {
		if ctx.Err() != nil {
			return
		}
		f.add(&changes[i])
	}
}

// add enqueues the keys of a change. A panic of the program's functions is
// reported, and does not reach the changes that follow.
func (f *feed[T, K]) add(change *Change[T]) {
	defer func() {
		if v := recover(); v != nil {
			f.c.mapFailures.Add(1)
			f.c.opts.OnError(&MapError{Controller: f.c.opts.Name, Informer: f.name, Key: change.Key, Err: &PanicError{v, debug.Stack()}})
		}
	}()
	if f.skipOwn && change.OwnEcho {
		return
	}
	if f.matters != nil && !f.matters(*change) {
		return
	}
	o := keyqueue.AddOptions{Cause: causeOf(f.input, change.Reason)}
	if change.Reason != store.Live {
		o.Head = -yield
	}
	keys := f.keys(*change)
	if keys == nil {
		return
	}
	var refused error
	for key := range keys {
		// If a key comes too late, the next replica finds it in its initial list.
		if err := f.c.add(key, o); err != nil && !errors.Is(err, ErrStopped) {
			refused = err
		}
	}
	if refused != nil {
		panic(refused) // a key that is not a number is the program's fault
	}
}
