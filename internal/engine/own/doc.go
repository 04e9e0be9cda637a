// Package own keeps the writes that a program records with an informer until the source
// shows them, and merges them into reads of the store.
//
// # What lives here
//
// A [Writes] belongs to one informer. It has an overlay, which is the one list of pending
// writes, the scopes of the informer's sources, each with the version that the store has
// reached, and the waits. An informer of one source has one scope. Overlay and versions
// change together. The informer's sink calls the Writes in each step; the informer calls
// it to record a write and to read. A [View] is a snapshot of the store merged with the
// overlay.
//
//	entry.go    what is pending under one key, and what a read of it shows
//	overlay.go  the entries of all keys, and how writes and the watch change them
//	writes.go   the overlay in use, its clock and its limit
//	scopes.go   the scopes and their versions
//	wait.go     waits for a version, and for writes
//	view.go     reads of several keys, and by index
//
// An overlay is immutable; entry.go and overlay.go have no locks, no clock and no
// goroutines.
//
// # What a read shows
//
// No read shows a state that is older than the program's last write. A snapshot has the
// version of each scope. An object that was written at a later version replaces the
// snapshot's object under its key; one that was written at that version or before is
// ignored, since the snapshot shows the same or something newer. So reads are right from
// the moment the store publishes a version, with the entry or without it, and an entry
// may be removed at any later time without a gap.
//
// A deleted object never comes back, so a removal hides its UID. The server does not say
// at which version it deleted the object. But a key has one object at a time: with one
// version at which the object existed (its bound), every other object is older before
// that version and newer after it. Where no such version is known, the caller asks the
// server what is under the key now. Reads before the version of its answer show no other
// object than that.
//
// # When a read has to wait
//
// An entry is unsure where that is not enough: a write of which only the version is
// known, a deletion that may only have marked the object, and, if the server could not be
// asked, the removal of an object that the informer has never seen, while it holds another
// one under the key.
// [Writes.AwaitWrites] waits until the watch has shown what happened. A read that does
// not wait shows what the watch has shown, with the newest object that was written.
//
// # When an entry ends
//
//   - A write ends when the version of the scope has reached its own, or the held object
//     is as new. Where versions cannot be compared (KEP-5504), it ends with the next
//     change of its key. An object that could not be decoded does not count as seen,
//     although the version has passed it: its entry is pinned until something newer is
//     held, or the object is gone.
//   - A removal ends when another object is held after its bound, or none. Where objects
//     leave the collection without being deleted (a label selector), none is no proof:
//     the removal stays, done, until its time is over.
//   - What ends by time, by the limit, by a new epoch or with its scope is reported.
//
// # Locks
//
// See package engine.
package own
