package cache

import kc "k8s.io/client-go/tools/cache"

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
