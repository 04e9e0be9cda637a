// Package cache is a drop-in for k8s.io/client-go/tools/cache: change that one
// import to this one, and a program compiles, behaves, and runs on kinglet. Package
// factories does the same for the informers of client-go's factories.
//
// # Whose types are whose
//
// Interfaces, and the plain types that client-go's interfaces and generated
// code mention, are aliases of client-go's, so that values pass freely to
// generated listers, informer factories and controller-runtime, and back
// (aliases.go). Every store, queue, controller, reflector and
// informer behind them is kinglet's, and is a thin adapter over packages
// kinglet, store, source and reflector.
//
// Some types are this package's own, because client-go's cannot hold what they
// need: [ListWatch] (it remembers the resource that it was made for), [Config],
// [FIFO], [DeltaFIFO], [RealFIFO] and [ErrRequeue] (which newer client-go no
// longer has), and every other type with state of its own.
//
// A [Reflector] is client-go's type, since client-go's interfaces name it in the
// watch error handler. A Reflector made here is a shell around kinglet's engine:
// its name, type description and LastSyncResourceVersion are true, and Run runs kinglet.
//
// # What cannot be had
//
//   - StoreOption and ThreadSafeStoreOption are functions of an unexported type,
//     there and here, so those of client-go's package cannot be passed to a
//     constructor of this one. WithTransformer, WithStoreMetrics and
//     WithThreadSafeStoreMetrics of this package make them.
//   - A Reflector has no field UseWatchList, which client-go has removed. To
//     avoid a watch-list, turn off client-go's feature gate WatchListClient,
//     which counts here as well; or wrap the ListerWatcher with
//     [ToListWatcherWithWatchListSemantics].
//   - Of [ReflectorOptions], Clock has less effect than its name suggests; see
//     [NewReflectorWithOptions]. All others have their usual effect.
//
// A watch-list that the server refuses, also with 429, leads to a list, and not to
// another watch-list: the first sync does not wait for more refusals.
//
// # The fast path
//
// Kinglet reads the collections of [NewListWatchFromClient] and
// [NewFilteredListWatchFromClient] from the wire, without any option: known bytes
// are not decoded again, and objects share what they have in common. If the
// client's configuration names AcceptContentTypes, those are requested and no
// others. The client decodes, as with client-go, if it is not a *rest.RESTClient or
// accepts nothing that kinglet reads, if the server sends what kinglet cannot read,
// or if one of the functions with a context was replaced: the new one gets the objects.
// A client whose NegotiatedSerializer applies defaults or converts, which those of
// generated clients do not, has to decode itself: give it as closures, without
// source.WrapTransport.
//
// Everything else that passes closures (clientsets, dynamic and metadata clients,
// controller-runtime) is decoded by its client, unless source.WrapTransport was
// set in the client's configuration:
//
//	config.Wrap(source.WrapTransport)
//
// With it, a busy watch moves to a connection of its own, where events wait for
// source.DefaultMaxDelay, so that several are read at once: see package source.
//
// Do not do so where a closure filters or changes what its client returns: the
// closure would see no objects. See source.WrapTransport.
//
// # What can be seen
//
// Informers, and the controllers of NewInformer and its variants, implement
// [Observable]: it shows what each is doing, what failed last, and which objects
// are quarantined. A status costs about a microsecond. Its ReadPath shows how
// objects are read: from the wire, in protobuf or JSON, or by the client's
// decoder, why, and since when. A change of it is logged; for a client that was
// made without source.WrapTransport, once and at verbosity 2.
//
// To rule out this package's reading as the cause of a problem, without a build,
// set KINGLET_DISABLE_FAST_PATH=true in the program's environment: informers then
// read through their client and its decoder alone, as client-go's do, and objects
// share nothing. ReadPath says so. The price is client-go's memory and CPU use.
//
// # Differences
//
// Where client-go is known to be wrong or weak, this package differs. Each of
// these is a test of package kinglettest/conformance, which runs over both and
// so notices when client-go has been mended.
//
//   - When an object is deleted and created again while the watch is away:
//     handlers get an Update from one object to the other. Here: handlers get a
//     Delete, then an Add.
//     (https://github.com/kubernetes/kubernetes/issues/133565)
//   - When an object is deleted from an informer's store by hand, and the watch
//     brings its next state: handlers get a second Add. Here: handlers that
//     know it get an Update.
//   - When an object is deleted from an informer's store by hand, and from the
//     server while the watch is away: handlers never hear that it is gone.
//     Here: handlers that know it get a Delete.
//   - When a program puts two objects into an informer's store by hand before
//     it runs, and the first list has a newer version of one and lacks the
//     other: handlers get an Update of the one and a Delete of the other,
//     without an Add before. Here: they get an Add of the one, and nothing of
//     the other.
//   - When a list is served by a server that lags behind: the published version
//     and the objects go backwards. Here: they never do.
//     (https://github.com/kubernetes/kubernetes/issues/59848)
//   - When a server in memory restarts, loses objects and numbers anew, and a
//     watch is asked for again: objects that it lost stay for ever. Here: the
//     events of that watch are applied, and when it ends everything is listed.
//   - When a test deletes an object of a fake clientset as soon as the informer
//     has synced: the object may stay for ever: the watch may not be open yet,
//     and a fake sends no delete from before. Here: the informer has synced
//     once its watch is open.
//   - When a Watch function looks at the reflector's store and version after a
//     list: both are the list's. Here: they are empty: a list is published once
//     the watch after it is open.
//   - When a watch without versions adds one and the same object twice, and the
//     test has written into it in between: handlers get an Update from the
//     object to itself. Here: nobody is told: such a watch begins by repeating
//     what exists, and an informer's objects must not be written to.
//   - When the transform fails for one object of a list: nothing is stored and
//     the informer never syncs. Here: the others are stored, the informer
//     syncs, and the one is reported and quarantined.
//   - When the transform fails for a new version of an object and there is
//     another watch-list: handlers are told that the object, which lives, was
//     deleted. Here: its last good version stays, marked stale.
//   - When a handler stands still while one object changes for ever: every
//     update waits in memory, without bound. Here: up to a stated bound all
//     wait, beyond it the updates of a key fold; adds and deletes never do.
//     (https://github.com/kubernetes/kubernetes/issues/137314,
//     https://github.com/kubernetes/client-go/issues/1326)
//   - When a relist finds an object as it was: handlers get an Update from the
//     object to itself. Here: nobody is told; who wants to hear of every object
//     asks for a resync.
//   - When an object of a list is not of the expected type: it is stored, since
//     only watched objects are looked at. Here: it is reported and left out, as
//     a watched one is.
//   - When a watch neither ends when it was asked to nor brings anything, as
//     one that died unnoticed: it is waited for, without end. Here: it is given
//     up, and the next goes on from where it was.
//   - When a server fails for an hour: waits grow, but begin anew at 0.8 s
//     every two minutes. Here: waits grow to 30 to 60 s and stay there.
//   - When a handler panics: the process ends without a word of which object.
//     Here: the process ends, and the panic names handler and key.
//   - When a list not older than what a reflector has is refused, as that
//     version is gone: the latest state is asked for in one piece. Here: it is
//     asked for in pages.
//   - When pages are asked for (WatchListPageSize), and everything has to be
//     listed again: a list names the version alone, which servers take for that
//     very one. Here: it asks for a state not older than that.
//   - When an index function gives an error: the write panics. Here: the object
//     is stored, absent from that index, and the error is reported.
//   - When somebody writes into what GetIndexers returned: it is the live map,
//     without its lock. Here: it is a copy.
//   - When a store is read while a write is at work: the read waits for the
//     write. Here: reads wait for no index function.
//   - When what was added to a MutationCache with IncludeAdds is read by key:
//     it is forgotten with the first read. Here: it stays for its time.
//   - When a process function cannot process an item now: ErrRequeue and
//     AddIfNotPresent are gone: the item is lost. Here: ErrRequeue puts it
//     back.
//   - When a key is deleted from a FIFO and added again: it has its old place,
//     and the queue grows with every Add and Delete. Here: it goes to the end.
//   - When what is left of a FIFO's first batch is deleted: it has not synced
//     until something else is popped. Here: it has synced.
//   - When the last deltas of the first batch are being processed: a DeltaFIFO
//     says that it has synced. Here: it says so when they have been.
//   - When a DeltaFIFO's Replace fails in the middle: what came before is
//     queued. Here: all or nothing.
//   - When the first write to a DeltaFIFO has a key error: it counts as the
//     first write, so that the queue has synced. Here: it changes nothing.
//
// # Keys
//
// Keys are strings in this package and a [store.Key] below it; see keys.go.
package cache
