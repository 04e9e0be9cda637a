// Package overlay merges what a program wrote itself into reads of a store that
// has not been told of it yet.
//
// # What lives here
//
// An [Overlay] is a few entries by key: the object that the server answered a
// write with, or the UID of one that was deleted. It is immutable; each method
// that changes something returns another one. A [View] is a store's snapshot
// merged with an overlay, and the only place where the two meet: every read of
// an informer goes through it.
//
// # What a read shows
//
// A snapshot has the version of its scope. An object that was written at a later
// version takes the place of what the snapshot holds under its key, whatever
// that is. One that was written at that version or before is not looked at: the
// snapshot shows the same or something newer. So a read is right from the moment
// at which the store publishes a version, whether the entry has gone by then or
// not, and an entry may go at any later time without a gap.
//
// A removal hides the object with its UID. Of most it is also known at which
// version the object still existed: before that, the key is hidden whatever the
// snapshot holds, since it is older than what was deleted.
//
// # When an entry ends
//
//   - The version of the scope has come to that of the entry, or the object that
//     is held is as new. A removal has ended when the object is no longer held
//     and the version has come to one at which it existed, or when a change told
//     of its end.
//   - Versions that cannot be compared (KEP-5504) say nothing of the kind: there
//     an entry ends with the next change of its key.
//   - An object that could not be decoded has not been seen, although the version
//     has passed it: its entry is pinned until something newer is held.
//
// Package overlay has no locks, no clock and no goroutines. An Overlay and a View
// are safe for concurrent use.
package overlay
