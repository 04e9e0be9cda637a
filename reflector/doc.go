// Package reflector keeps a [Sink] equal to a source.Source: it lists, watches,
// and goes on whatever fails in between.
//
// # What it guarantees
//
//   - Eventual equality (guarantee 1 of the design). Once the server's state
//     stops changing and the server can be reached, the sink was told a state
//     that equals it.
//   - Never backwards across lists (2). Within a watch, events are applied in
//     the order in which they arrive. Within an epoch, a list that is older than
//     the sink's state is never published: it is asked for again at once,
//     consistently. When four consistent lists in a row are older, which takes
//     6 to 11 s, the server was restored, and the sink gets one Replace with
//     epoch set. Versions are compared as package resourceversion does; where
//     they have no order, the list that arrives last counts.
//   - Nothing is lost silently (7). An object that could not be decoded
//     reaches the sink as an item with Err set. An object whose identity could
//     not be read does so too, with a zero Key, and is reported; Status then
//     says Degraded until a relist, which the reflector arranges, is whole.
//   - Lists are published whole, at their end, at one version (10).
//   - What the server refuses is not what it deleted (11). On 401, 403 and 404
//     the sink's state stays, Status and Options.OnError tell, and the
//     reflector retries.
//
// # Order
//
// The stream is the truth. Every event of a watch is applied, in the order of
// arrival, whatever its version, and the version of the last one is the sink's:
// it is what [Status] shows, and what the next watch begins at. Versions decide
// only between answers: whether a list is older than what the sink holds.
//
// A kube-apiserver sends nothing on a watch at or below the version that the
// watch began at, and no version lower than one before. Other sources do: fakes,
// whose lists and objects have versions of their own; aggregated servers that
// number each object separately, or send a delete with the version of an earlier
// state; servers in memory that were restarted and number anew. The first event
// that goes back is reported, as [ErrOutOfOrder]. From then on until the next
// list, versions count for no order: events are applied as before, nothing more
// is reported, and that list is published whatever its version. It orders what
// follows it, so that an older list is noticed again.
//
// A live watch is not cut short because of this, and no list taken over what it
// says: the list of a fake may be a fixed one, and one that a test stops hearing
// is a test that fails. There is one case in which a list follows once the watch
// has ended. If the first event on a resumed watch goes back, the server does
// not know the version which that watch was asked to go on from. It may have
// been restarted, and what it lost by that no watch tells. Status says Degraded
// meanwhile; the list begins a new epoch, with [ErrRestored]. Such a server's new
// versions count as an order, until one of them goes back in turn, so that a
// replica of it that lags is noticed as well. The reflector asks for watches of
// at most Options.WatchTimeoutMax (10 minutes) and leaves this one 30 s later if
// it still goes on, so that is the bound. A watch that directly follows its list
// is not resumed, and neither is one that goes back only after it has gone forward.
//
// # Relists
//
// The reflector lists again only if the server said that the version is gone
// (410) or that it cannot read from its storage what follows the version (a
// StoreReadError, as when a corrupt object was deleted), if an Error event has no
// status, which no server sends, if the resource itself was gone (404), if what
// was lost can only be told by a list, or if the server, though it answers,
// refuses or breaks off the watch at one version three times in a row. Server
// errors, refused and reset connections, throttling and the ordinary end of a
// watch lead to another watch from the same version.
//
// Initial events are streamed (KEP-3157) if the source and server can. A
// server's refusal is remembered for the life of the reflector, or until the
// resource was gone in between, since another server may be behind it then. A
// stream that makes no progress for Options.InitialEventsProgress is left for a
// paged list, and tried again with a list that is due an hour or more later.
// Bookmarks that do not mark the end are no progress.
//
// # Restored backups
//
// A kube-apiserver whose etcd was restored accepts a watch from a version that
// it has not come to again. It sends nothing on it, no bookmark either, until
// its version has passed that one, and goes on from there: what was written in
// between is never told. So the reflector goes by signs. A list, an event and a
// bookmark show that the server has come as far as the sink. Where the last sign
// is two minutes old, a watch is not resumed before the server was asked for its
// version, with a probe: a consistent list of one object. A resumed watch on
// which no sign comes for two minutes is ended for it. An older answer leads to
// a consistent list, and four of those to a new epoch, as above.
//
// A restored server is therefore followed, once it answers: within 2 minutes and
// 15 seconds if the connections broke, as they do when a control plane is
// restored; within 11 minutes if a proxy kept the watch open, which ends at its
// timeout. To this comes the time that the lists take, up to half a minute more
// where a probe is left without an answer, and 5 s where the server was restored to
// just the version of the last list, or up to a minute if a ListerWatcher asks. Waits
// between requests that fail are at most a minute.
//
// What cannot be noticed in this way: a server that has passed the sink's
// version before it was asked, by as many writes as the backup lacks; and a
// kube-apiserver that was not restarted with its etcd, since it answers from its
// watch caches what no longer exists, to consistent lists too. Versions look
// fine in both cases, and only contents differ: kinglet's ConsistencyCheck finds
// them. An operator avoids both with the flags --bump-revision and
// --mark-compacted of "etcdutl snapshot restore": watches from versions of
// before are then answered with 410, and followed by a list at once.
//
// A watch with a bookmark a minute, or with events, costs no probe. Without
// either there is one a watch: 6 to 12 an hour, each of one object. A server
// that ignores the limit and sends everything, or has left two probes in a row
// without an answer, is probed once an hour at most. A refused probe is reported,
// and the watch resumed, after three tries where the server is throttling or has
// an error of its own. With a Retry-After of one second the three tries
// take at most 8 s. A ListerWatcher's client may retry each of them ten times.
//
// An answer at exactly the version of the last list may be the fixed list of a
// fake. A second probe then asks for a state not older than the sink's. A fake
// repeats its answer, which is ignored; a restored server answers 504. No probe is
// sent where versions have no order. Status.Probes counts probes.
//
// # Idle watches
//
// The source notices a dead peer: see package source. A watch may also go idle
// behind a proxy that still answers, pings and all. So the reflector learns how
// often the server sends bookmarks: the longest of the last 16 to 31 intervals on
// any of its watches, once it has seen three. A watch on which neither an event
// nor a bookmark comes for three such intervals (and at least 15 s) is followed by
// another one from the same version: no list, no wait, no error, only
// Status.SilentWatches. Time in which the sink is busy does not count.
//
// If what was missed comes at once on the next watch, the last one was dead.
// Otherwise it may have been alive, and its idle time counts as an interval from
// then on: a false alarm costs one watch, and the next idle timeout is three times
// as long. The same holds for a watch that was dead while nothing changed, which
// cannot be told from a false alarm.
//
// Where a server sends no bookmarks, only a watch that is idle past the timeout
// that was asked for (5 to 10 minutes) is given up, 30 s later.
//
// This costs a watch one timer of the runtime's, which it had before and which
// fires once in that time, and no goroutine.
//
// # How it is built
//
// Package machine, internal to this one, is the protocol: a state machine that
// imports neither time nor context nor randomness. [Reflector.Run] is its
// driver: it sends requests, keeps time, and hands data to the sink, and knows
// nothing of the protocol. Sink methods, Source methods and the callbacks in
// Options are all called from the goroutine of Run.
//
// Locks: the driver's mutex guards the copy of the state that Status reads; a
// request's deadline has one of its own. Neither is held during a call out of
// this package, nor together with the other.
package reflector
