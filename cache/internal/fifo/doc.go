// Package fifo has the queues behind those of package cache: [FIFO] pops the newest
// object of each key, [DeltaFIFO] everything that happened to a key since it was last
// popped, and [Journal], behind RealFIFO, every change in the order of the writes.
// kinglet's own informers do not use them.
//
// # Guarantees
//
//   - In a FIFO and a DeltaFIFO each key has one entry, and entries are popped
//     in the order in which their keys were queued. In a Journal each change
//     has one, and they are popped in the order of the writes.
//   - At most one process function has a key at a time: later changes of that
//     key wait, whatever the number of consumers. Different keys may be
//     processed at the same time, except in a Journal, which waits for one
//     process function before it calls the next.
//   - Process functions run without the queue's lock. They may use every
//     method of the queue, and producers do not wait for them. Package cache
//     adds the lock that client-go's process functions run under.
//   - A key in flight, passed to a process function that has not returned, still
//     counts as present. So a deletion that is found out meanwhile is not lost,
//     although the key is neither queued nor, yet, among the known objects.
//   - A write that fails because of the key function or the transform changes
//     nothing; a Replace is all or nothing.
//   - Every wait ends with its context, and Close wakes all of them. What waits
//     at Close can still be popped; ErrClosed comes after it.
//   - Synced is reported after the process functions of the first batch have
//     returned. The first batch is that of the first Replace, or empty if any
//     other write came first.
//
// # Bounds
//
// FIFO holds one object a key. Journal holds every change that has not been popped.
// DeltaFIFO holds keys × deltas: its contract folds only adjacent deletes, so a key
// that changes a thousand times while nobody pops has a thousand deltas. There is no
// back-pressure. A queue that becomes empty after it was large frees its memory.
//
// # Lock order
//
// Every method may be called from any goroutine and from process functions. Writers
// call key and transform functions without the lock. A DeltaFIFO and a Journal query
// their [Known] objects with the lock held, since nothing in flight may finish
// between the query and the write that follows from it. So the order is queue, then
// known objects: Known must not call the queue, and the queue must not be called with
// a lock that Known takes.
//
// # Files
//
// intake.go finds the key of an object and transforms it, for all three. line.go is
// the pure part of FIFO and DeltaFIFO: order, flight and first batch, without locks
// or channels; queue.go drives it. record.go is the pure part of Journal. gate.go is
// where all of them lock, wait and process: one mutex, one channel to wake consumers.
package fifo
