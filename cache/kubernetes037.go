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
	Object                                           = kc.Object
	TypedIndexFunc[T any]                            = kc.TypedIndexFunc[T]
	TypedIndexers[T any]                             = kc.TypedIndexers[T]
	TypedIndexer[T any]                              = kc.TypedIndexer[T]
	TypedSharedIndexInformer[T Object]               = kc.TypedSharedIndexInformer[T]
	TypedResourceEventHandler[T Object]              = kc.TypedResourceEventHandler[T]
	TypedResourceEventHandlerFuncs[T Object]         = kc.TypedResourceEventHandlerFuncs[T]
	TypedResourceEventHandlerDetailedFuncs[T Object] = kc.TypedResourceEventHandlerDetailedFuncs[T]
	TypedFilteringResourceEventHandler[T Object]     = kc.TypedFilteringResourceEventHandler[T]
	DeletedObject[T Object]                          = kc.DeletedObject[T]
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
