// Package keyqueue is the work queue of keys that packages controller and workqueue
// build on.
//
// # What a key does
//
// A key is absent, waiting, paced, queued, running, or running and to run again.
// It has one record, in one of those states; an absent key has none:
//
//	            Add             Add, delayed         due       taken     ended
//	absent      queued          waiting
//	waiting     queued          the earlier time     queued
//	paced       queued
//	queued                                                     running
//	running     again           waits when ended                         absent, or waiting
//	again                                                                queued
//
// So a key never runs twice at once, and an Add during a run causes exactly one more
// run. A run that begins ends earlier delays of its key. Only keys that run or are to
// run use memory. A key that failed waits for its retry; with a limit on all retries
// together it is then paced before it is queued.
//
// # Order
//
// Keys are served in the order of their enqueueing time minus their head start. All
// keys age alike, so the order of two keys never changes. There is no starvation: a
// key waits longer than in a first-in, first-out queue by at most the difference of
// two head starts. With classes this holds within each class, and classes are served
// by the cost of their runs (classes.go).
//
// # What lives here
//
// core.go has the rules, without lock, goroutine or clock; queue.go has the lock,
// the waits and the timer. The core uses a slab of records (slab.go), a hash table of
// their slots (table.go), heaps of slots (heap.go), the classes (classes.go), the
// limit on retries (pace.go), the ages of queued keys (ages.go) and, in queues that
// have priorities instead of head starts, their priorities (priority.go).
//
// # Lock order
//
// There is one lock. An [Order] and an [Observer] are called under it, and must
// not call the queue.
package keyqueue
