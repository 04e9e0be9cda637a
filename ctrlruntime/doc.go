// Package ctrlruntime runs controller-runtime's caches on kinglet:
//
//	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
//		NewCache: ctrlruntime.NewCache,
//	})
//
// NewCache takes all of cache.Options, with controller-runtime's defaults and its
// contract. What it returns differs in what it costs, and where controller-runtime
// leaves things to chance:
//
//   - One store holds a kind in all of its namespaces, and a handler is registered
//     once. A namespace costs a watch.
//   - A list comes in key order, so that Limit returns the same objects each time,
//     from one snapshot of the store, with its resource version where there is one.
//   - A namespace that answers 403 does not hold up reads of the others.
//   - Informers are real SharedIndexInformers, also for several namespaces.
//   - Two entries of Options.ByObject for one kind are an error.
//   - A kind of Options.ByObject whose definition is missing is an error when it is
//     first used, and not when the cache is made.
//   - A Get or List that makes an informer says so once, with the reader's name; or it
//     is refused: see Options.Implicit.
//   - A kind has one resync period: the shortest of its namespaces.
//
// With Options.NewInformer set, and with KINGLET=off in the environment of the
// process, NewCache returns controller-runtime's own cache.
//
// # What lives here
//
//	newcache.go    NewCache, and the cache's life
//	settings.go    cache.Options as settings of a kind, by namespace
//	kinds.go       the informers of the cache, one for each kind and form
//	implicit.go    informers that a read makes
//	listwatch.go   what an informer lists and watches
//	reader.go      Get and List
//	select.go      which objects a list selects
//	fill.go        objects into a caller's list
//	view.go        reads by type, without copies
//
// # Locks
//
// Cache.mu guards the map of kinds. It is held while an informer is made, and not
// while one is waited for.
package ctrlruntime
