package deliver

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// Registration is one handler of a Hub; kinglet.Registration has the contract of its
// methods. They never block for longer than a Commit, and are safe for concurrent use,
// also inside the handler.
type Registration[T any] struct {
	hub     *Hub[T]
	handler Handler[T]
	opts    HandlerOptions

	// synced is closed once the initial replay has been handled.
	synced chan struct{}
	// done is closed once no call is under way and none will begin.
	done chan struct{}
	// wake holds at most one token: there is something to look at.
	wake chan struct{}

	// batch holds the changes of a call. It belongs to the handler's goroutine
	// and keeps its memory from call to call.
	batch []store.Change[T]
	// keep, once made, fires when the goroutine is to free memory.
	keep *time.Timer
	// last is when the last call returned, 0 if the goroutine has since done anything
	// other than dequeue the next changes. It belongs to the handler's goroutine, and
	// halves the clock readings of a busy one.
	last time.Duration

	// period is that of resyncs in nanoseconds, 0 for none. An idle goroutine is
	// woken when it changes; a busy one reads it after each call.
	period atomic.Int64

	mu sync.Mutex

	// The fields below are guarded by mu.

	queue queue[T]
	// replay is the rest of the initial replay. Invariant: once it has begun, the
	// queue holds the changes since.
	replay replay[T]
	flight flight
	counts counts
	// exceptions are keys that this handler has received and others have not, or the
	// other way round.
	exceptions exceptions
	// idle: the goroutine waits for wake.
	idle bool
	// ended: no further call begins, and nothing more is queued.
	ended bool
	// err is why it ended; nil for Remove and for the end of the hub.
	err error
	// removed: Remove was called.
	removed bool
	// cancel ends the handler's context; nil until it has a goroutine.
	cancel context.CancelCauseFunc
}

// flight is the call under way.
type flight struct {
	// records is how many records, or objects of the replay or a resync.
	records int
	// key is that of the first change.
	key store.Key
	// before is the value of DeliveredThrough until the call returns, if holds is set.
	before string
	holds  bool
	// since is when it began, on the hub's clock; 0 if none is under way.
	since time.Duration
}

func newRegistration[T any](h *Hub[T], handler Handler[T], opts HandlerOptions) *Registration[T] {
	r := &Registration[T]{
		hub: h, handler: handler, opts: opts,
		synced: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1),
		queue: newQueue[T](opts),
	}
	r.period.Store(int64(opts.Resync))
	return r
}

// Exported methods without a comment are those of kinglet.Registration.

func (r *Registration[T]) Name() string            { return r.opts.Name }
func (r *Registration[T]) Synced() <-chan struct{} { return r.synced }
func (r *Registration[T]) Done() <-chan struct{}   { return r.done }

func (r *Registration[T]) HasSynced() bool {
	select {
	case <-r.synced:
		return true
	default:
		return false
	}
}

func (r *Registration[T]) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *Registration[T]) Pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.len() + r.replay.left
}

func (r *Registration[T]) InFlight() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.flight.records
}

// DeliveredThrough returns the newest version of the collection through which the
// handler has returned from every change, or from one that it was folded into. While
// changes are pending or being handled, it is the version before the first of them: a
// record counts as handled when all of it is, a call when it returns. It is empty
// until the initial replay has been handled.
func (r *Registration[T]) DeliveredThrough() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.throughLocked()
}

func (r *Registration[T]) throughLocked() string {
	switch {
	case !r.replay.handled:
		return ""
	case r.flight.holds:
		return r.flight.before
	}
	return r.queue.through()
}

// Remove ends the registration: no further call begins, pending changes are
// dropped, and the handler's context ends with ErrRemoved as its cause. It does not
// wait for a call that has begun, since it may be called inside the handler; Done is
// closed when that call has returned. A call has begun once its changes are off the
// queue. Remove may be called at any time and any number of times.
func (r *Registration[T]) Remove() {
	r.mu.Lock()
	r.removed = true
	r.mu.Unlock()
	if r.end(nil) {
		r.hub.forget(r)
	}
}

// end marks the registration as ended for the given reason. It returns true if no
// goroutine will remove it from the hub's list.
func (r *Registration[T]) end(reason error) (orphan bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return false
	}
	r.err = reason
	r.endLocked()
	if r.cancel == nil {
		close(r.done)
		return true
	}
	cause := ErrRemoved
	if reason != nil {
		cause = errors.Join(ErrRemoved, reason)
	}
	r.cancel(cause)
	return false
}

// endLocked drops what is pending; DeliveredThrough stays where it was.
func (r *Registration[T]) endLocked() {
	r.ended = true
	r.queue.version = r.queue.through()
	r.queue.release()
	r.replay.snapshot, r.replay.left = nil, 0
}

// orphan reports whether r has ended without ever having had a goroutine.
func (r *Registration[T]) orphan() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended && r.cancel == nil
}

// push queues the changes between the versions before and after. The error is an
// *OverflowError; some of the changes are then queued and some are not.
func (r *Registration[T]) push(changes []store.Change[T], before, after string, clock *stamper) error {
	hint := len(changes)
	for len(changes) > pushChunk {
		// The changes of a list have one version, which is reached with the last
		// of them. So the chunk includes the change after it.
		var err error
		if before, err = r.pushChunk(changes[:pushChunk+1], pushChunk, hint, before, "", clock); err != nil {
			return err
		}
		changes = changes[pushChunk:]
	}
	_, err := r.pushChunk(changes, len(changes), hint, before, after, clock)
	return err
}

// pushChunk queues the first n of changes; hint is how many there are in all. It
// returns the version before the change that follows. If after is not empty, it is
// the version after all of them.
func (r *Registration[T]) pushChunk(changes []store.Change[T], n, hint int, before, after string, clock *stamper) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return before, nil
	}
	r.queue.grow(hint)
	var at stamp
	if !r.idle && n > 0 {
		at = clock.read()
	}
	for i := range n {
		c := &changes[i]
		received := c
		if c.ByHand || len(r.exceptions) > 0 {
			received = asReceived(r.exceptions, c)
		}
		if received != nil && !r.queue.push(received, before, at) {
			return before, &OverflowError{Handler: r.opts.Name, Bound: r.opts.Bound, Key: c.Key}
		}
		reached := i+1 == len(changes) || changes[i+1].ResourceVersion != c.ResourceVersion
		if reached && c.ResourceVersion != "" {
			before = c.ResourceVersion
		}
	}
	if after != "" {
		r.queue.version = after
	}
	r.wakeLocked()
	return before, nil
}

// wakeLocked wakes the goroutine if it waits and has something to do.
func (r *Registration[T]) wakeLocked() {
	if r.queue.len() > 0 || r.replay.snapshot != nil {
		r.signalLocked()
	}
}

// signalLocked wakes the goroutine if it waits. A token that is left over from an
// earlier time suffices.
func (r *Registration[T]) signalLocked() {
	if !r.idle {
		return
	}
	r.idle = false
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// stuck returns a *StuckHandlerError if the handler has not ended.
func (r *Registration[T]) stuck(after time.Duration) error {
	select {
	case <-r.done:
		return nil
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &StuckHandlerError{Handler: r.opts.Name, Key: r.flight.key, After: after}
}

func (r *Registration[T]) Removed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.removed
}
