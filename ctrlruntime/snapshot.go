package ctrlruntime

import (
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet"
)

// Snapshot is the objects of a View at one moment. It never changes: its objects,
// indexes and resource version agree. The objects that it returns are shared, as a
// View's are. All methods are safe for concurrent use, and none blocks.
//
// It keeps its objects in memory. The zero Snapshot is not usable.
type Snapshot[T client.Object] struct {
	kind *kind
	snap kinglet.Snapshot[any]
}

// Get returns the object under key. It does not allocate, unless T is metadata and
// whole objects are held. For a cluster-scoped object, the namespace of key must be
// empty.
func (s Snapshot[T]) Get(key client.ObjectKey) (T, bool) {
	held, ok := s.snap.Get(kinglet.Key{Namespace: key.Namespace, Name: key.Name})
	return shownAs[T](s.kind, held, ok)
}

// Len returns the number of objects, including those of which Options.Full holds only
// metadata.
func (s Snapshot[T]) Len() int { return s.snap.Len() }

// ResourceVersion returns the version of the objects. It is empty if several watches
// have delivered them, or none has yet.
func (s Snapshot[T]) ResourceVersion() string {
	return s.kind.now.Load().version(s.snap, metav1.NamespaceAll)
}

// List returns the objects that opts select, in key order. Selectors, Namespace and
// Limit work as in Cache.List, with the same errors. Nothing is allocated for an object
// that is held as T. A list by field selectors sorts its results, unless AnyOrder is
// given.
func (s Snapshot[T]) List(opts ...client.ListOption) (iter.Seq[T], error) {
	var list client.ListOptions
	list.ApplyOptions(opts)
	if list.Continue != "" {
		return nil, errContinue
	}
	found, err := s.kind.selected(s.snap, &list, inAnyOrder(opts))
	if err != nil {
		return nil, err
	}
	return func(yield func(T) bool) {
		var n int64
		for held := range found {
			shown, ok := s.kind.front.shown(held)
			if !ok {
				continue
			}
			obj := shown.(T)
			if list.LabelSelector != nil && !list.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
				continue
			}
			if n++; !yield(obj) || n == list.Limit {
				return
			}
		}
	}, nil
}
