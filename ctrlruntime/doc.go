// Package ctrlruntime runs controller-runtime's caches on kinglet:
//
//	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
//		NewCache:  ctrlruntime.NewCache,
//		NewClient: ctrlruntime.NewClient,
//	})
//
// With NewClient, every read of the manager's cache includes what the manager's client
// wrote before, without waiting for the watch.
//
// NewCache takes all of cache.Options, with controller-runtime's defaults and its
// contract. Its cache differs in cost, and where controller-runtime leaves things to
// chance:
//
//   - One store holds a kind in all of its namespaces, and a handler is registered
//     once. Each namespace costs a watch.
//   - A list comes in key order, so that Limit returns the same objects each time. It
//     is from one snapshot of the store, with its resource version if there is one.
//   - A namespace that answers 403 does not hold up reads of the others.
//   - Informers are real SharedIndexInformers, also for several namespaces.
//   - Two entries of Options.ByObject for one kind are an error.
//   - A kind of Options.ByObject whose definition is missing is an error when it is
//     first used, and not when the cache is made.
//   - A Get or List that makes an informer is logged once, with the reader's name, or
//     refused: see Options.Implicit.
//   - A read of a kind that the server does not list, such as Binding, is an error and
//     does not wait: an *UnlistableError. Informers wait.
//   - A kind has one resync period: the shortest of its namespaces.
//   - An informer of metadata shows the objects of a typed or unstructured informer of
//     the kind, if there is one.
//   - Objects are copied straight into what the caller passes, by a plan for their type.
//
// This package also has what controller-runtime does not: namespaces that change while
// the cache runs (SetNamespaces), and kinds of which
// only some fields are held, or of some objects only metadata (Options.ByObject).
//
// NewQueue makes controllers use kinglet's queue, and package compare tries the cache
// beside controller-runtime's own. In the queue, requests that are due at the same
// nanosecond are served in no particular order.
//
// With Options.NewInformer set, and with KINGLET=off in the environment of the
// process, NewCache returns controller-runtime's own cache.
//
// # What lives here
//
//	newcache.go      NewCache, the cache's life, and what a Set shows of it
//	settings.go      cache.Options as settings of a kind, and what they list and watch
//	kinds.go         the kinds of the cache, by the form in which they are read
//	storage.go       the informers of the cache, and the objects of each
//	namespaces.go    the namespaces of an informer at one time, and SetNamespaces
//	kindinformer.go  the informer that programs receive, and its store: objects in the
//	                 form of a kind
//	lean.go          the fields that are held, of which objects
//	reader.go        Get and List, and the informers that they make
//	select.go        which objects a list selects
//	fill.go          objects, or copies of them, into what a caller reads into
//	view.go          reads by type, without copies
//	queue.go         NewQueue, with its metrics and report in queuemetrics.go and
//	                 queuereport.go
//
//	client.go        NewClient
//	clientoptout.go  writes that do not want to be recorded
//
// # Locks
//
// Cache.mu guards the map of kinds. It is held while a kind is added or removed, but
// not while a call waits for one, nor while a function of the program runs. kindInformer.mu
// is locked before those of an informer, and never under Cache.mu. Cache.turn is
// taken before both, to change the namespaces of informers.
package ctrlruntime
