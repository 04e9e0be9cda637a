// Package fifo holds three queues of keyed objects between producers that learn
// of changes and consumers that work through them: [FIFO], which hands out the
// newest object of each key, [DeltaFIFO], which hands out everything that
// happened to a key since it was last handed out, and [Journal], which hands out
// every change by itself, in the order of the writes. They are the typed form
// of what package cache offers as FIFO, DeltaFIFO and RealFIFO; kinglet's own
// informers do not run on them.
//
// # What is guaranteed
//
//   - In a FIFO and a DeltaFIFO a key has one entry, and entries are handed out
//     in the order in which their keys came to wait. In a Journal each change
//     has one, and they are handed out in the order in which they were written.
//   - One key is never in two hands: while a process function has a key, later
//     changes of that key wait, whatever the number of consumers. Different
//     keys may be processed at the same time; not so of a Journal, which waits
//     for one process function before it calls the next.
//   - Process functions run without the queue's lock. They may use every
//     method of the queue, and producers do not wait for them.
//   - A key that is in flight, that is, handed to a process function that has
//     not returned, still counts as there. So a deletion that is found out
//     meanwhile is not lost, though the key is neither waiting nor, yet, among
//     the known objects.
//   - A write that fails for want of a key, or in the transform, changes
//     nothing; a Replace is all or nothing.
//   - Every wait ends with its context, and Close wakes all of them. What waits
//     at Close can still be popped; ErrClosed comes after it.
//   - Synced is reported after the process functions of the first batch have
//     returned. The first batch is the one of the first Replace, or empty if
//     any other write came first.
//
// # Bounds
//
// FIFO holds one object a key. Journal holds every change that nobody has taken.
// DeltaFIFO holds keys × deltas: it folds only
// adjacent deletes, as its contract says, so a key that changes a thousand
// times while nobody pops holds a thousand deltas. Nothing pushes back:
// [DeltaFIFO.DeltaCount] shows how far behind the consumers are. Where a bound
// is needed use an informer, whose handlers' queues fold. When a queue runs
// empty after it was large, it gives the room back.
//
// # Where it differs from client-go v0.37.2
//
//	client-go                                  here
//	process functions run under the lock, so   process functions run without it; a key in
//	writers wait for them, and calling the     flight counts as present. A wrapper that wants
//	queue from one of them deadlocks           writers to wait takes a mutex of its own around
//	                                           its writes and inside its process function
//	a key error in DeltaFIFO.Add counts as     it changes nothing
//	the first write
//	DeltaFIFO.Replace that fails in the        all or nothing
//	middle leaves the front queued
//	DeltaFIFO and its Done channel are synced  after it
//	before the last process function returns
//	FIFO: a key that was deleted while         its place is free; added again, it goes to the
//	waiting keeps its place for ever: the      end. The queue is as long as the number of keys
//	queue grows with every Add and Delete
//	FIFO: deleting what is left of the first   done with that deletion
//	batch leaves HasSynced false until some
//	later object is popped
//	FIFO: a second Replace before the first    the first batch is done when those of its keys
//	batch is popped miscounts it               that are still queued have been popped
//	FIFO.Replace queues in random order        in the order of the list
//	of two deletes of unknown final state      the later one, unless it alone has no object
//	the later one stays
//	an object is transformed under the lock    before it, so concurrent writers transform
//	                                           concurrently; still once, and before queueing
//	ErrRequeue, AddIfNotPresent, and reads of  here (they are in the older contract)
//	DeltaFIFO are gone
//
// # What may be called from where, and lock order
//
// Every method of the queues may be called from any goroutine and from within
// process functions. Key and transform functions are called by writers,
// without the lock. A DeltaFIFO and a Journal ask their [Known] objects with the queue's lock
// held: nothing in flight may finish between the question and what is queued
// because of the answer. So the lock order is queue, then known objects: Known
// must not call the queue, and the queue must not be called by somebody who
// holds a lock that Known takes.
//
// # Inside
//
// line.go is the pure part: order, flight and first batch, without locks or
// channels. queue.go drives it; FIFO and DeltaFIFO put objects and lists of
// deltas into it. record.go is the same for Journal. gate.go is where all of
// them lock and wait: one mutex, one wake-up channel.
package fifo
