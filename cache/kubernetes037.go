package cache

import (
	"k8s.io/klog/v2"

	kc "k8s.io/client-go/tools/cache"
)

// This file holds what client-go has since 0.37, and all of this package that
// needs it. The versions of this module for Kubernetes 0.36 are built without
// it.

// Objects of one type.
type (
	// Object is what the typed handlers and informers work with.
	Object = kc.Object
	// TypedIndexFunc is an IndexFunc of one type.
	TypedIndexFunc[T any] = kc.TypedIndexFunc[T]
	// TypedIndexers are index functions of one type by name.
	TypedIndexers[T any] = kc.TypedIndexers[T]
	// TypedIndexer is an Indexer with typed variants of its methods.
	TypedIndexer[T any] = kc.TypedIndexer[T]
	// TypedSharedIndexInformer is a SharedIndexInformer with typed variants of
	// its methods.
	TypedSharedIndexInformer[T Object] = kc.TypedSharedIndexInformer[T]
	// TypedResourceEventHandler receives changes of objects of one type.
	TypedResourceEventHandler[T Object] = kc.TypedResourceEventHandler[T]
	// TypedResourceEventHandlerFuncs is ResourceEventHandlerFuncs for one type.
	TypedResourceEventHandlerFuncs[T Object] = kc.TypedResourceEventHandlerFuncs[T]
	// TypedResourceEventHandlerDetailedFuncs is
	// ResourceEventHandlerDetailedFuncs for one type.
	TypedResourceEventHandlerDetailedFuncs[T Object] = kc.TypedResourceEventHandlerDetailedFuncs[T]
	// TypedFilteringResourceEventHandler is FilteringResourceEventHandler for
	// one type.
	TypedFilteringResourceEventHandler[T Object] = kc.TypedFilteringResourceEventHandler[T]
	// DeletedObject is what is known of an object that is gone.
	DeletedObject[T Object] = kc.DeletedObject[T]
)

// MutationCacheOptions say how a MutationCache works.
type MutationCacheOptions = kc.MutationCacheOptions

// TypedIndexersToIndexers converts index functions of one type to index
// functions of any type. They panic for an object of another type.
func TypedIndexersToIndexers[T any](indexers TypedIndexers[T]) Indexers {
	return kc.TypedIndexersToIndexers(indexers)
}

// TypedIndexerFuncToIndexerFunc converts an index function of one type to one
// of any type. It panics for an object of another type.
func TypedIndexerFuncToIndexerFunc[T any](indexer TypedIndexFunc[T]) IndexFunc {
	return kc.TypedIndexerFuncToIndexerFunc(indexer)
}

// NewTypedSharedIndexInformer gives an informer's methods typed variants. The
// informer must hold objects of type T only.
func NewTypedSharedIndexInformer[T Object](informer SharedIndexInformer) TypedSharedIndexInformer[T] {
	return kc.NewTypedSharedIndexInformer[T](informer)
}

// NewIntegerResourceVersionMutationCacheWithOptions is
// NewIntegerResourceVersionMutationCache with a bound on how many keys are
// remembered.
func NewIntegerResourceVersionMutationCacheWithOptions(logger klog.Logger, backingCache Store, options MutationCacheOptions) MutationCache {
	return newMutationCache(logger, backingCache, mutationCacheOptions(options))
}
