package conformance_test

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	kc "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/kinglettest/conformance"
)

func TestTheDropInKeepsTheContract(t *testing.T) {
	conformance.Run(t, kinglet(), conformance.Options{})
}

func listWatch(lw conformance.ListWatch) *cache.ListWatch {
	return &cache.ListWatch{
		ListFunc:             lw.ListFunc,
		WatchFunc:            lw.WatchFunc,
		ListWithContextFunc:  lw.ListWithContextFunc,
		WatchFuncWithContext: lw.WatchFuncWithContext,
		DisableChunking:      lw.DisableChunking,
	}
}

// kinglet is package cache.
func kinglet() conformance.Implementation {
	return conformance.Implementation{
		Name: "kinglet",

		MetaNamespaceKeyFunc:                 cache.MetaNamespaceKeyFunc,
		DeletionHandlingMetaNamespaceKeyFunc: cache.DeletionHandlingMetaNamespaceKeyFunc,
		SplitMetaNamespaceKey:                cache.SplitMetaNamespaceKey,
		MetaNamespaceIndexFunc:               cache.MetaNamespaceIndexFunc,
		IndexFuncToKeyFuncAdapter:            cache.IndexFuncToKeyFuncAdapter,
		ObjectToName:                         cache.ObjectToName,
		DeletionHandlingObjectToName:         cache.DeletionHandlingObjectToName,
		ParseObjectName:                      cache.ParseObjectName,

		NewStore: func(key kc.KeyFunc) kc.Store { return cache.NewStore(key) },
		NewTransformingStore: func(key kc.KeyFunc, transform kc.TransformFunc) kc.Store {
			return cache.NewStore(key, cache.WithTransformer(transform))
		},
		NewIndexer: func(key kc.KeyFunc, indexers kc.Indexers) kc.Indexer { return cache.NewIndexer(key, indexers) },
		NewThreadSafeStore: func(indexers kc.Indexers, indices kc.Indices) kc.ThreadSafeStore {
			return cache.NewThreadSafeStore(indexers, indices)
		},
		NewTTLStore: cache.NewTTLStore,
		NewHeap:     func(key kc.KeyFunc, less kc.LessFunc) conformance.Heap { return cache.NewHeap(key, less) },
		NewMutationCache: func(s kc.Store, o kc.MutationCacheOptions) conformance.MutationCache {
			return cache.NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), s, o)
		},

		NewFIFO: func(key kc.KeyFunc) conformance.Queue { return cache.NewFIFO(key) },
		NewDeltaFIFO: func(key kc.KeyFunc, known kc.KeyListerGetter) conformance.DeltaFIFO {
			return cache.NewDeltaFIFO(key, known)
		},
		NewDeltaFIFOWithOptions: func(o kc.DeltaFIFOOptions) conformance.DeltaFIFO {
			return cache.NewDeltaFIFOWithOptions(o)
		},
		NewRealFIFO: func(key kc.KeyFunc, known kc.KeyListerGetter, transform kc.TransformFunc) conformance.RealFIFO {
			return cache.NewRealFIFO(key, known, transform)
		},
		NewRealFIFOWithOptions: func(o kc.RealFIFOOptions) conformance.RealFIFO { return cache.NewRealFIFOWithOptions(o) },
		Requeue:                func(err error) error { return cache.ErrRequeue{Err: err} },

		NewReflector:            cache.NewReflector,
		NewReflectorWithOptions: cache.NewReflectorWithOptions,
		NewController: func(c conformance.ControllerConfig) kc.Controller {
			return cache.New(&cache.Config{
				Queue: c.Queue, ListerWatcher: c.ListerWatcher, Process: c.Process, ProcessBatch: c.ProcessBatch,
				ObjectType: c.ObjectType, ObjectDescription: c.ObjectDescription,
				FullResyncPeriod: c.FullResyncPeriod, MinWatchTimeout: c.MinWatchTimeout, ShouldResync: c.ShouldResync,
				WatchErrorHandler: c.WatchErrorHandler, WatchErrorHandlerWithContext: c.WatchErrorHandlerWithContext,
				WatchListPageSize: c.WatchListPageSize,
			})
		},

		NewListWatch: func(lw conformance.ListWatch) kc.ListerWatcher { return listWatch(lw) },
		NewListWatchFromClient: func(c kc.Getter, resource, namespace string, selector fields.Selector) kc.ListerWatcher {
			return cache.NewListWatchFromClient(c, resource, namespace, selector)
		},
		NewFilteredListWatchFromClient: func(c kc.Getter, resource, namespace string, modify func(*metav1.ListOptions)) kc.ListerWatcher {
			return cache.NewFilteredListWatchFromClient(c, resource, namespace, modify)
		},
		ChangeListWatch: func(lw kc.ListerWatcher, change func(*conformance.ListWatch)) {
			l := lw.(*cache.ListWatch)
			fields := conformance.ListWatch{
				ListFunc: l.ListFunc, WatchFunc: l.WatchFunc,
				ListWithContextFunc: l.ListWithContextFunc, WatchFuncWithContext: l.WatchFuncWithContext,
				DisableChunking: l.DisableChunking,
			}
			change(&fields)
			l.ListFunc, l.WatchFunc = fields.ListFunc, fields.WatchFunc
			l.ListWithContextFunc, l.WatchFuncWithContext = fields.ListWithContextFunc, fields.WatchFuncWithContext
			l.DisableChunking = fields.DisableChunking
		},
		ToListerWatcherWithContext: cache.ToListerWatcherWithContext,
		ToListWatcherWithWatchListSemantics: func(lw conformance.ListWatch, client any) kc.ListerWatcher {
			return cache.ToListWatcherWithWatchListSemantics(listWatch(lw), client)
		},

		NewInformer:                    cache.NewInformer,
		NewIndexerInformer:             cache.NewIndexerInformer,
		NewTransformingInformer:        cache.NewTransformingInformer,
		NewTransformingIndexerInformer: cache.NewTransformingIndexerInformer,
		NewInformerWithOptions:         cache.NewInformerWithOptions,

		NewSharedInformer:                 cache.NewSharedInformer,
		NewSharedIndexInformer:            cache.NewSharedIndexInformer,
		NewSharedIndexInformerWithOptions: cache.NewSharedIndexInformerWithOptions,
		ShutDownEventHandler:              cache.ShutDownEventHandler,
		HandlerBound:                      1 << 16,

		WaitForCacheSync:      cache.WaitForCacheSync,
		WaitForNamedCacheSync: cache.WaitForNamedCacheSync,
		WaitFor:               cache.WaitFor,
		IsDone:                cache.IsDone,

		NewGenericLister: cache.NewGenericLister,
	}
}
