package kinglet

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kinglet-go/kinglet/internal/engine/readthrough"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// look makes the stored object of a key metadata if it is not to be whole any more, and
// reports whether it is to be, and has to be read for that. What is metadata, and neither
// held nor chosen, lacks no room.
func (o *OnDemand[T]) look(key Key) (obj T, reads bool) {
	obj, ok := o.store.Get(key)
	if !ok {
		return obj, false
	}
	switch is := partial(obj); {
	case o.wants(key, obj):
		return obj, is
	case !is:
		o.makePartial(key, obj)
	case !o.chosen(obj):
		o.ledger.forget(key, o.still(key, obj))
	}
	return obj, false
}

// makePartial stores a whole object's metadata in its place.
func (o *OnDemand[T]) makePartial(key Key, obj T) {
	epoch, p := o.sources.epoch.Load(), o.sources.sourceOf(key)
	if p == nil {
		return
	}
	reduced, err := reduce(p.Source, obj)
	switch {
	case err != nil:
		o.opts.OnError(o.named(fmt.Errorf("%s: %w", key, err)))
	case partial(reduced): // or somebody else's option says that it is whole
		o.substitute(p, key, obj, reduced, 0, epoch)
	}
}

// reduce returns a copy of an object without what its source leaves out of it now.
func reduce[T any](src source.Source[T], obj T) (reduced T, err error) {
	f := src.Traits().Reduce
	if f == nil {
		return reduced, fmt.Errorf("%s cannot make an object metadata", src)
	}
	out, err := f(obj)
	if err == nil {
		reduced = out.(T)
	}
	return reduced, err
}

// readWhole reads a stored object, and stores it in its place. If that has changed meanwhile,
// it is for handle.
func (o *OnDemand[T]) readWhole(ctx context.Context, key Key, obj T) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleTimeout, errSettle)
	defer cancel()
	at := o.state(obj)
	whole, err := o.reads.Get(ctx, key, at)
	p := o.sources.sourceOf(key)
	switch {
	case p == nil:
		return nil
	case apierrors.IsNotFound(err):
		o.ledger.forget(key, o.still(key, obj)) // the watch will tell; until then it takes no room from others
		return nil
	case err != nil:
		return err
	case o.sources.epoch.Load() != at.Epoch:
		o.change(key) // the source may be another, or it is one of another scope
		return nil
	case o.state(whole) != at:
		return errAhead
	}
	size, ok := o.ledger.take(key, whole, o.holds(key), o.still(key, obj))
	switch {
	case !ok:
		return nil // another informer was faster
	case o.substitute(p, key, obj, whole, size, at.Epoch):
		o.reads.Forget(key, readthrough.State{})
	case o.ledger.budget != nil:
		o.ledger.budget.Give(size)
	}
	return nil
}

// still reports whether an object is what the store holds.
func (o *OnDemand[T]) still(key Key, obj T) func() bool {
	return func() bool {
		now, there := o.store.Get(key)
		return there && any(now) == any(obj)
	}
}

// substitute stores another form of a stored object, unless that has changed: a whole one,
// whose size has been taken of the Budget, or metadata. epoch is that in which it was made.
func (o *OnDemand[T]) substitute(p *pipeline[T], key Key, held, obj T, size int64, epoch uint64) bool {
	short := partial(obj) && o.chosen(obj)
	done, err := p.sink.Substitute(p.Scope, key, held, obj, epoch, func() {
		o.ledger.became(key, size, short)
	})
	for _, err := range store.Errors(err) {
		o.opts.OnError(err)
	}
	if !done && o.sources.epoch.Load() != epoch {
		o.change(key)
	}
	return done
}

func (o *OnDemand[T]) state(obj T) readthrough.State {
	return readthrough.State{UID: o.opts.UID(obj), Version: objectVersion(obj), Epoch: o.sources.epoch.Load()}
}

func (o *OnDemand[T]) exists(key Key, state readthrough.State) bool {
	obj, ok := o.store.Get(key)
	return ok && o.opts.UID(obj) == state.UID
}

// read reads an object in a state, or a later one, from the server.
func (o *OnDemand[T]) read(ctx context.Context, key Key, at readthrough.State) (found T, err error) {
	name := fields.OneTermEqualSelector("metadata.name", key.Name)
	if key.Namespace != "" {
		name = fields.AndSelectors(name, fields.OneTermEqualSelector("metadata.namespace", key.Namespace))
	}
	req := source.ListRequest[T]{
		FieldSelector: name.String(), ResourceVersion: at.Version, NotOlderThan: at.Version != "",
		Held: func(Key) (none T, _ store.Memo, ok bool) { return none, nil, false },
	}
	err = o.notFound(key)
	p := o.sources.sourceOf(key)
	if p == nil {
		return found, err
	}
	failed := p.Whole.List(ctx, req, func(page source.Page[T]) error {
		for i := range page.Items {
			if it := &page.Items[i]; it.Key == key { // some servers ignore the selector
				found, err = it.Object, it.Err
			}
		}
		return nil
	})
	if apierrors.IsNotFound(failed) {
		return found, fmt.Errorf("%s is not there to be listed: %v", o.listed().GroupResource(), failed) // which says nothing about the object
	}
	return found, cmp.Or(failed, err)
}

func (o *OnDemand[T]) notFound(key Key) error {
	return apierrors.NewNotFound(o.listed().GroupResource(), key.Name)
}
