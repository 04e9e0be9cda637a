// Package keyqueue is a work queue of keys, under the workers of package
// controller and the queues of package workqueue.
//
// # What a key does
//
// A key is absent, waiting, paced, queued, running, or running and to run again.
// There is one record of it, in one of those states, and none of a key that is
// absent:
//
//	            Add             Add, delayed         due       taken     ended
//	absent      queued          waiting
//	waiting     queued          the earlier time     queued
//	paced       queued
//	queued                                                     running
//	running     again           waits when ended                         absent, or waiting
//	again                                                                queued
//
// So a key never runs twice at once, an Add during a run makes exactly one more, a
// run that begins ends the delays that were asked for before, and the memory is
// that of keys that have something before them. A key that failed waits for its
// next try, and is paced first if there is a limit of all retries together.
//
// # Order
//
// Keys are served by the time when they were enqueued, less their head start. As
// all of them age alike the order of two keys never changes, and a key waits at
// most the difference of two head starts longer than first in, first out would
// have it: there is no starvation. With classes that holds in each class, and
// classes are served by what their runs cost (classes.go).
//
// # What lives here
//
// core.go has the rules, without lock, goroutine or clock; queue.go the lock,
// the waits and the timer. The core stands on a slab of records (slab.go), a
// hash table of their slots (table.go), heaps of them (heap.go), the classes
// (classes.go), the limit of retries (pace.go), the ages of queued keys (ages.go)
// and their priorities, for those who have these and no head starts (priority.go).
// It imports nothing of kinglet's.
//
// # Lock order
//
// There is one lock. An [Order] and an [Observer] are called under it, and must
// not call the queue.
package keyqueue
