// Package reflector keeps a [Sink] equal to a source.Source: it lists, watches,
// and goes on whatever fails in between.
//
// # What it guarantees
//
//   - Eventual equality (guarantee 1 of the design). Once the server's state
//     stops changing and the server can be reached, the sink receives a state
//     that equals it.
//   - Never backwards across lists (2). Within a watch, events are applied in
//     the order in which they arrive. Within an epoch, a list that is older than
//     the sink's state is never published: the reflector lists again at once,
//     consistently. If four consistent lists in a row are older, which takes
//     6 to 11 s, the server was restored, and the sink gets one Replace with
//     epoch set. Versions are compared as package resourceversion does; if
//     they have no order, the list that arrives last counts.
//   - Nothing is lost silently (7). An object that could not be decoded
//     reaches the sink as an item with Err set. So does an object whose identity
//     could not be read, with a zero Key, and it is reported. Status then says
//     Degraded until a relist, which the reflector schedules, is complete.
//   - A list is published whole, at its end, at one version (10). If the source
//     reports when a watch is open, as a ListerWatcher does, the list waits for the
//     watch that follows it, at most a second: a watch of client-go's fakes never sends
//     what was deleted before it was open.
//   - A refusal is not a deletion (11). On 401, 403 and 404 the sink's state
//     stays, Status and Options.OnError report the error, and the reflector
//     retries.
//
// # Order
//
// Every event of a watch is applied in the order of arrival, whatever its version.
// The version of the last event is the sink's: [Status] shows it, and the next watch
// begins at it. Versions decide only whether a list is older than what the sink
// holds.
//
// A kube-apiserver sends nothing on a watch at or below the version that the watch
// began at, and no version lower than one before. Other sources do: fakes, whose
// lists and objects have versions of their own; aggregated servers that number each
// object separately, or send a delete with the version of an earlier state; in-memory
// servers that restart with new numbering. The first event that goes back is
// reported, as [ErrOutOfOrder]. From then on until the next list, versions have no
// order: events are applied as before, nothing more is reported except in the case
// below, and that list is published whatever its version. It orders later versions, so that an older list is
// noticed again.
//
// A live watch is not cut short because of this, and no list overrides its events:
// the list of a fake may be a fixed one, and ending the watch of a test would break
// the test. In one case a list follows once the watch has ended. If the first event
// on a resumed watch goes back, the server does not know the version at which that
// watch was resumed. It may have been restarted, and no watch tells what it lost.
// Status says Degraded meanwhile; the list begins a new epoch, with [ErrRestored].
// Such a server's new versions count as an order, until one of them goes back in
// turn, so that a replica of it that lags is noticed as well. The reflector asks for
// watches of at most Options.WatchTimeoutMax (10 minutes) and ends this one 30 s
// later if it still goes on, so that is the bound.
//
// If the first event on a watch that directly follows its list is below that list, the
// server may have restarted between the two. A fake with a fixed list looks the same,
// and another list would remove what its events added. Status says Degraded until the
// watch has ended, within the same bound, and a probe (see below) tells: a fixed list
// has the same version again, and is not asked for. Any other answer leads to a list,
// and one below the last list to a new epoch. Versions that each object has of its own
// look like that as well, so a reflector asks three times at most, until the resource
// was gone. A watch that goes back only after it has gone forward asks for nothing.
//
// # Relists
//
// The reflector lists again only in these cases:
//
//   - the server says that the version is gone (410), or that it cannot read
//     from its storage what follows the version (a StoreReadError, as when a
//     corrupt object was deleted);
//   - an Error event has no status, which no server sends;
//   - the resource itself was gone (404);
//   - only a list can recover what was lost;
//   - watches are refused.
//
// A watch that was open, and ends or is reset, leads to another watch from the version
// that it had reached. A watch is refused if it never opens, whatever the error is. One
// that made no progress counts as refused as well, since the next may fare no better, if
// an Error event breaks it off, if it ends or is reset within a second, or if what comes
// cannot be read or exceeds a limit. After the first refusal the reflector waits and
// watches again: a server that restarts has lost nothing. After the second it lists, and
// from then on there is one list for each wait, 30 to 60 s apart, until a watch is open
// again: so a role with list but not watch is followed by polling, and Status names the
// refused watch all the while. If that list fails as well, the next wait leads to a
// watch. A server that throttles, or says when to come again, is listed only after a
// minute, and one that refuses connections after five.
//
// A watch that lasts a second or more and is then broken off or goes silent, each time and
// with nothing new in it, is not told from one on which nothing happens, which proxies cut
// as well: it leads to no list, as in client-go. Nor does one that was never answered; but
// then Status fails until one is, after which a list follows if the server is not known to
// have a history.
//
// If the objects are read by a client, which may be a fake, the first refusal leads to a
// list, since a fake does not send what happened before a watch.
//
// Initial events are streamed (KEP-3157) if the source and the server support it. If a
// stream fails, whatever the error is, a paged list follows, at once unless the server
// throttles or refuses connections. An answer that streams are not supported is
// remembered for the life of the reflector, or until the resource was gone in between,
// since another server may serve it then. A stream that makes no progress for
// Options.InitialEventsProgress is replaced by a paged list, and streaming is tried
// again with a list that is due an hour or more later. Bookmarks that do not mark the
// end are no progress.
//
// # Restored backups
//
// A kube-apiserver whose etcd was restored accepts a watch from a version that it has
// not reached again. It sends nothing on it, not even a bookmark, until its version
// has passed that one, and goes on from there: changes written in between are never
// sent. So the reflector looks for signs. A list, an event and a bookmark show that
// the server has reached the sink's version. If the last sign is two minutes old, the
// reflector asks the server for its version before it resumes a watch, with a probe:
// a consistent list of one object. A resumed watch without a sign for two minutes is
// ended to send a probe. An older answer leads to a consistent list, and four of
// those to a new epoch, as above.
//
// The sink therefore follows a restored server once it answers: within 2 minutes and
// 15 seconds if the connections broke, as they do when a control plane is restored;
// within 11 minutes if a proxy kept the watch open, which ends at its timeout. Add
// the time that the lists take, up to half a minute more if a probe gets no answer,
// and 5 s if the server was restored to just the version of the last list, or up to a
// minute if a ListerWatcher asks. Waits between requests that fail are at most a
// minute, or what the server asks for with Retry-After and half a minute more.
//
// Two cases cannot be noticed in this way. A server may have passed the sink's
// version before it was asked, by as many writes as the backup lacks. A
// kube-apiserver that was not restarted with its etcd answers from its watch caches
// with objects that no longer exist, even to consistent lists. Versions look fine in
// both cases, and only contents differ: kinglet's ConsistencyCheck finds them. An
// operator avoids both with the flags --bump-revision and --mark-compacted of
// "etcdutl snapshot restore": the server then answers watches from earlier versions
// with 410, and a list follows at once.
//
// A watch with a bookmark a minute, or with events, costs no probe. Without either
// there is one probe a watch: 6 to 12 an hour, each of one object. A server that
// ignores the limit and sends everything, or has left two probes in a row without an
// answer, is probed once an hour at most. A refused probe is reported, and the watch
// is resumed; if the server is throttling or has an error of its own, only after
// three tries. With a Retry-After of one second the three tries take at most 4 s. A
// ListerWatcher's client may retry each of them ten times.
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
// cannot be told from a false alarm. If the server ends that next watch as it should,
// and no bookmark came on it either, a list follows, and the interval is learned anew.
//
// Where a server sends no bookmarks, only a watch that is idle past the timeout
// that was asked for (5 to 10 minutes) is given up, 30 s later.
//
// This costs a watch one runtime timer, which it needs anyway and which fires once in
// that time, and no goroutine.
//
// # How it is built
//
// Package machine, internal to this one, is the protocol: a state machine that
// imports neither time nor context nor randomness. [Reflector.Run] is its driver: it
// sends requests, keeps time and hands data to the sink, without knowing the
// protocol. Run's goroutine makes all calls of Sink methods, Source methods and the
// callbacks in Options.
//
// Locks: the driver's mutex guards the copy of the state that Status reads; a
// request's deadline has one of its own. Neither is held during a call out of
// this package, nor together with the other.
package reflector
