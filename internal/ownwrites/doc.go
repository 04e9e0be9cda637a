// Package ownwrites keeps the writes that a program records with an informer until the
// source shows them.
//
// # What lives here
//
// A [Writes] belongs to one informer. It has an overlay (package overlay has the
// rules and no state), the scopes of the informer's sources, each with the version that
// the store has reached, and the waits for a version. An informer of one source has one
// scope. Overlay and versions change together. The informer's sink calls the Writes
// in each step; the informer calls it to record a write and to read.
//
//	writes.go   the overlay, and how it changes
//	scopes.go   the scopes and their versions
//	read.go     reads of the store that include own writes
//	expiry.go   the timer of the oldest entry
//	wait.go     waits for a version
//
// # Locks
//
// Writes.mu is taken inside the hub's lock, and held for O(entries). Reads take no
// lock. Options.Report is called under none.
package ownwrites
