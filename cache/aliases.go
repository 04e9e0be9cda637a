package cache

import (
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/skew"
)

// Stores.
type (
	// Store holds objects by key.
	Store = kc.Store
	// Indexer is a Store that also finds objects by the values of index
	// functions.
	Indexer = kc.Indexer
	// ThreadSafeStore is an Indexer for callers that know the keys.
	ThreadSafeStore = kc.ThreadSafeStore
	// ThreadSafeStoreWithTransaction makes several writes as one.
	ThreadSafeStoreWithTransaction = kc.ThreadSafeStoreWithTransaction
	// TransactionStore is a Store that makes several writes as one.
	TransactionStore = kc.TransactionStore
	// MutationCache shows the results of one's own writes before the watch
	// brings them.
	MutationCache = kc.MutationCache
	// ResourceVersionComparator compares the versions of two objects.
	ResourceVersionComparator = kc.ResourceVersionComparator
	// ExpirationPolicy decides which entries have expired.
	ExpirationPolicy = kc.ExpirationPolicy
	// MutationDetector finds writes to the objects of a cache.
	MutationDetector = kc.MutationDetector
	// GenericLister lists objects of any type from an Indexer.
	GenericLister = kc.GenericLister
	// GenericNamespaceLister is a GenericLister of one namespace.
	GenericNamespaceLister = kc.GenericNamespaceLister
)

// Queues.
type (
	// Queue is a store of what is still to be done, popped key by key.
	Queue = kc.Queue
	// QueueWithBatch is a Queue that can be popped in batches.
	QueueWithBatch = kc.QueueWithBatch
	// KeyListerGetter is what a queue asks for the objects known already.
	KeyListerGetter = kc.KeyListerGetter
	// KeyLister lists keys.
	KeyLister = kc.KeyLister
	// KeyGetter finds the object of a key.
	KeyGetter = kc.KeyGetter
)

// List and watch.
type (
	// Lister lists a collection.
	Lister = kc.Lister
	// ListerWithContext lists a collection until its context ends.
	ListerWithContext = kc.ListerWithContext
	// Watcher begins a watch of a collection.
	Watcher = kc.Watcher
	// WatcherWithContext begins a watch that ends with its context.
	WatcherWithContext = kc.WatcherWithContext
	// ListerWatcher lists and watches a collection.
	ListerWatcher = kc.ListerWatcher
	// ListerWatcherWithContext lists and watches until its context ends.
	ListerWatcherWithContext = kc.ListerWatcherWithContext
	// Getter begins a GET request, as REST clients do.
	Getter = kc.Getter
)

// Reflectors.
type (
	// ReflectorStore is what a Reflector keeps equal to a collection.
	ReflectorStore = kc.ReflectorStore
	// ReflectorBookmarkStore is a ReflectorStore that receives bookmarks.
	ReflectorBookmarkStore = kc.ReflectorBookmarkStore
	// TransformingStore is a ReflectorStore that transforms objects itself.
	TransformingStore = kc.TransformingStore
	// ResourceVersionUpdater receives the version that a Reflector is at.
	ResourceVersionUpdater = kc.ResourceVersionUpdater
	// RetryWithDeadline decides whether to retry after an error.
	RetryWithDeadline = kc.RetryWithDeadline
)

// Controllers and informers.
type (
	// Controller runs a reflector and works off its queue.
	Controller = kc.Controller
	// SharedInformer keeps a copy of a collection and calls its handlers.
	SharedInformer = kc.SharedInformer
	// SharedIndexInformer is a SharedInformer with indexes.
	SharedIndexInformer = kc.SharedIndexInformer
	// ResourceEventHandler receives changes.
	ResourceEventHandler = kc.ResourceEventHandler
	// ResourceEventHandlerRegistration is one handler of an informer.
	ResourceEventHandlerRegistration = kc.ResourceEventHandlerRegistration
	// DoneChecker is something that can be waited for.
	DoneChecker = kc.DoneChecker
)

// Metrics.
type (
	// CounterMetric only grows.
	CounterMetric = kc.CounterMetric
	// GaugeMetric goes up and down.
	GaugeMetric = kc.GaugeMetric
	// HistogramMetric counts observations in buckets.
	HistogramMetric = kc.HistogramMetric
	// SummaryMetric sums observations up.
	SummaryMetric = kc.SummaryMetric
	// MetricsProvider makes the metrics of reflectors.
	MetricsProvider = kc.MetricsProvider
	// InformerMetricsProvider makes the metrics of informers.
	InformerMetricsProvider = kc.InformerMetricsProvider
)

// See package skew.
const _ = skew.UpgradeAllModulesOfKingletTogether1

// Functions that callers give.
type (
	// KeyFunc makes the key of an object.
	KeyFunc = kc.KeyFunc
	// IndexFunc makes the values under which an index finds an object.
	IndexFunc = kc.IndexFunc
	// LessFunc reports whether the first of two objects comes before the second.
	LessFunc = kc.LessFunc
	// AppendFunc receives one object of a list.
	AppendFunc = kc.AppendFunc
	// TransformFunc changes an object before it is stored.
	TransformFunc = kc.TransformFunc
	// PopProcessFunc works on what was popped.
	PopProcessFunc = kc.PopProcessFunc
	// ProcessFunc works on what a Controller popped.
	ProcessFunc = kc.ProcessFunc
	// ProcessBatchFunc works on a batch that a Controller popped.
	ProcessBatchFunc = kc.ProcessBatchFunc
	// ShouldResyncFunc reports whether it is time for a resync.
	ShouldResyncFunc = kc.ShouldResyncFunc
	// ListFunc lists.
	//lint:ignore SA1019 It is deprecated, and programs use it.
	ListFunc = kc.ListFunc
	// ListWithContextFunc lists until its context ends.
	ListWithContextFunc = kc.ListWithContextFunc
	// WatchFunc begins a watch.
	//lint:ignore SA1019 It is deprecated, and programs use it.
	WatchFunc = kc.WatchFunc
	// WatchFuncWithContext begins a watch that ends with its context.
	WatchFuncWithContext = kc.WatchFuncWithContext
	// WatchErrorHandler is called with the error of a list or watch.
	WatchErrorHandler = kc.WatchErrorHandler
	// WatchErrorHandlerWithContext is a WatchErrorHandler with a context.
	WatchErrorHandlerWithContext = kc.WatchErrorHandlerWithContext
	// InformerSynced reports whether an informer has synced.
	InformerSynced = kc.InformerSynced
)

// Keys and indexes.
type (
	// ExplicitKey is a key given instead of an object.
	ExplicitKey = kc.ExplicitKey
	// ObjectName is the namespace and name of an object.
	ObjectName = kc.ObjectName
	// KeyError reports an object for which no key could be made.
	KeyError = kc.KeyError
	// Indexers are index functions by name.
	Indexers = kc.Indexers
	// Indices are the contents of indexes by name.
	Indices = kc.Indices
)

// NamespaceIndex is the name under which objects are indexed by namespace.
const NamespaceIndex = kc.NamespaceIndex

// Deltas.
type (
	// Delta is one thing that happened to an object.
	Delta = kc.Delta
	// Deltas is what happened to one object, the oldest first.
	Deltas = kc.Deltas
	// DeltaType is what happened.
	DeltaType = kc.DeltaType
	// DeletedFinalStateUnknown stands for an object whose delete was missed.
	DeletedFinalStateUnknown = kc.DeletedFinalStateUnknown
	// ReplacedAllInfo comes with a Delta of type ReplacedAll.
	ReplacedAllInfo = kc.ReplacedAllInfo
	// SyncAllInfo comes with a Delta of type SyncAll.
	SyncAllInfo = kc.SyncAllInfo
	// BookmarkInfo comes with a Delta of type Bookmark.
	BookmarkInfo = kc.BookmarkInfo
)

// What may have happened to an object.
const (
	Added       = kc.Added
	Updated     = kc.Updated
	Deleted     = kc.Deleted
	Replaced    = kc.Replaced
	Sync        = kc.Sync
	ReplacedAll = kc.ReplacedAll
	SyncAll     = kc.SyncAll
	Bookmark    = kc.Bookmark
)

// Transactions.
type (
	// Transaction is one write of several.
	Transaction = kc.Transaction
	// TransactionType is what a Transaction does.
	TransactionType = kc.TransactionType
	// ThreadSafeStoreTransaction is a Transaction with its key.
	ThreadSafeStoreTransaction = kc.ThreadSafeStoreTransaction
	// TransactionError lists which of several writes failed.
	TransactionError = kc.TransactionError
)

// What a Transaction may do.
const (
	TransactionTypeAdd    = kc.TransactionTypeAdd
	TransactionTypeUpdate = kc.TransactionTypeUpdate
	TransactionTypeDelete = kc.TransactionTypeDelete
)

// Handlers and informers.
type (
	// ResourceEventHandlerFuncs is a handler made of functions.
	ResourceEventHandlerFuncs = kc.ResourceEventHandlerFuncs
	// ResourceEventHandlerDetailedFuncs is one whose OnAdd learns whether the
	// object is of the initial list.
	ResourceEventHandlerDetailedFuncs = kc.ResourceEventHandlerDetailedFuncs
	// FilteringResourceEventHandler passes on what its filter lets through.
	FilteringResourceEventHandler = kc.FilteringResourceEventHandler
	// HandlerOptions say how a handler is called.
	HandlerOptions = kc.HandlerOptions
	// SharedIndexInformerOptions say how an informer works.
	SharedIndexInformerOptions = kc.SharedIndexInformerOptions
	// InformerOptions say how an informer with one handler works.
	InformerOptions = kc.InformerOptions
	// SyncResult lists which informers of a factory have synced.
	SyncResult = kc.SyncResult
	// InformerName is the name of a factory of informers, in metrics.
	InformerName = kc.InformerName
	// InformerNameAndResource is the name of one informer, in metrics.
	InformerNameAndResource = kc.InformerNameAndResource
)

// Reflectors.
type (
	// Reflector keeps a store equal to a collection; see the package's
	// documentation for what runs underneath.
	Reflector = kc.Reflector
	// ReflectorOptions say how a Reflector works.
	ReflectorOptions = kc.ReflectorOptions
	// VeryShortWatchError reports that a watch ended at once, without an event.
	VeryShortWatchError = kc.VeryShortWatchError
)

// Entries that expire.
type (
	// TimestampedEntry is an object with the time it was stored at.
	TimestampedEntry = kc.TimestampedEntry
	// TTLPolicy lets entries live for a fixed time.
	TTLPolicy = kc.TTLPolicy
	// FakeExpirationPolicy lets entries live unless they are named.
	FakeExpirationPolicy = kc.FakeExpirationPolicy
	// FakeCustomStore is a Store made of functions.
	FakeCustomStore = kc.FakeCustomStore
)

// Errors that are compared by value, and so must be client-go's.
var (
	// ErrFIFOClosed is returned by Pop when the queue is closed.
	ErrFIFOClosed = kc.ErrFIFOClosed
	// ErrZeroLengthDeltasObject is wrapped by the KeyError of empty Deltas.
	ErrZeroLengthDeltasObject = kc.ErrZeroLengthDeltasObject
)
