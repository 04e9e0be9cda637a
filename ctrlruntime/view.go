package ctrlruntime

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinglet-go/kinglet"
)

// ForeignCacheError reports a cache that NewCache of this package did not make on
// kinglet.
type ForeignCacheError struct{ Cache cache.Cache }

// Error implements error.
func (e *ForeignCacheError) Error() string {
	return fmt.Sprintf("it takes a cache of ctrlruntime.NewCache, and this is a %T", e.Cache)
}

// View reads the objects of one kind by their type and without copies. The objects are
// shared and must not be written to: DeepCopy what you want to change. They have no
// apiVersion and kind, and never change. One for which Options.Budget has no room is metadata
// (source.IsPartial). One of which a Transform made another type is not
// found. All methods are safe for concurrent use, and only WaitSynced blocks.
//
// A view belongs to one informer: once RemoveInformer has removed the informer, the
// view shows its last state.
type View[T client.Object] struct{ kind *kind }

// For returns a view of the objects of type T, a pointer to a type that the cache's
// scheme knows. It makes their informer if the cache has none, and does not wait for it
// to sync. The error is a *ForeignCacheError for a cache of another package.
func For[T client.Object](c cache.Cache) (*View[T], error) {
	ours, ok := c.(*Cache)
	if !ok {
		return nil, &ForeignCacheError{Cache: c}
	}
	typ := reflect.TypeFor[T]()
	if typ.Kind() != reflect.Pointer {
		return nil, fmt.Errorf("view of %s: it is no pointer to an object's type", typ)
	}
	obj := reflect.New(typ.Elem()).Interface().(T)
	gvk, err := apiutil.GVKForObject(obj, ours.settings.Scheme)
	if err != nil {
		return nil, fmt.Errorf("view of %s: %w", typ, err)
	}
	k, _, _, err := ours.kindOf(gvk, formOf(obj))
	if err != nil {
		return nil, fmt.Errorf("view of %s: %w", typ, err)
	}
	return &View[T]{kind: k}, nil
}

// WaitSynced blocks until all objects have been listed. If ctx ends first, the error is
// a timeout according to apierrors.IsTimeout.
func (v *View[T]) WaitSynced(ctx context.Context) error { return v.kind.wait(ctx) }

// Get returns the object under key. It does not allocate, unless T is metadata and
// whole objects are held. For a cluster-scoped object, the namespace of key must be
// empty.
func (v *View[T]) Get(key client.ObjectKey) (T, bool) {
	stored, ok := v.kind.informer.Kinglet().Store().Get(kinglet.Key{Namespace: key.Namespace, Name: key.Name})
	return convertedAs[T](v.kind, stored, ok)
}

// convertedAs returns an object in the form of a kind, if it is held, and is a T.
func convertedAs[T client.Object](k *kind, stored any, ok bool) (obj T, converted bool) {
	if ok {
		stored, ok = k.kindInformer.converted(stored)
	}
	if ok {
		obj, ok = stored.(T)
	}
	return obj, ok
}

// List returns the objects that opts select: see Snapshot.List.
func (v *View[T]) List(opts ...client.ListOption) (iter.Seq[T], error) {
	return v.Snapshot().List(opts...)
}

// Snapshot returns the objects of this moment, for several reads that agree.
func (v *View[T]) Snapshot() Snapshot[T] {
	now := v.kind.now.Load()
	s := Snapshot[T]{kind: v.kind, snap: v.kind.informer.Kinglet().Snapshot()}
	if v.kind.now.Load() == now { // else it may be of several watches
		s.version = now.version(s.snap, metav1.NamespaceAll)
	}
	return s
}

// Snapshot is the objects of a View at one moment. It never changes: its objects,
// indexes and resource version agree. The objects that it returns are shared, as a
// View's are. All methods are safe for concurrent use, and none blocks.
//
// It keeps its objects in memory. The zero Snapshot is not usable.
type Snapshot[T client.Object] struct {
	kind    *kind
	snap    kinglet.Snapshot[any]
	version string
}

// Get returns the object under key. It does not allocate, unless T is metadata and
// whole objects are held. For a cluster-scoped object, the namespace of key must be
// empty.
func (s Snapshot[T]) Get(key client.ObjectKey) (T, bool) {
	stored, ok := s.snap.Get(kinglet.Key{Namespace: key.Namespace, Name: key.Name})
	return convertedAs[T](s.kind, stored, ok)
}

// Len returns the number of objects, including those of which Options.ByObject holds only
// metadata.
func (s Snapshot[T]) Len() int { return s.snap.Len() }

// ResourceVersion returns the version of the objects. It is empty if several watches
// have delivered them, or none has yet.
func (s Snapshot[T]) ResourceVersion() string { return s.version }

// List returns the objects that opts select, in key order. Selectors, Namespace and
// Limit work as in Cache.List, with the same errors. Nothing is allocated for an object
// that is held as T. A list by field selectors sorts its results, unless AnyOrder is
// given. If there is a Transform, List first looks at all of the objects: one that it made
// another type of is an error, as it is for Cache.List.
func (s Snapshot[T]) List(opts ...client.ListOption) (iter.Seq[T], error) {
	var list client.ListOptions
	list.ApplyOptions(opts)
	if list.Continue != "" {
		return nil, errContinue
	}
	if inf := s.kind.kindInformer; inf.hides && inf.storage.lean.budget != nil {
		if _, short := s.kind.partial(s.snap, &list); short > 0 {
			return nil, &PartialError{Kind: s.kind.gvk, Objects: short, Short: true}
		}
	}
	found, err := s.kind.selected(s.snap, &list, inAnyOrder(opts))
	if err != nil {
		return nil, err
	}
	if s.kind.transforms() {
		if err := allAre[T](s.kind, found); err != nil {
			return nil, err
		}
	}
	return func(yield func(T) bool) {
		var n int64
		for stored := range found {
			obj, ok := convertedAs[T](s.kind, stored, true)
			if !ok {
				continue
			}
			if list.LabelSelector != nil && !list.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
				continue
			}
			if n++; !yield(obj) || n == list.Limit {
				return
			}
		}
	}, nil
}

// allAre returns an error if an object is no T in the form of its kind.
func allAre[T client.Object](k *kind, found iter.Seq[any]) error {
	for stored := range found {
		obj, ok := k.kindInformer.converted(stored)
		if _, is := obj.(T); ok && !is {
			return fmt.Errorf("cache had type %T, but %s was asked for", obj, reflect.TypeFor[T]())
		}
	}
	return nil
}
