package cache

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/store"
)

// storeIndexFunc is a store's index function for one of this package's. A nil
// object is in no index.
func storeIndexFunc(fn IndexFunc) store.IndexFunc[any] {
	return func(obj any) ([]string, error) {
		if obj == nil {
			return nil, nil
		}
		return fn(obj)
	}
}

// storeIndexers are a store's indexes for those of this package. One without a
// function does not exist.
func storeIndexers(indexers Indexers) map[string]store.IndexFunc[any] {
	fns := make(map[string]store.IndexFunc[any], len(indexers))
	for name, fn := range indexers {
		if fn != nil {
			fns[name] = storeIndexFunc(fn)
		}
	}
	return fns
}

// reportError is where errors go that no caller is given.
func reportError(err error) {
	utilruntime.HandleErrorWithContext(context.Background(), err, "A store keeps an object for which a function failed")
}

// TypedIndexersToIndexers makes index functions of any type of those of one
// type. They panic if they are given another.
func TypedIndexersToIndexers[T any](indexers TypedIndexers[T]) Indexers {
	untyped := make(Indexers, len(indexers))
	for name, fn := range indexers {
		untyped[name] = TypedIndexerFuncToIndexerFunc(fn)
	}
	return untyped
}

// TypedIndexerFuncToIndexerFunc makes an index function of any type of one of
// one type. It panics if it is given another.
func TypedIndexerFuncToIndexerFunc[T any](indexer TypedIndexFunc[T]) IndexFunc {
	return func(obj any) ([]string, error) { return indexer(obj.(T)) }
}

// NewTypedSharedIndexInformer gives an informer's methods typed variants. The
// informer must hold objects of type T only.
func NewTypedSharedIndexInformer[T Object](informer SharedIndexInformer) TypedSharedIndexInformer[T] {
	return kc.NewTypedSharedIndexInformer[T](informer)
}
