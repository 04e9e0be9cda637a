package keyqueue

import (
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/internal/wallclock"
)

// Queue is a work queue of keys; see the documentation of the package. All methods
// are safe for concurrent use; only Take and CloseAndDrain wait for keys or runs. It
// has no goroutine: a timer's function runs when a delay is over.
type Queue[K comparable] struct {
	clock Clock

	mu sync.Mutex
	// runnable is signalled for each key that enters the queue, and broadcast when
	// Take must check the flags below again.
	runnable sync.Cond
	// ended is broadcast when the last run under way has ended.
	ended sync.Cond

	core core[K] // guarded by mu
	// held keeps keys from being taken.
	held bool // guarded by mu
	// released is when held ended; guarded by mu.
	released int64
	// closed: no key is accepted; Take returns the queued keys, and then false.
	closed bool // guarded by mu
	// stopped: Take returns false at once.
	stopped bool // guarded by mu
	// draining is set while CloseAndDrain waits; Close and Stop clear it.
	draining bool // guarded by mu

	// alarm is the timer that calls wake at alarmAt; alarmAt is never while there
	// is none.
	alarm   Timer // guarded by mu
	alarmAt int64 // guarded by mu
}

// Options of a queue. The zero value is a queue in order of enqueueing.
type Options[K comparable] struct {
	// Clock is the system's if it is nil.
	Clock Clock
	// Order replaces the order in which keys are served, which is by the time of
	// enqueueing minus the head start. It is called under the queue's lock. With it,
	// head starts are ignored and a queued key cannot be cancelled.
	Order Order[K]
	// AgainAtTheEnd enqueues a key that was added during its run when the run ends,
	// without a head start, instead of when it was added.
	AgainAtTheEnd bool
	// Observer, if not nil, is called when keys are added, taken and finished.
	Observer Observer[K]
	// HeadStart, if not nil, returns the head start of a priority; a higher priority
	// must not have a shorter head start. AddOptions.Priority is then used instead of
	// Head, and a run has the highest priority with which its key was added since its
	// last run began. It is called under the queue's lock.
	HeadStart func(priority int) time.Duration
}

// Order is a queue like the Queue interface of client-go's package workqueue.
type Order[K comparable] interface {
	// Touch is called when a key in the queue is added again.
	Touch(K)
	Push(K)
	Len() int
	Pop() K
}

// Observer is called under the queue's lock, so it needs no lock of its own.
// Priorities are 0 in a queue without Options.HeadStart.
type Observer[K comparable] interface {
	// Added: the key now has a next run and had none: it was added without a delay,
	// or its delay is over.
	Added(key K, priority int)
	// Raised: the priority of the next run has changed.
	Raised(key K, from, to int)
	// Taken: the run begins.
	Taken(key K, priority int)
	// Finished: the run has ended.
	Finished(K)
}

// New returns an empty queue.
func New[K comparable](o Options[K]) *Queue[K] {
	q := &Queue[K]{clock: o.Clock, alarmAt: never}
	if q.clock == nil {
		q.clock = systemClock{time.Now()}
	}
	q.runnable.L, q.ended.L = &q.mu, &q.mu
	q.core = core[K]{order: o.Order, atTheEnd: o.AgainAtTheEnd, observer: o.Observer, headOf: o.HeadStart}
	return q
}

// Add enqueues a key to run once, now or after a delay. A key runs once however often
// it is added before its run begins, and once more if it is added during the run.
// Add reports whether the queue accepts the key: it does not after Close or Stop, nor
// if the key does not equal itself.
func (q *Queue[K]) Add(key K, o AddOptions) bool {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.stopped {
		return false
	}
	ready, ok := q.core.add(now, key, o)
	if ready {
		q.runnable.Signal()
	} else if o.After > 0 {
		q.setAlarmLocked(now)
	}
	return ok
}

// Run is a run of a key by a worker.
type Run[K comparable] struct {
	Key K
	// Failures is how often the key failed since it last succeeded.
	Failures int
	// Priority is 0 in a queue without [Options.HeadStart].
	Priority int
	// Cause is that of the [AddOptions] or [Result] that asked for the run.
	Cause uint8

	// Waited is the time since the run was asked for: the key was queued and, before
	// that, perhaps running. It begins when the queue was last held.
	Waited time.Duration

	record *record[K]
	began  int64
}

// Take waits for the next key and begins its run. It returns false when the queue is
// stopped, or is closed and has no keys that may run.
func (q *Queue[K]) Take() (Run[K], bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if q.stopped {
			return Run[K]{}, false
		}
		if !q.held {
			if run, ok := q.takeLocked(); ok {
				return run, true
			}
		}
		if q.closed {
			return Run[K]{}, false
		}
		q.runnable.Wait()
	}
}

func (q *Queue[K]) takeLocked() (Run[K], bool) {
	if q.core.lenQueued() == 0 {
		return Run[K]{}, false // the clock need not be read
	}
	now := q.clock.Now()
	r, waited, priority := q.core.take(now)
	if r == nil {
		return Run[K]{}, false
	}
	run := Run[K]{
		Key: r.key, Cause: r.cause, Priority: priority, Waited: min(waited, time.Duration(now-q.released)), record: r, began: now,
	}
	if len(q.core.failures.entries) > 0 {
		run.Failures = q.core.failures.entries[r].Count
	}
	return run, true
}

// Finish ends a run that Take began, and returns how long it took. It must be called
// once for each run.
func (q *Queue[K]) Finish(run Run[K], res Result) (took time.Duration) {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.finishLocked(now, run.record, res)
	return time.Duration(now - run.began)
}

// Done ends the run of a key, with success. It does nothing if the key does not
// run.
func (q *Queue[K]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.core.records.entries[key]; r != nil && r.state.running() {
		q.finishLocked(q.clock.Now(), r, Result{})
	}
}

func (q *Queue[K]) finishLocked(now int64, r *record[K], res Result) {
	for range q.core.finish(now, r, res) {
		q.runnable.Signal()
	}
	q.setAlarmLocked(now)
	if q.core.running == 0 {
		q.ended.Broadcast()
		if q.closed {
			q.runnable.Broadcast()
		}
	}
}

// Cancel forgets a delay, a queued run, or the run after the one under way. It
// reports whether there was one. It forgets as well that the key failed for good.
func (q *Queue[K]) Cancel(key K) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.core.cancel(key)
}

// setAlarmLocked sets the timer to the next time at which a key is due. A timer
// that fires too early is left alone, since wake sets it again.
func (q *Queue[K]) setAlarmLocked(now int64) {
	at := q.core.waiting.next()
	if at >= q.alarmAt || q.closed {
		return
	}
	q.alarmAt = at
	d := time.Duration(max(at-now, 0))
	if q.alarm == nil {
		q.alarm = q.clock.AfterFunc(d, q.wake)
	} else {
		q.alarm.Reset(d)
	}
}

// wake enqueues the keys that are due.
func (q *Queue[K]) wake() {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.alarmAt = never
	if q.closed {
		return
	}
	for range q.core.advance(now) {
		q.runnable.Signal()
	}
	q.setAlarmLocked(now)
}

// Hold stops keys from being taken while held is true. Runs under way continue.
func (q *Queue[K]) Hold(held bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held && !held {
		q.released = q.clock.Now()
	}
	q.held = held
	if !held {
		q.runnable.Broadcast()
	}
}

// Close refuses keys from now on. Those in the queue are still served.
func (q *Queue[K]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closeLocked(false)
}

// CloseAndDrain is Close, and then waits until nothing runs. Close and Stop end the
// wait.
func (q *Queue[K]) CloseAndDrain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closeLocked(true)
	for q.core.running > 0 && q.draining {
		q.ended.Wait()
	}
}

// Stop is Close, and no key can be taken any more. Queued and waiting keys stay for
// inspection.
func (q *Queue[K]) Stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	q.closeLocked(false)
}

// closeLocked refuses keys. Waits of CloseAndDrain go on only if draining is true.
func (q *Queue[K]) closeLocked(draining bool) {
	q.closed, q.draining = true, draining
	if q.alarm != nil {
		q.alarm.Stop()
		q.alarmAt = never
	}
	q.runnable.Broadcast()
	q.ended.Broadcast()
}

// Closed reports whether the queue refuses keys.
func (q *Queue[K]) Closed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Clock is the queue's source of time.
type Clock interface {
	// Now returns nanoseconds since a fixed moment. It never goes back.
	Now() int64
	// Time returns the wall-clock time of a value that Now returned.
	Time(ns int64) time.Time
	// AfterFunc calls f after d, in a new goroutine or in one that does not hold
	// the queue's lock.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call of AfterFunc.
type Timer interface {
	Stop() bool
	Reset(time.Duration) bool
}

type systemClock struct{ began time.Time }

func (c systemClock) Now() int64                                { return int64(time.Since(c.began)) }
func (c systemClock) Time(ns int64) time.Time                   { return wallclock.At(c.began, time.Duration(ns)) }
func (c systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
