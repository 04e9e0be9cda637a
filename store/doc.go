// Package store keeps typed objects by key, in order and in any number of
// indexes, and hands out snapshots of them in O(1).
//
// # What holds
//
// Reads do not wait for iteration, and writes do not wait for readers. A Snapshot is
// consistent over the objects and every index, never changes and may be kept. Taking a
// fresh one waits for at most one operation that the writer is making in place. Once a
// write has returned, every read sees it. A list that replaces a scope is seen whole or
// not at all. If an index function fails or panics for an object, the object is stored but
// absent from that index, and the write returns the error.
//
// # What lives here
//
//	key.go, change.go, index.go   the types that the other packages share
//	options.go, store.go          Store and how it is made
//	write.go, replace.go          what a write does
//	read.go, snapshot.go, span.go Reader, of the store and of one version
//	handover.go                   how versions pass from writer to readers
//	blocks.go, freeslots.go       slot → object, sets of slots, and slots to use again
//	hints.go                      key → slot, a hash table for all versions
//	fingerprint.go                the hash that identifies a key in it
//	node.go, tree.go              slots in key order, a B+tree
//	front.go, keybytes.go         what a node keeps of keys, and their order
//	bulk.go, treebuilder.go,      what a Replace rebuilds
//	indexerbulk.go
//	indexer.go, valuetrie.go,     value → slots, and for the writer
//	slotset.go                    slot → values
//	check.go                      the consistency checker
//
// It starts no goroutine, and everything in it is safe for concurrent use. Key, index,
// scope and equality functions may read the store that calls them, but must not write to
// it.
//
// # Locks
//
// Store.mu is held through every write, user functions included, and by Check and Removed.
// There is no other lock: readers and the writer synchronise through the state of the
// latest version, see handover.go.
package store
