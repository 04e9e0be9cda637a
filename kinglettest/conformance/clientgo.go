package conformance

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	kc "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// ClientGo is k8s.io/client-go/tools/cache, the reference.
func ClientGo() Implementation {
	return Implementation{
		Name: "client-go",

		MetaNamespaceKeyFunc:                 kc.MetaNamespaceKeyFunc,
		DeletionHandlingMetaNamespaceKeyFunc: kc.DeletionHandlingMetaNamespaceKeyFunc,
		SplitMetaNamespaceKey:                kc.SplitMetaNamespaceKey,
		MetaNamespaceIndexFunc:               kc.MetaNamespaceIndexFunc,
		IndexFuncToKeyFuncAdapter:            kc.IndexFuncToKeyFuncAdapter,
		ObjectToName:                         kc.ObjectToName,
		DeletionHandlingObjectToName:         kc.DeletionHandlingObjectToName,
		ParseObjectName:                      kc.ParseObjectName,

		NewStore: func(key kc.KeyFunc) kc.Store { return kc.NewStore(key) },
		NewTransformingStore: func(key kc.KeyFunc, transform kc.TransformFunc) kc.Store {
			return kc.NewStore(key, kc.WithTransformer(transform))
		},
		NewIndexer: func(key kc.KeyFunc, indexers kc.Indexers) kc.Indexer { return kc.NewIndexer(key, indexers) },
		NewThreadSafeStore: func(indexers kc.Indexers, indices kc.Indices) kc.ThreadSafeStore {
			return kc.NewThreadSafeStore(indexers, indices)
		},
		NewTTLStore: kc.NewTTLStore,
		NewHeap:     func(key kc.KeyFunc, less kc.LessFunc) Heap { return kc.NewHeap(key, less) },
		NewMutationCache: func(s kc.Store, o kc.MutationCacheOptions) MutationCache {
			return kc.NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), s, o)
		},

		NewFIFO:                 func(key kc.KeyFunc) Queue { return kc.NewFIFO(key) },
		NewDeltaFIFO:            func(key kc.KeyFunc, known kc.KeyListerGetter) DeltaFIFO { return kc.NewDeltaFIFO(key, known) },
		NewDeltaFIFOWithOptions: func(o kc.DeltaFIFOOptions) DeltaFIFO { return kc.NewDeltaFIFOWithOptions(o) },
		NewRealFIFO: func(key kc.KeyFunc, known kc.KeyListerGetter, transform kc.TransformFunc) RealFIFO {
			return kc.NewRealFIFO(key, known, transform)
		},
		NewRealFIFOWithOptions: func(o kc.RealFIFOOptions) RealFIFO { return kc.NewRealFIFOWithOptions(o) },

		NewListWatch: func(lw ListWatch) kc.ListerWatcher { return clientGoListWatch(lw) },
		ChangeListWatch: func(lw kc.ListerWatcher, change func(*ListWatch)) {
			l := lw.(*kc.ListWatch)
			fields := ListWatch(*l)
			change(&fields)
			*l = kc.ListWatch(fields)
		},
		NewListWatchFromClient: func(c kc.Getter, resource, namespace string, selector fields.Selector) kc.ListerWatcher {
			return kc.NewListWatchFromClient(c, resource, namespace, selector)
		},
		NewFilteredListWatchFromClient: func(c kc.Getter, resource, namespace string, modify func(*metav1.ListOptions)) kc.ListerWatcher {
			return kc.NewFilteredListWatchFromClient(c, resource, namespace, modify)
		},
		ToListerWatcherWithContext: kc.ToListerWatcherWithContext,
		ToListWatcherWithWatchListSemantics: func(lw ListWatch, client any) kc.ListerWatcher {
			return kc.ToListWatcherWithWatchListSemantics(clientGoListWatch(lw), client)
		},

		NewReflector:            kc.NewReflector,
		NewReflectorWithOptions: kc.NewReflectorWithOptions,

		NewController:                  clientGoController,
		NewInformer:                    kc.NewInformer,
		NewIndexerInformer:             kc.NewIndexerInformer,
		NewTransformingInformer:        kc.NewTransformingInformer,
		NewTransformingIndexerInformer: kc.NewTransformingIndexerInformer,
		NewInformerWithOptions:         kc.NewInformerWithOptions,

		NewSharedInformer:                 kc.NewSharedInformer,
		NewSharedIndexInformer:            kc.NewSharedIndexInformer,
		NewSharedIndexInformerWithOptions: kc.NewSharedIndexInformerWithOptions,
		ShutDownEventHandler:              kc.ShutDownEventHandler,

		WaitForCacheSync:      kc.WaitForCacheSync,
		WaitForNamedCacheSync: kc.WaitForNamedCacheSync,
		WaitFor:               kc.WaitFor,
		IsDone:                kc.IsDone,

		NewGenericLister: kc.NewGenericLister,
	}
}

func clientGoListWatch(lw ListWatch) *kc.ListWatch { l := kc.ListWatch(lw); return &l }

func clientGoController(c ControllerConfig) kc.Controller {
	return kc.New(&kc.Config{
		Queue:                        c.Queue,
		ListerWatcher:                c.ListerWatcher,
		Process:                      c.Process,
		ProcessBatch:                 c.ProcessBatch,
		ObjectType:                   c.ObjectType,
		ObjectDescription:            c.ObjectDescription,
		FullResyncPeriod:             c.FullResyncPeriod,
		MinWatchTimeout:              c.MinWatchTimeout,
		ShouldResync:                 c.ShouldResync,
		WatchErrorHandler:            c.WatchErrorHandler,
		WatchErrorHandlerWithContext: c.WatchErrorHandlerWithContext,
		WatchListPageSize:            c.WatchListPageSize,
	})
}
