package source

import (
	"context"
	"fmt"
	"runtime/debug"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

// NamelessError reports an object without a name, and so without a key here. It
// carries the object, for stores with other keys.
type NamelessError struct {
	object any
}

func (e *NamelessError) Error() string { return "the object has no name" }

// Object returns the object.
func (e *NamelessError) Object() any { return e.object }

// ObjectKey returns the key that every source here uses: namespace and name. It
// shares the object's strings and does not allocate. It fails for an object
// without a name, and for a T that is no metav1.Object.
func ObjectKey[T any](obj T) (store.Key, error) {
	m, err := accessor(obj)
	if err != nil {
		return store.Key{}, err
	}
	return metaKey(m)
}

func metaKey(m metav1.Object) (store.Key, error) {
	name := m.GetName()
	if name == "" {
		return store.Key{}, &NamelessError{m}
	}
	return store.Key{Namespace: m.GetNamespace(), Name: name}, nil
}

func accessor[T any](obj T) (metav1.Object, error) {
	switch m := any(obj).(type) {
	case metav1.Object:
		return m, nil
	case metav1.ObjectMetaAccessor:
		if om := m.GetObjectMeta(); om != nil {
			return om, nil
		}
	}
	return nil, fmt.Errorf("%T has no object metadata", obj)
}

// ItemOf returns the item of an object, for a Source that has objects and no
// bytes. Its Err is an *ItemError of StageKey if the object has no name or no
// metadata, or if its methods panic, as those of a type that embeds a nil pointer
// do. The object is not copied.
func ItemOf[T any](obj T) (it Item[T]) {
	defer func() {
		if v := recover(); v != nil {
			it = brokenItem[T](StageKey, encoding.Identity{}, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	m, err := accessor(obj)
	if err != nil {
		return brokenItem[T](StageKey, encoding.Identity{}, err)
	}
	id := encoding.Identity{UID: m.GetUID(), Version: m.GetResourceVersion()}
	if id.Key, err = metaKey(m); err != nil {
		err = &NamelessError{obj}
		return brokenItem[T](StageKey, id, err)
	}
	return Item[T]{Key: id.Key, UID: id.UID, ResourceVersion: id.Version, Object: obj}
}

// brokenItem returns the item of an object that was lost in stage.
func brokenItem[T any](stage Stage, id encoding.Identity, err error) Item[T] {
	return Item[T]{
		Key:             id.Key,
		UID:             id.UID,
		ResourceVersion: id.Version,
		Err:             &ItemError{Stage: stage, Key: id.Key, ResourceVersion: id.Version, Err: err},
	}
}

// WithKeyFunc returns src with every item's key read by key, for stores that
// are keyed by something other than namespace and name. A key function that
// fails or panics makes the item an *ItemError of StageKey, which still names
// the object. An item with an Err has no key that such a store would know, so
// its Key is emptied.
//
// src is asked without Held: a decoder looks objects up by namespace and name,
// under which this store keeps something else.
func WithKeyFunc[T any](src Source[T], key store.KeyFunc[T]) Source[T] {
	return &rekeyed[T]{src: src, key: key}
}

type rekeyed[T any] struct {
	src Source[T]
	key store.KeyFunc[T]
}

func (r *rekeyed[T]) String() string { return r.src.String() }

// Traits implements Source. The source is asked without Held, so it has nothing
// to share.
func (r *rekeyed[T]) Traits() Traits[T] {
	t := r.src.Traits()
	t.Shared = nil
	if t.Sample != nil {
		t.Sample = r.sample
	}
	if t.ReadAnswer != nil {
		t.ReadAnswer = r.readAnswer
	}
	return t
}

func (r *rekeyed[T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	req.Held = nil
	return r.src.List(ctx, req, func(page Page[T]) error {
		for i := range page.Items {
			r.rekey(&page.Items[i])
		}
		return yield(page)
	})
}

func (r *rekeyed[T]) Watch(ctx context.Context, req WatchRequest[T], yield func([]Event[T]) error) error {
	req.Held = nil
	return r.src.Watch(ctx, req, func(events []Event[T]) error {
		for i := range events {
			if events[i].Type.HasObject() {
				r.rekey(&events[i].Item)
			}
		}
		return yield(events)
	})
}

func (r *rekeyed[T]) rekey(it *Item[T]) {
	if it.Err != nil {
		it.Key = store.Key{}
		return
	}
	was := it.Key
	var err error
	it.Key, err = guard(func() (store.Key, error) { return r.key(it.Object) })
	if err != nil {
		id := encoding.Identity{Key: was, UID: it.UID, Version: it.ResourceVersion}
		*it = brokenItem[T](StageKey, id, err)
		it.Key = store.Key{}
	}
}
