// Package keyqueue is the work queue of keys that packages controller, ctrlruntime and
// workqueue build on.
//
// # What a key does
//
// A key is absent, waiting, queued, running, running and to run again, or failed for
// good. It has one record, in one of those states; an absent key has none:
//
//	            Add             Add, delayed         due       taken     ended
//	absent      queued          waiting
//	waiting     queued          the earlier time     queued
//	queued                                                     running
//	running     again           waits when ended                         absent, waiting or failed
//	again                                                                queued
//	failed      queued          waiting
//
// So a key never runs twice at once, and an Add during a run causes exactly one more
// run. A run that begins ends earlier delays of its key. Only keys that run, are to run
// or failed for good use memory, and at most 1024 of the last kind are remembered.
//
// # Order
//
// Keys are served in the order of their enqueueing time minus their head start. All
// keys age alike, so the order of two keys never changes. There is no starvation: a
// key waits longer than in a first-in, first-out queue by at most the difference of
// two head starts.
//
// # What lives here
//
// core.go has the rules, without lock, goroutine or clock; queue.go has the lock, the
// waits and the timer, and status.go what can be seen. heap.go has what the rules keep
// records in: a heap by time, a map that gives memory back, and the queued keys.
//
// # Lock order
//
// There is one lock. An [Order] and an [Observer] are called under it, and must
// not call the queue.
package keyqueue
