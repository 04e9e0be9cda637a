package controller

import (
	"iter"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/store"
)

// Self maps a change to the key of the object that changed.
func Self[T any](c Change[T]) iter.Seq[kinglet.Key] {
	return func(yield func(kinglet.Key) bool) { yield(c.Key) }
}

// OwnerOptions say which owner references count.
type OwnerOptions struct {
	// ControllerOnly counts only the reference that has controller set.
	ControllerOnly bool
	// ClusterScoped is for owners without a namespace. Otherwise owners are in the
	// namespace of the object.
	ClusterScoped bool
}

// Owner returns a function that maps a change to the keys of the object's owners of a
// kind, by its owner references, in any version of the kind. For an update it returns
// the owners of both states, and for a delete those of the final state and of the one that
// the controller received last, so that an owner hears of what leaves it. Owner takes at
// most one OwnerOptions.
func Owner[T metav1.Object](kind schema.GroupKind, o ...OwnerOptions) func(Change[T]) iter.Seq[kinglet.Key] {
	var opts OwnerOptions
	if len(o) > 0 {
		opts = o[0]
	}
	return func(c Change[T]) iter.Seq[kinglet.Key] {
		return distinct(c, func(obj T, yield func(kinglet.Key) bool) bool {
			for _, ref := range obj.GetOwnerReferences() {
				if ref.Kind != kind.Kind || opts.ControllerOnly && (ref.Controller == nil || !*ref.Controller) {
					continue
				}
				if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != kind.Group {
					continue
				}
				key := kinglet.Key{Name: ref.Name}
				if !opts.ClusterScoped {
					key.Namespace = obj.GetNamespace()
				}
				if !yield(key) {
					return false
				}
			}
			return true
		})
	}
}

// ByIndex returns a function that maps a change to the keys of another informer's
// objects: those that its index holds under one of the values that the function values
// returns. For example, it maps a ConfigMap to the Deployments that mount it, if the
// index is of what Deployments mount. For an update or a delete, the values of both
// states count, as for Owner.
// The other informer needs a Watch as well, for what enters the index later. A change
// that cannot be looked up, because there is no such index, is reported as a *MapError.
func ByIndex[T any, U metav1.Object](of *kinglet.Informer[U], index string, values func(T) iter.Seq[string]) func(Change[T]) iter.Seq[kinglet.Key] {
	return func(c Change[T]) iter.Seq[kinglet.Key] {
		return distinct(c, func(obj T, yield func(kinglet.Key) bool) bool {
			for value := range values(obj) {
				found, err := of.Store().ByIndex(index, value)
				if err != nil {
					panic(err)
				}
				for obj := range found {
					if !yield(kinglet.Key{Namespace: obj.GetNamespace(), Name: obj.GetName()}) {
						return false
					}
				}
			}
			return true
		})
	}
}

// distinct returns what of returns for the states of a change, each key once: for the
// latest first, then for what the controller received last.
func distinct[T any](c Change[T], of func(T, func(kinglet.Key) bool) bool) iter.Seq[kinglet.Key] {
	return func(yield func(kinglet.Key) bool) {
		if c.Type == store.Added || c.Reason == store.Resync {
			of(c.New, yield)
			return
		}
		latest, last := c.New, c.Old
		if c.Type == store.Deleted {
			latest, last = c.Old, c.Last
			if reflect.ValueOf(&last).Elem().IsZero() {
				last = latest // a change that a unit test made
			}
		}
		seen := map[kinglet.Key]bool{}
		once := func(key kinglet.Key) bool {
			if seen[key] {
				return true
			}
			seen[key] = true
			return yield(key)
		}
		if of(latest, once) {
			of(last, once)
		}
	}
}

// GenerationChanged returns true for updates that changed metadata.generation. API
// servers increment it when the spec changes, but not when the status does. It
// also returns true for changes that are not updates, and for resyncs.
func GenerationChanged[T metav1.Object](c Change[T]) bool {
	return Changed(func(obj T) int64 { return obj.GetGeneration() })(c)
}

// Changed returns a predicate that is true for updates for which of returns
// different values before and after, by reflect.DeepEqual. It is also true for
// changes that are not updates, and for resyncs.
func Changed[T, V any](of func(T) V) func(Change[T]) bool {
	return func(c Change[T]) bool {
		return c.Type != store.Updated || c.Reason == store.Resync || !reflect.DeepEqual(of(c.Old), of(c.New))
	}
}
