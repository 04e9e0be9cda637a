// Package kinglet keeps live, indexed, typed, local copies of Kubernetes
// objects and calls you when they change: the informers of client-go's
// tools/cache, rebuilt with Go's type parameters.
//
// An [Informer] joins four stages, through which objects move from left to
// right, in batches:
//
//	API server ─▶ source ─▶ reflector ─▶ store ─▶ deliver ─▶ your handlers
//
// Make one from a [source.Source], add handlers and indexes, and Run it; a
// [Set] runs many. [Informer.Store] reads the latest state at any time,
// [Informer.Snapshot] one version of it.
//
// # Guarantees
//
// Each is tested by a test that is named after it.
//
//  1. Eventual equality. Once the server's state stops changing and is
//     reachable, the store equals it, whatever failed in between.
//  2. Per-key order. The states of one key that the store shows are a
//     subsequence of the server's. Within one watch the order of arrival is the
//     server's order, whatever the versions are. Versions decide between answers:
//     a relist from a lagging server does not set the store, or its version,
//     back. This holds within an epoch. A server that was restored from a backup,
//     or restarted in memory, begins a new epoch, which is reported, within 11
//     minutes even if the server only keeps silent (package reflector describes
//     how, and what cannot be noticed). Resource versions are compared as KEP-5504
//     allows; where they are not numbers, the list that arrives last counts.
//  3. Reads do not wait for iteration, and writes do not wait for readers. A
//     snapshot is consistent over the objects and every index, immutable, and
//     safe to keep. When a write returns, the next read sees it.
//  4. Handlers see a legal history: Added, then any number of Updated, then
//     Deleted, per key, for every handler, in order. The Old of an Updated and the
//     Last of a Deleted are what the handler received last. A handler registered late
//     gets the current state as Added first. A key deleted and created again
//     is Deleted then Added, also when both happened out of sight (the UID
//     differs). A delete that was missed has FinalStateUnknown set. The delete of
//     a key that a handler received is never lost.
//  5. Bounded memory for slow handlers. At most one record per key is pending
//     for a handler; later changes fold into it. A stalled handler delays no
//     other. A handler may request every version, with a bound.
//  6. Synced means synced. HasSynced of a [Registration] is true only after
//     that handler has returned from every object of the initial list. The error
//     of a wait names the informer and its last error.
//  7. Nothing is dropped silently, and nothing alive is torn down by a bug.
//     An object that cannot be decoded, keyed, transformed or indexed is
//     counted and reported with its identity, and the stream continues. The last
//     good version stays, listed by [Informer.Quarantined].
//  8. Returned objects are read-only. They are shared by all readers and
//     handlers, and share memory with each other. A [MutationDetection] finds
//     writes to them.
//  9. Run owns everything. Constructors start no goroutine; Run returns after
//     all of them have ended, handlers included, and names a handler that does
//     not end.
//  10. The store is never behind the handler. When a handler is called, store
//     and indexes show that change or a later one. A list is published
//     atomically, at one resource version.
//  11. What the server refuses is not what the server deleted. On 401, 403, or
//     404 of the resource after a sync the objects stay, phase and error are
//     shown, and the informer retries.
//  12. Own writes are in every read. A write that the program records with an
//     informer ([Informer.Wrote], [OwnWrites]) is in every following read, without
//     waiting, until the watch has passed it. After two minutes reads drop it,
//     which is reported. A late answer brings nothing back. Handlers get the change
//     from the watch alone. A new epoch of the server's versions ends this at once,
//     and so may an object that left a selector and came back while the watch was
//     behind.
//
// # Locks
//
// The only user code that runs under locks of an informer is key, UID, index and equality
// functions. internal/engine has the order of its locks.
package kinglet
