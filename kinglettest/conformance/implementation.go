package conformance

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kc "k8s.io/client-go/tools/cache"
)

// Implementation has the functions under test, those of a package cache, under their own
// names. If an implementation may have its own type, there is an interface of this package
// or a constructor instead.
//
// A row of the suite fails if one of its functions is nil, and names it; the other rows
// still run. Optional fields are for functions that client-go v0.37.2 no longer has; if
// they are nil, their tests are skipped.
type Implementation struct {
	// Name names the implementation in failures.
	Name string

	// Keys and names.
	MetaNamespaceKeyFunc                 kc.KeyFunc
	DeletionHandlingMetaNamespaceKeyFunc kc.KeyFunc
	SplitMetaNamespaceKey                func(key string) (namespace, name string, err error)
	MetaNamespaceIndexFunc               kc.IndexFunc
	IndexFuncToKeyFuncAdapter            func(kc.IndexFunc) kc.KeyFunc
	ObjectToName                         func(obj any) (kc.ObjectName, error)
	DeletionHandlingObjectToName         func(obj any) (kc.ObjectName, error)
	ParseObjectName                      func(string) (kc.ObjectName, error)

	// Stores.
	NewStore func(kc.KeyFunc) kc.Store
	// NewTransformingStore is NewStore with WithTransformer.
	NewTransformingStore func(kc.KeyFunc, kc.TransformFunc) kc.Store
	NewIndexer           func(kc.KeyFunc, kc.Indexers) kc.Indexer
	NewThreadSafeStore   func(kc.Indexers, kc.Indices) kc.ThreadSafeStore
	NewTTLStore          func(kc.KeyFunc, time.Duration) kc.Store
	NewHeap              func(kc.KeyFunc, kc.LessFunc) Heap
	// NewMutationCache is NewIntegerResourceVersionMutationCacheWithOptions.
	NewMutationCache func(kc.Store, kc.MutationCacheOptions) MutationCache

	// Queues.
	NewFIFO                 func(kc.KeyFunc) Queue
	NewDeltaFIFO            func(kc.KeyFunc, kc.KeyListerGetter) DeltaFIFO
	NewDeltaFIFOWithOptions func(kc.DeltaFIFOOptions) DeltaFIFO
	NewRealFIFO             func(kc.KeyFunc, kc.KeyListerGetter, kc.TransformFunc) RealFIFO
	NewRealFIFOWithOptions  func(kc.RealFIFOOptions) RealFIFO
	// Requeue wraps an error in an ErrRequeue. Optional.
	Requeue func(error) error `conformance:"optional"`

	// List and watch.
	NewListWatch func(ListWatch) kc.ListerWatcher
	// ChangeListWatch calls change with the fields of lw, and stores its changes.
	ChangeListWatch                     func(lw kc.ListerWatcher, change func(*ListWatch))
	NewListWatchFromClient              func(c kc.Getter, resource, namespace string, selector fields.Selector) kc.ListerWatcher
	NewFilteredListWatchFromClient      func(c kc.Getter, resource, namespace string, modify func(*metav1.ListOptions)) kc.ListerWatcher
	ToListerWatcherWithContext          func(kc.ListerWatcher) kc.ListerWatcherWithContext
	ToListWatcherWithWatchListSemantics func(lw ListWatch, client any) kc.ListerWatcher

	// Reflectors.
	NewReflector            func(lw kc.ListerWatcher, expected any, store kc.ReflectorStore, resync time.Duration) *kc.Reflector
	NewReflectorWithOptions func(lw kc.ListerWatcher, expected any, store kc.ReflectorStore, options kc.ReflectorOptions) *kc.Reflector

	// Controllers.
	NewController                  func(ControllerConfig) kc.Controller
	NewInformer                    func(kc.ListerWatcher, runtime.Object, time.Duration, kc.ResourceEventHandler) (kc.Store, kc.Controller)
	NewIndexerInformer             func(kc.ListerWatcher, runtime.Object, time.Duration, kc.ResourceEventHandler, kc.Indexers) (kc.Indexer, kc.Controller)
	NewTransformingInformer        func(kc.ListerWatcher, runtime.Object, time.Duration, kc.ResourceEventHandler, kc.TransformFunc) (kc.Store, kc.Controller)
	NewTransformingIndexerInformer func(kc.ListerWatcher, runtime.Object, time.Duration, kc.ResourceEventHandler, kc.Indexers, kc.TransformFunc) (kc.Indexer, kc.Controller)
	NewInformerWithOptions         func(kc.InformerOptions) (kc.Store, kc.Controller)

	// Shared informers.
	NewSharedInformer                 func(kc.ListerWatcher, runtime.Object, time.Duration) kc.SharedInformer
	NewSharedIndexInformer            func(kc.ListerWatcher, runtime.Object, time.Duration, kc.Indexers) kc.SharedIndexInformer
	NewSharedIndexInformerWithOptions func(kc.ListerWatcher, runtime.Object, kc.SharedIndexInformerOptions) kc.SharedIndexInformer
	ShutDownEventHandler              func(kc.SharedInformer, kc.ResourceEventHandlerRegistration) error
	// HandlerBound is how many changes may wait for one handler of a shared informer
	// before Updates of a key fold into one. Zero means no bound.
	HandlerBound int

	// Waits.
	WaitForCacheSync      func(stop <-chan struct{}, synced ...kc.InformerSynced) bool
	WaitForNamedCacheSync func(name string, stop <-chan struct{}, synced ...kc.InformerSynced) bool
	WaitFor               func(ctx context.Context, what string, checkers ...kc.DoneChecker) bool
	IsDone                func(kc.DoneChecker) bool

	NewGenericLister func(kc.Indexer, schema.GroupResource) kc.GenericLister
}

// Queue is a queue that reports whether it is closed.
type Queue interface {
	kc.Queue
	IsClosed() bool
}

// DeltaFIFO is a queue of Deltas.
type DeltaFIFO interface {
	Queue
	KeyOf(obj any) (string, error)
}

// RealFIFO is a queue of single deltas, which can be popped in batches.
type RealFIFO interface {
	kc.QueueWithBatch
	IsClosed() bool
	Bookmark(version string) error
	Transformer() kc.TransformFunc
}

// Heap is a queue that pops the least object first.
type Heap interface {
	Add(obj any) error
	BulkAdd(list []any) error
	AddIfNotPresent(obj any) error
	Update(obj any) error
	Delete(obj any) error
	Pop() (any, error)
	List() []any
	ListKeys() []string
	Get(obj any) (any, bool, error)
	GetByKey(key string) (any, bool, error)
	Close()
	IsClosed() bool
}

// MutationCache is client-go's, without the method that prevents other implementations.
type MutationCache interface {
	GetByKey(key string) (any, bool, error)
	ByIndex(name, value string) ([]any, error)
	Mutation(obj any)
	OnAddOrUpdate(obj runtime.Object)
	OnDelete(obj runtime.Object)
}

// ListWatch has the fields of the ListWatch struct.
type ListWatch struct {
	ListFunc             kc.ListFunc
	WatchFunc            kc.WatchFunc
	ListWithContextFunc  kc.ListWithContextFunc
	WatchFuncWithContext kc.WatchFuncWithContext
	DisableChunking      bool
}

// ControllerConfig has the fields of Config.
type ControllerConfig struct {
	Queue                        kc.Queue
	ListerWatcher                kc.ListerWatcher
	Process                      kc.ProcessFunc
	ProcessBatch                 kc.ProcessBatchFunc
	ObjectType                   runtime.Object
	ObjectDescription            string
	FullResyncPeriod             time.Duration
	MinWatchTimeout              time.Duration
	ShouldResync                 kc.ShouldResyncFunc
	WatchErrorHandler            kc.WatchErrorHandler
	WatchErrorHandlerWithContext kc.WatchErrorHandlerWithContext
	WatchListPageSize            int64
}
