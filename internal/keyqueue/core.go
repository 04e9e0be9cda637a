package keyqueue

import (
	"math"
	"time"
)

// core decides what a key does next. It has no lock, no goroutine and no clock:
// each method is told the time, in nanoseconds that never go back.
//
// Invariant: each record is in one collection, by its state: waiting, queued (unless
// there is an order), failed, or none (Running, Again).
type core[K comparable] struct {
	records peakMap[K, *record[K]]
	// free are records to use again.
	free []*record[K]

	waiting, failed byTime[K]
	queued          queued[K]
	// order replaces the heap of queued keys if it is not nil.
	order Order[K]
	// atTheEnd is Options.AgainAtTheEnd, and headOf is Options.HeadStart.
	atTheEnd bool
	headOf   func(priority int) time.Duration
	observer Observer[K]

	// failures are those of the keys whose last run failed.
	failures peakMap[*record[K], Failure]

	// stamp is the last time of enqueueing, which rises with each, so that keys
	// of equal head starts are served first in, first out.
	stamp   int64
	running int
	// again counts the running keys that will run once more.
	again int
	// adds counts runs that were asked for; retries counts those of keys that had
	// failed.
	adds, retries uint64
}

const (
	// mostFree bounds free.
	mostFree = 1024
	// mostFailed bounds the keys that failed for good and are remembered; the one that
	// failed first is forgotten first.
	mostFailed = 1024
)

// add enqueues a key, or moves it forward if it waits or is queued already. It reports
// whether the key entered the queue, and whether it is a key at all.
func (c *core[K]) add(now int64, key K, o AddOptions) (ready, ok bool) {
	r := c.records.entries[key] // panics for what is no key of a map
	if key != key {             // not a number: it would never be found again
		return false, false
	}
	if r == nil {
		r = c.insert(key)
	}
	if c.headOf != nil {
		o.Head = c.raise(r, o.Priority)
		if r.state == Queued || r.state == Again {
			o.After = 0 // the run comes first; it may come earlier
		}
	}
	if o.After > 0 {
		c.delay(now, r, o)
		return false, true
	}
	switch r.state {
	case Running:
		r.state, r.since, r.cause = Again, now, o.Cause
		r.at = c.enqueueTime(now, o.Head)
		c.again++
		c.countAdd(r)
	case Again:
		r.at = min(r.at, c.enqueueTime(now, o.Head))
	case Queued:
		if c.order != nil {
			c.order.Touch(key)
		} else if at := c.enqueueTime(now, o.Head); at < r.at {
			r.at, r.cause = at, o.Cause
			c.queued.moved(r)
		}
	default:
		c.leaveHeap(r)
		r.cause = o.Cause
		c.enqueue(now, r, o.Head)
		return true, true
	}
	return false, true
}

// raise sets the priority of a key's next run if it is higher than the present one,
// and returns the head start of the higher of the two.
func (c *core[K]) raise(r *record[K], priority int) time.Duration {
	// A key that is absent or failed, or runs and was not added since, has no next run.
	if none := r.state == 0 || r.state == Failed || r.state == Running && r.at == never; none {
		r.rank = int64(priority)
	} else if had := int(r.rank); priority > had {
		r.rank = int64(priority)
		if c.observer != nil && (r.state == Queued || r.state == Again) {
			c.observer.Raised(r.key, had, priority)
		}
	}
	return c.headOf(int(r.rank))
}

// priority returns that of the key's next run.
func (c *core[K]) priority(r *record[K]) int {
	if c.headOf == nil {
		return 0
	}
	return int(r.rank)
}

// delay schedules a later run of the key, unless it runs sooner anyway.
func (c *core[K]) delay(now int64, r *record[K], o AddOptions) {
	at := later(now, o.After)
	switch r.state {
	case Queued, Again: // the run that comes first would end the delay
		return
	case Running:
		if at >= r.at {
			return
		}
		r.at = at
	case Waiting:
		if at >= r.at {
			return
		}
		r.at = at
		c.waiting.moved(r)
	default:
		c.leaveHeap(r)
		c.wait(now, r, at)
	}
	c.setDelayed(r, o.Cause, o.Head)
}

// setDelayed sets the cause and the head start of a delayed run.
func (c *core[K]) setDelayed(r *record[K], cause uint8, head time.Duration) {
	r.cause = cause
	if c.headOf == nil {
		r.rank = int64(head)
	}
}

// later returns the time a positive d after now, or the latest time on overflow.
func later(now int64, d time.Duration) int64 {
	at := now + int64(d)
	if at < now { // overflow
		at = never
	}
	return min(at, never-1)
}

// insert makes a record without a state.
func (c *core[K]) insert(key K) *record[K] {
	var r *record[K]
	if n := len(c.free); n > 0 {
		r, c.free = c.free[n-1], c.free[:n-1]
	} else {
		r = &record[K]{}
	}
	r.key, r.at = key, never
	c.records.set(key, r)
	return r
}

// forget removes a record that is in no heap.
func (c *core[K]) forget(r *record[K]) {
	c.succeeded(r)
	c.records.delete(r.key)
	*r = record[K]{arrived: r.arrived}
	if len(c.free) < mostFree {
		c.free = append(c.free, r)
	}
}

// succeeded forgets the failures of a key.
func (c *core[K]) succeeded(r *record[K]) {
	if len(c.failures.entries) > 0 {
		c.failures.delete(r)
	}
}

func (c *core[K]) enqueueTime(now int64, head time.Duration) int64 {
	c.stamp = max(now, c.stamp+1)
	at := c.stamp - int64(head)
	switch {
	case head < 0 && at < c.stamp: // overflow
		at = never
	case head > 0 && at > c.stamp:
		at = math.MinInt64
	}
	return min(at, never-1)
}

// enqueue puts a key that is in no heap in the queue.
func (c *core[K]) enqueue(now int64, r *record[K], head time.Duration) {
	r.at, r.since = c.enqueueTime(now, head), now
	c.countAdd(r)
	c.toQueue(now, r)
}

// countAdd counts a run of a key that was asked for.
func (c *core[K]) countAdd(r *record[K]) {
	if c.observer != nil {
		c.observer.Added(r.key, c.priority(r))
	}
	c.adds++
	if len(c.failures.entries) > 0 && c.failures.entries[r].Count > 0 {
		c.retries++
	}
}

func (c *core[K]) toQueue(now int64, r *record[K]) {
	r.state = Queued
	if c.order != nil {
		c.order.Push(r.key)
		return
	}
	c.queued.push(now, r)
}

func (c *core[K]) wait(now int64, r *record[K], at int64) {
	r.at, r.state, r.since = at, Waiting, now
	c.waiting.push(r)
}

// fail remembers a key that is not retried.
func (c *core[K]) fail(now int64, r *record[K]) {
	r.at, r.state, r.since = now, Failed, now
	c.failed.push(r)
	if len(c.failed) > mostFailed {
		c.forget(c.failed.pop())
	}
}

// leaveHeap removes a key from the heap of the waiting keys, or of the failed ones.
func (c *core[K]) leaveHeap(r *record[K]) {
	switch r.state {
	case Waiting:
		c.waiting.remove(r)
	case Failed:
		c.failed.remove(r)
	}
}

// advance enqueues the keys that are due, and returns how many entered the queue.
func (c *core[K]) advance(now int64) (ready int) {
	for len(c.waiting) > 0 && c.waiting.next() <= now {
		r := c.waiting.pop()
		head := time.Duration(r.rank)
		if c.headOf != nil {
			head = c.headOf(int(r.rank))
		}
		c.enqueue(now, r, head)
		ready++
	}
	return ready
}

// lenQueued returns how many keys are queued.
func (c *core[K]) lenQueued() int {
	if c.order != nil {
		return c.order.Len()
	}
	return c.queued.len()
}

// take begins the run of the next key, and returns how long the key waited for it and
// its priority; nil if there is no key.
func (c *core[K]) take(now int64) (r *record[K], waited time.Duration, priority int) {
	if c.order != nil {
		r = c.takeOrdered()
	} else {
		r = c.queued.pop()
	}
	if r == nil {
		return nil, 0, 0
	}
	c.running++
	waited, priority = time.Duration(max(0, now-r.since)), c.priority(r)
	r.state, r.since, r.at, r.rank = Running, now, never, 0
	c.queued.trim()
	if c.observer != nil {
		c.observer.Taken(r.key, priority)
	}
	return r, waited, priority
}

// takeOrdered asks the caller's Order. It ignores a key that the order was not given,
// since to return one is a fault of the order.
func (c *core[K]) takeOrdered() *record[K] {
	for c.order.Len() > 0 {
		if r := c.records.entries[c.order.Pop()]; r != nil && r.state == Queued {
			return r
		}
	}
	return nil
}

// finish ends the run of a key, and returns how many keys entered the queue.
func (c *core[K]) finish(now int64, r *record[K], res Result) (ready int) {
	if c.observer != nil {
		c.observer.Finished(r.key)
	}
	c.running--
	if res.Err != nil {
		c.failures.set(r, Failure{Count: c.failures.entries[r].Count + 1, Err: res.Err})
	} else {
		c.succeeded(r)
	}
	if r.state == Again {
		c.again--
		if c.atTheEnd {
			r.at = c.enqueueTime(now, 0)
		}
		c.toQueue(now, r)
		return 1
	}
	retry := (res.After > 0 || res.Err != nil) && !res.Terminal
	if at := later(now, max(res.After, 0)); retry && at < r.at {
		r.at = at
		c.setDelayed(r, res.Cause, res.Head)
	}
	switch {
	case r.at != never:
		c.wait(now, r, r.at)
		return c.advance(now)
	case res.Err != nil:
		c.fail(now, r)
	default:
		c.forget(r)
	}
	return 0
}

// cancel forgets a delay, a queued run or a run after the one under way, and
// reports whether there was one. It forgets as well that a key failed for good.
func (c *core[K]) cancel(key K) bool {
	r := c.records.entries[key]
	if r == nil {
		return false
	}
	wanted := r.state != Failed
	switch r.state {
	case Running, Again:
		wanted = r.at != never
		if r.state == Again {
			c.again--
		}
		r.state, r.at, r.rank = Running, never, 0
		return wanted
	case Queued:
		if c.order != nil {
			return false
		}
		c.queued.remove(r)
		r.state = 0
		c.queued.trim()
	default:
		c.leaveHeap(r)
	}
	c.forget(r)
	return wanted
}
