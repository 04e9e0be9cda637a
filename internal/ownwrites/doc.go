// Package ownwrites keeps what an informer has been told that the program wrote,
// until the source shows it.
//
// # What lives here
//
// A [Writes] belongs to one informer. It holds an overlay (package overlay, which
// has the rules and no state), the version that the source has brought the store
// to, and those who wait for a version: the overlay and the version change
// together. The informer's sink calls it in each step, the informer when the
// program has written and when somebody reads.
//
//	writes.go   the overlay and the version, and what changes them
//	read.go     reads of the store that include what was written
//	expiry.go   the timer of the oldest entry
//	wait.go     waits for a version
//
// # Locks
//
// Writes.mu is taken inside the locks of the hub and of the store, and held for
// O(entries). Reads take no lock. Options.Report is called under none.
package ownwrites
