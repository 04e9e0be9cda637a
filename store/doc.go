// Package store keeps typed objects by key, in order and in any number of
// indexes, and hands out snapshots of them in O(1).
//
// # What holds
//
// Reads do not wait for iteration, writes do not wait for readers: a Snapshot
// is consistent over the objects and every index, never changes and may be
// kept; taking a fresh one waits for at most one operation that the writer is
// making in place. Once a write has returned, every read sees it. A list that
// replaces a scope is seen whole or not at all. An object for which an index
// function fails or panics is stored and absent from that index, and the write
// returns why.
//
// # What lives here
//
//	key.go, change.go, index.go   the types that the other packages share
//	options.go, store.go          Store and how it is made
//	write.go, replace.go          what a write does
//	read.go, snapshot.go, span.go Reader, of the store and of one version
//	handover.go                   how versions pass from writer to readers
//	blocks.go, freeslots.go       slot → object, and slots to use again
//	hints.go                      key → slot, a hash table for all versions
//	fingerprint.go                what a key is known by in it
//	node.go, tree.go              slots in key order, a B+tree
//	front.go, keybytes.go         what a node keeps of keys, and their order
//	bulk.go, treebuilder.go,      what a Replace builds anew
//	indexerbulk.go, slotbits.go
//	indexer.go, valuetrie.go,     value → slots, and for the writer
//	slotset.go                    slot → values
//	check.go                      the consistency checker
//
// It imports internal/mutant alone of kinglet's, starts no goroutine, and everything in it
// may be called from anywhere, except that key, index, scope and equality
// functions must not write to the store that calls them. They may read it.
//
// # Locks
//
// Store.mu is held through every write, user functions included, and by
// Check. Nothing else is locked: readers meet the writer at the state of the
// latest version, see handover.go.
package store
