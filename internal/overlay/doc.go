// Package overlay merges the writes of a program into reads of a store that does not
// show them yet. Package ownwrites keeps its state.
//
// # What lives here
//
// An [Overlay] is a few entries by key: the object in the server's answer to a write,
// or the UID of a deleted object. It is immutable; each method that changes something
// returns another one. A [View] is a store's snapshot merged with an overlay. Every
// read of an informer that has entries goes through one.
//
// # What a read shows
//
// A snapshot has the version of each scope, and an entry is in the scope of its key. An
// object that was written at a later version replaces the snapshot's object under its
// key. An object that was written at that version or before is ignored: the snapshot
// shows the same or something newer. So reads are right from the moment the store
// publishes a version, with the entry or without it, and an entry may be removed at any
// later time without a gap.
//
// A removal hides the object with its UID. For most removals a version is known at
// which the object still existed. With a snapshot before that version, reads show
// nothing under the key, since any object there is older than the deleted one.
//
// # When an entry ends
//
//   - An entry ends when the version of the scope has reached that of the entry, or
//     the held object is as new. A removal ends when the object is no longer held and
//     the version has reached one at which it existed, or when a change was its
//     delete.
//   - Where versions cannot be compared (KEP-5504), an entry ends with the next
//     change of its key.
//   - An object that could not be decoded does not count as seen, although the version
//     has passed it: its entry is pinned until something newer is held.
//
// Package overlay has no locks, no clock and no goroutines. An Overlay and a View
// are safe for concurrent use.
package overlay
