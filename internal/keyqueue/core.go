package keyqueue

import (
	"math"
	"time"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// core decides what a key does next. It has no lock, no goroutine and no clock:
// each method is told the time, in nanoseconds that never go back.
//
// Invariant: each record is in one heap, by its state: waiting, the pace's
// line (Paced), its class's (Queued), none (Running, Again).
type core[K comparable] struct {
	table   table[K]
	records slab[K]

	waiting heap
	pace    pace
	classes classes[K]
	order   Order[K] // nil: the classes' heaps
	// atTheEnd is Options.AgainAtTheEnd.
	atTheEnd bool

	// heads are the head starts of delayed runs that have one.
	heads map[uint32]time.Duration
	// headOf is Options.HeadStart. With it, priorities has the priorities of keys'
	// next runs that are not 0, and heads is not used.
	headOf     func(priority int) time.Duration
	priorities map[uint32]int
	observer   Observer[K]
	// failures are those of the keys whose last run failed.
	failures map[uint32]Failure

	// stamp is the last time of enqueueing, which rises with each, so that keys
	// of equal head starts are served first in, first out.
	stamp   int64
	queued  int
	running int
	// again counts the running keys that will run once more.
	again int
	// ages counts the queued keys by when they entered the queue.
	ages ages
	// adds counts runs that were asked for; retries counts those of keys that had
	// failed.
	adds, retries uint64

	// mostFailures, mostHeads and mostPriorities are the most entries that the maps
	// have had.
	mostFailures, mostHeads, mostPriorities int

	// forgotten counts the keys forgotten since the memory was last adjusted; most is
	// the most records since then.
	forgotten, most int
}

// add enqueues a key with the given hash, or moves it forward if it waits or is queued
// already. It reports whether the key entered the queue.
func (c *core[K]) add(now int64, hash uint64, key K, o AddOptions) (ready bool) {
	slot, _, ok := c.table.find(hash, key, &c.records)
	if !ok {
		slot = c.insert(hash, key, o.Class)
	}
	r := c.records.at(slot)
	if c.headOf != nil {
		o.Head = c.raise(slot, r, o.Priority)
		if r.state == Queued || r.state == Again {
			o.After = 0 // the run comes first; it may come earlier
		}
	}
	if o.After > 0 {
		c.delay(now, slot, r, o)
		return false
	}
	switch r.state {
	case Running:
		if mutant.On(mutant.LoseAdd) {
			break
		}
		c.drop(slot)
		r.state, r.since, r.cause = Again, since(now, o.Head), o.Cause
		r.at = c.enqueueTime(now, o.Head)
		c.again++
		c.asked(slot, r)
	case Again:
		if at := c.enqueueTime(now, o.Head); at < r.at {
			r.at = at
			r.since.headed()
		}
	case Queued:
		if c.order != nil {
			c.order.Touch(key)
		} else if at := c.enqueueTime(now, o.Head); at < r.at {
			r.cause = o.Cause
			r.since.headed()
			c.records.hurry(&c.classes.list[r.class].ready, slot, at)
		}
	default:
		c.unwait(slot, r)
		r.cause = o.Cause
		c.enqueue(now, slot, r, o.Head)
		return true
	}
	return false
}

// delay schedules a later run of the key, unless it runs sooner anyway.
func (c *core[K]) delay(now int64, slot uint32, r *record[K], o AddOptions) {
	at := later(now, o.After)
	switch r.state {
	case Queued, Again, Paced: // the run that comes first would end the delay
		return
	case Running:
		if at >= r.at {
			return
		}
		r.at = at
	case Waiting:
		if (at >= r.at) != mutant.On(mutant.LaterWins) {
			return
		}
		r.at = at
		c.records.fix(&c.waiting, slot)
	default:
		c.wait(now, slot, r, at)
	}
	r.cause = o.Cause
	c.setHead(slot, o.Head)
}

// later returns the time a positive d after now, or the latest time on overflow.
func later(now int64, d time.Duration) int64 {
	at := now + int64(d)
	if at < now { // overflow
		at = never
	}
	return min(at, never-1)
}

func (c *core[K]) setHead(slot uint32, head time.Duration) {
	if c.headOf != nil {
		return
	}
	if head == 0 {
		delete(c.heads, slot)
		return
	}
	if c.heads == nil {
		c.heads = map[uint32]time.Duration{}
	}
	c.heads[slot] = head
	c.mostHeads = max(c.mostHeads, len(c.heads))
}

// slotOf returns the slot of a key that is not absent.
func (c *core[K]) slotOf(key K) (uint32, bool) {
	slot, _, ok := c.table.find(c.table.hash(key), key, &c.records)
	return slot, ok
}

// insert makes a record without a state.
func (c *core[K]) insert(hash uint64, key K, class string) uint32 {
	slot := c.records.take()
	r := c.records.at(slot)
	*r = record[K]{key: key, at: never, class: c.classes.of(class)}
	c.table.insert(hash, slot)
	c.most = max(c.most, c.records.used)
	return slot
}

// forget removes a record that is in no heap.
func (c *core[K]) forget(hash uint64, slot uint32, r *record[K]) {
	c.drop(slot)
	if len(c.failures) > 0 {
		delete(c.failures, slot)
	}
	c.takePriority(slot)
	_, place, _ := c.table.find(hash, r.key, &c.records)
	c.table.remove(hash, place)
	c.classes.left(r.class)
	c.records.release(slot)
	if c.forgotten++; c.forgotten >= shrinkAfter {
		c.forgotten = 0
		c.table.shrink(2*c.most + chunkSize)
		c.records.shrink(2*c.most + chunkSize)
		c.most = c.records.used
		c.failures, c.mostFailures = shrunk(c.failures, c.mostFailures)
		c.heads, c.mostHeads = shrunk(c.heads, c.mostHeads)
		c.priorities, c.mostPriorities = shrunk(c.priorities, c.mostPriorities)
	}
}

// shrinkAfter is how many keys are forgotten before the memory is adjusted to the need
// since the last adjustment, so that a queue that fills and empties does not allocate.
const shrinkAfter = 4096

// drop forgets the head start of a delayed run.
func (c *core[K]) drop(slot uint32) {
	if len(c.heads) > 0 && !mutant.On(mutant.StaleHead) {
		delete(c.heads, slot)
	}
}

func (c *core[K]) enqueueTime(now int64, head time.Duration) int64 {
	c.stamp = max(now, c.stamp+1)
	if mutant.On(mutant.NoHeadStart) {
		head = 0
	}
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
func (c *core[K]) enqueue(now int64, slot uint32, r *record[K], head time.Duration) {
	r.at = c.enqueueTime(now, head)
	r.since = since(now, head)
	c.drop(slot)
	c.asked(slot, r)
	c.toQueue(now, slot, r)
}

// asked counts a run of a key that was asked for.
func (c *core[K]) asked(slot uint32, r *record[K]) {
	if c.observer != nil {
		c.observer.Added(r.key, c.priorities[slot])
	}
	c.adds++
	if len(c.failures) > 0 && c.failures[slot].Count > 0 {
		c.retries++
	}
}

func (c *core[K]) toQueue(now int64, slot uint32, r *record[K]) {
	r.state = Queued
	r.since.tick(c.ages.add(ticks(max(now, c.stamp))))
	c.queued++
	if c.order != nil {
		c.order.Push(r.key)
		return
	}
	c.classes.push(&c.records, slot, r.class)
}

func (c *core[K]) wait(now int64, slot uint32, r *record[K], at int64) {
	r.at, r.state, r.since = at, Waiting, since(now, 0)
	c.records.push(&c.waiting, slot)
}

// unwait removes a key from the heap of waiting keys.
func (c *core[K]) unwait(slot uint32, r *record[K]) {
	switch r.state {
	case Waiting:
		c.records.remove(&c.waiting, slot)
	case Paced:
		c.records.remove(&c.pace.line, slot)
	}
}

// advance enqueues the keys that are due, and returns how many entered the queue.
func (c *core[K]) advance(now int64) (ready int) {
	for len(c.waiting.slots) > 0 {
		slot := c.waiting.slots[0]
		r := c.records.at(slot)
		if r.at > now {
			break
		}
		c.records.pop(&c.waiting)
		if mutant.Ninth(mutant.LoseDue) {
			c.forget(c.table.hash(r.key), slot, r)
			continue
		}
		if f, failed := c.failures[slot]; failed && !f.exact && c.pace.limited() {
			c.hold(now, slot, r, f.Count)
			continue
		}
		c.enqueue(now, slot, r, c.headStart(slot))
		ready++
	}
	for {
		slot, ok := c.deal(now)
		if !ok {
			return ready
		}
		c.enqueue(now, slot, c.records.at(slot), c.headStart(slot))
		ready++
	}
}

// lenQueued returns how many keys are queued.
func (c *core[K]) lenQueued() int {
	if c.order != nil {
		return c.order.Len()
	}
	return c.queued
}

// next returns when advance must be called next, or never.
func (c *core[K]) next() int64 {
	at := c.pace.next()
	if len(c.waiting.slots) > 0 {
		at = min(at, c.records.at(c.waiting.slots[0]).at)
	}
	return at
}

// take begins the run of the next key, and returns how long the key waited for it, and
// its priority.
func (c *core[K]) take(now int64) (slot uint32, waited time.Duration, priority int, ok bool) {
	if c.order != nil {
		slot, ok = c.takeOrdered()
	} else {
		slot, ok = c.classes.pop(&c.records)
	}
	if !ok {
		return 0, 0, 0, false
	}
	r := c.records.at(slot)
	waited = time.Duration(max(0, now-r.asked()))
	c.unqueued(r)
	c.running++
	r.state, r.since, r.at = Running, since(now, 0), never
	priority = c.takePriority(slot)
	if c.observer != nil {
		c.observer.Taken(r.key, priority)
	}
	return slot, waited, priority, true
}

// unqueued uncounts a queued key.
func (c *core[K]) unqueued(r *record[K]) {
	c.queued--
	c.ages.remove(r.since.ticks())
}

// takeOrdered asks the caller's Order. It ignores a key that the order was not given,
// since to return one is a fault of the order.
func (c *core[K]) takeOrdered() (uint32, bool) {
	for c.order.Len() > 0 {
		key := c.order.Pop()
		slot, ok := c.slotOf(key)
		if ok && c.records.at(slot).state == Queued {
			return slot, true
		}
	}
	return 0, false
}

// finish ends the run of a key with the given hash, and returns how many keys entered
// the queue.
func (c *core[K]) finish(now int64, hash uint64, slot uint32, took time.Duration, res Result) (ready int) {
	r := c.records.at(slot)
	if c.observer != nil {
		c.observer.Finished(r.key)
	}
	c.running--
	r.took = spanOf(took)
	if c.order == nil {
		c.classes.finished(r.class, took)
	}
	if res.Err != nil && !res.Terminal {
		if c.failures == nil {
			c.failures = map[uint32]Failure{}
		}
		c.failures[slot] = Failure{Count: c.failures[slot].Count + 1, Err: res.Err, exact: res.Exact}
		c.mostFailures = max(c.mostFailures, len(c.failures))
	} else if len(c.failures) > 0 && !mutant.On(mutant.KeepFailure) {
		delete(c.failures, slot)
	}
	if r.state == Again {
		c.again--
		if c.atTheEnd {
			r.at, r.since = c.enqueueTime(now, 0), since(now, 0)
		}
		c.toQueue(now, slot, r)
		return 1
	}
	retry := (res.After > 0 || res.Err != nil) && (!res.Terminal || mutant.On(mutant.RetryTerminal))
	if at := later(now, max(res.After, 0)); retry && at < r.at {
		r.at, r.cause = at, res.Cause
		c.setHead(slot, res.Head)
	}
	if r.at == never {
		c.forget(hash, slot, r)
		return 0
	}
	c.wait(now, slot, r, r.at)
	return c.advance(now)
}

// cancel forgets a delay, a queued run or a run after the one under way, and
// reports whether there was one.
func (c *core[K]) cancel(key K) bool {
	hash := c.table.hash(key)
	slot, _, ok := c.table.find(hash, key, &c.records)
	if !ok {
		return false
	}
	r := c.records.at(slot)
	switch r.state {
	case Running, Again:
		asked := r.at != never
		if r.state == Again {
			c.again--
		}
		r.state, r.at = Running, never
		c.drop(slot)
		c.takePriority(slot)
		return asked
	case Queued:
		if c.order != nil {
			return false
		}
		c.unqueued(r)
		c.classes.remove(&c.records, slot, r.class)
	default:
		if mutant.On(mutant.KeepCancelled) {
			return true
		}
		c.unwait(slot, r)
	}
	c.forget(hash, slot, r)
	return true
}
