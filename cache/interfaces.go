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
