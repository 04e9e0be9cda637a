package cache

import (
	"time"

	kc "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// NewReflector returns a Reflector that keeps store equal to what lw has, named
// after the file and line of its caller. See NewReflectorWithOptions.
func NewReflector(lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewNamedReflector is NewReflector with a name. See NewReflectorWithOptions.
func NewNamedReflector(name string, lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{Name: name, ResyncPeriod: resyncPeriod})
}

// NewNamespaceKeyedIndexerAndReflector returns an Indexer by namespace, and a
// Reflector that keeps it equal to what lw has.
func NewNamespaceKeyedIndexerAndReflector(lw ListerWatcher, expectedType any, resyncPeriod time.Duration) (indexer Indexer, reflector *Reflector) {
	indexer = NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	return indexer, NewReflector(lw, expectedType, indexer, resyncPeriod)
}

// NewReflectorWithOptions returns a Reflector that keeps store equal to what lw has,
// once it is run: package reflector documents what is guaranteed. It starts nothing.
// Objects of another type than expectedType are reported and left out; for an
// *unstructured.Unstructured its kind counts too, and nil accepts all.
//
// The Reflector is client-go's type, since its interfaces name it, with kinglet's engine
// in it. Run, RunWithContext and ListAndWatch return once everything that they started
// has ended. ListAndWatch returns the error of a failed list and of a refused watch. It
// returns nil when the store's Resync fails, and when a watch ends in a way that
// requires a new list or a wait. Each call begins with a list that is not older than
// what the store has; but if the last call had the same context and its watch failed, as
// under Run, it continues where that ended. Throttled watches, refused connections and
// initial events that end too soon are retried within one call. ShouldResync may be set
// at any time before the first run. WatchListPageSize and MaxInternalErrorRetryDuration
// are read at the first run.
//
// Of the options, Backoff determines every wait, except that none is shorter than the
// server's Retry-After. Clock is for resyncs, for the waits between two calls of
// ListAndWatch, and for when a Backoff starts again.
func NewReflectorWithOptions(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) *Reflector {
	if options.Name == "" {
		options.Name = callerName()
	}
	if options.TypeDescription == "" {
		options.TypeDescription = describeType(expectedType)
	}
	r := &reflection{lw: lw, example: expectedType, store: store, options: options}
	r.logger = klog.Background()
	if options.Logger != nil {
		r.logger = *options.Logger
	}
	if r.options.Clock == nil {
		r.options.Clock = clock.RealClock{}
	}
	// The engine resyncs and checks types itself, so the shell does not.
	options.ResyncPeriod, options.Logger = 0, &silent
	r.shell = kc.NewReflectorWithOptions(r, nil, inertStore{}, options)
	return r.shell
}
