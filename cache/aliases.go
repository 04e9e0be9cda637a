package cache

import (
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/skew"
)

// The aliases are documented by the types that they stand for.

// Stores.
type (
	Store                          = kc.Store
	Indexer                        = kc.Indexer
	ThreadSafeStore                = kc.ThreadSafeStore
	ThreadSafeStoreWithTransaction = kc.ThreadSafeStoreWithTransaction
	TransactionStore               = kc.TransactionStore
	UndeltaStore                   = kc.UndeltaStore
	MutationCache                  = kc.MutationCache
	ResourceVersionComparator      = kc.ResourceVersionComparator
	ExpirationPolicy               = kc.ExpirationPolicy
	MutationDetector               = kc.MutationDetector
	GenericLister                  = kc.GenericLister
	GenericNamespaceLister         = kc.GenericNamespaceLister
)

// Queues.
type (
	Queue           = kc.Queue
	QueueWithBatch  = kc.QueueWithBatch
	KeyListerGetter = kc.KeyListerGetter
	KeyLister       = kc.KeyLister
	KeyGetter       = kc.KeyGetter
)

// List and watch.
type (
	Lister                   = kc.Lister
	ListerWithContext        = kc.ListerWithContext
	Watcher                  = kc.Watcher
	WatcherWithContext       = kc.WatcherWithContext
	ListerWatcher            = kc.ListerWatcher
	ListerWatcherWithContext = kc.ListerWatcherWithContext
	Getter                   = kc.Getter
)

// Reflectors.
type (
	ReflectorStore         = kc.ReflectorStore
	ReflectorBookmarkStore = kc.ReflectorBookmarkStore
	TransformingStore      = kc.TransformingStore
	ResourceVersionUpdater = kc.ResourceVersionUpdater
	RetryWithDeadline      = kc.RetryWithDeadline
)

// Controllers and informers.
type (
	Controller                       = kc.Controller
	SharedInformer                   = kc.SharedInformer
	SharedIndexInformer              = kc.SharedIndexInformer
	ResourceEventHandler             = kc.ResourceEventHandler
	ResourceEventHandlerRegistration = kc.ResourceEventHandlerRegistration
	DoneChecker                      = kc.DoneChecker
)

// Metrics.
type (
	CounterMetric           = kc.CounterMetric
	GaugeMetric             = kc.GaugeMetric
	HistogramMetric         = kc.HistogramMetric
	SummaryMetric           = kc.SummaryMetric
	MetricsProvider         = kc.MetricsProvider
	InformerMetricsProvider = kc.InformerMetricsProvider
)

// See package skew.
const _ = skew.UpgradeAllModulesOfKingletTogether1

// Functions that callers give.
type (
	KeyFunc          = kc.KeyFunc
	IndexFunc        = kc.IndexFunc
	LessFunc         = kc.LessFunc
	AppendFunc       = kc.AppendFunc
	TransformFunc    = kc.TransformFunc
	PopProcessFunc   = kc.PopProcessFunc
	ProcessFunc      = kc.ProcessFunc
	ProcessBatchFunc = kc.ProcessBatchFunc
	ShouldResyncFunc = kc.ShouldResyncFunc
	//lint:ignore SA1019 It is deprecated, and programs use it.
	ListFunc            = kc.ListFunc
	ListWithContextFunc = kc.ListWithContextFunc
	//lint:ignore SA1019 It is deprecated, and programs use it.
	WatchFunc                    = kc.WatchFunc
	WatchFuncWithContext         = kc.WatchFuncWithContext
	WatchErrorHandler            = kc.WatchErrorHandler
	WatchErrorHandlerWithContext = kc.WatchErrorHandlerWithContext
	InformerSynced               = kc.InformerSynced
)

// Keys and indexes.
type (
	ExplicitKey = kc.ExplicitKey
	ObjectName  = kc.ObjectName
	KeyError    = kc.KeyError
	Indexers    = kc.Indexers
	Indices     = kc.Indices
)

// NamespaceIndex is the name under which objects are indexed by namespace.
const NamespaceIndex = kc.NamespaceIndex

// Deltas.
type (
	Delta                    = kc.Delta
	Deltas                   = kc.Deltas
	DeltaType                = kc.DeltaType
	DeletedFinalStateUnknown = kc.DeletedFinalStateUnknown
	ReplacedAllInfo          = kc.ReplacedAllInfo
	SyncAllInfo              = kc.SyncAllInfo
	BookmarkInfo             = kc.BookmarkInfo
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
	Transaction                = kc.Transaction
	TransactionType            = kc.TransactionType
	ThreadSafeStoreTransaction = kc.ThreadSafeStoreTransaction
	TransactionError           = kc.TransactionError
)

// What a Transaction may do.
const (
	TransactionTypeAdd    = kc.TransactionTypeAdd
	TransactionTypeUpdate = kc.TransactionTypeUpdate
	TransactionTypeDelete = kc.TransactionTypeDelete
)

// Handlers and informers.
type (
	ResourceEventHandlerFuncs         = kc.ResourceEventHandlerFuncs
	ResourceEventHandlerDetailedFuncs = kc.ResourceEventHandlerDetailedFuncs
	FilteringResourceEventHandler     = kc.FilteringResourceEventHandler
	HandlerOptions                    = kc.HandlerOptions
	SharedIndexInformerOptions        = kc.SharedIndexInformerOptions
	InformerOptions                   = kc.InformerOptions
	SyncResult                        = kc.SyncResult
	InformerName                      = kc.InformerName
	InformerNameAndResource           = kc.InformerNameAndResource
)

// Reflectors.
type (
	// Reflector keeps a store equal to a collection; see the package's
	// documentation for what runs underneath.
	Reflector           = kc.Reflector
	ReflectorOptions    = kc.ReflectorOptions
	VeryShortWatchError = kc.VeryShortWatchError
)

// Entries that expire.
type (
	TimestampedEntry     = kc.TimestampedEntry
	TTLPolicy            = kc.TTLPolicy
	FakeExpirationPolicy = kc.FakeExpirationPolicy
	FakeCustomStore      = kc.FakeCustomStore
)

// Errors that are compared by value, and so must be client-go's.
var (
	ErrFIFOClosed             = kc.ErrFIFOClosed
	ErrZeroLengthDeltasObject = kc.ErrZeroLengthDeltasObject
)
