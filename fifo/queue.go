package fifo

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// queue drives a line: it locks, waits and wakes. FIFO and DeltaFIFO embed it.
//
// Wake-ups are a token in a channel of one. Invariant: if an entry can be
// taken and no consumer is between receiving the token and taking, then the
// token is in the channel. Every unlock after a change restores it, a
// consumer's own take included, so one token reaches all that wait.
type queue[K comparable, V any] struct {
	mu     sync.Mutex
	line   line[K, V] // guarded by mu
	closed bool       // guarded by mu

	wake    chan struct{}
	closing chan struct{} // closed with closed
	synced  chan struct{} // closed once line.synced() holds
	// merge makes the value that is to wait of one that comes back and a
	// newer one, if there is one. It has to be pure: the lock is held.
	merge func(older V, newer slot[V]) V
}

func (q *queue[K, V]) init(merge func(older V, newer slot[V]) V) {
	q.wake = make(chan struct{}, 1)
	q.closing = make(chan struct{})
	q.synced = make(chan struct{})
	q.merge = merge
}

// Close closes the queue and wakes everybody who waits. What waits in the
// queue, or is written to it later, can still be popped; when nothing does,
// the Pop methods return ErrClosed. Closing again does nothing. It does not
// block.
func (q *queue[K, V]) Close() {
	q.mu.Lock()
	defer q.publish()
	if !q.closed {
		q.closed = true
		close(q.closing)
	}
}

// IsClosed reports whether Close was called.
func (q *queue[K, V]) IsClosed() bool {
	select {
	case <-q.closing:
		return true
	default:
		return false
	}
}

// Synced returns a channel that is closed once HasSynced is true.
func (q *queue[K, V]) Synced() <-chan struct{} { return q.synced }

// HasSynced reports whether the first batch has been popped and its process
// functions have returned, whatever they returned. The first batch is what the
// first Replace queued; it is empty if any other successful write came before.
// Resync is no write in this sense.
func (q *queue[K, V]) HasSynced() bool {
	select {
	case <-q.synced:
		return true
	default:
		return false
	}
}

// Len returns the number of keys that wait. What is in flight does not count.
func (q *queue[K, V]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.line.waiting
}

// ListKeys returns the keys that wait, the next to be popped first. It costs
// O(keys).
func (q *queue[K, V]) ListKeys() []K {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := make([]K, 0, q.line.waiting)
	for e := q.line.head; e != nil; e = e.next {
		keys = append(keys, e.key)
	}
	return keys
}

// publish ends a change: it unlocks, and makes known what the change brought.
func (q *queue[K, V]) publish() {
	wake := q.line.waiting > 0 || q.closed
	if q.line.synced() && !q.HasSynced() {
		close(q.synced)
	}
	q.mu.Unlock()
	if wake {
		select {
		case q.wake <- struct{}{}:
		default:
		}
	}
}

// take waits until at least one entry can be taken and takes up to limit, or
// all that wait if limit is below 1. Each must be settled by a call of run.
func (q *queue[K, V]) take(ctx context.Context, limit int, into []*entry[K, V]) ([]*entry[K, V], error) {
	if ctx.Err() != nil {
		return nil, waitError(ctx)
	}
	for {
		closing := q.closing
		q.mu.Lock()
		n := limit
		if n < 1 {
			n = q.line.waiting
		}
		into = q.line.take(n, into)
		if len(into) > 0 {
			q.publish()
			return into, nil
		}
		if q.closed {
			if q.line.waiting == 0 {
				q.publish() // the next one who waits returns as well
				return nil, ErrClosed
			}
			// All that waits is also in flight. The end of that flight
			// wakes; the closed channel has nothing more to say.
			closing = nil
		}
		// Not publish: waking others for what cannot be taken would make
		// them wake this one in turn.
		q.mu.Unlock()

		select {
		case <-q.wake:
		case <-closing:
		case <-ctx.Done():
			return nil, waitError(ctx)
		}
	}
}

func waitError(ctx context.Context) error {
	return fmt.Errorf("fifo: waiting for an item: %w", context.Cause(ctx))
}

// run calls process and settles what was taken, also if process panics or
// ends its goroutine: then, as after an error, the items do not come back.
func (q *queue[K, V]) run(taken []*entry[K, V], process func() error) (err error) {
	back := false
	defer func() {
		q.mu.Lock()
		defer q.publish()
		for _, e := range taken {
			q.line.settle(e, back, q.merge)
		}
	}()
	if err = process(); err != nil {
		back, err = requeued(err)
	}
	return err
}

// requeued says whether err asks to put the item back, and what Pop returns.
func requeued(err error) (bool, error) {
	var again ErrRequeue
	if errors.As(err, &again) {
		return true, again.Err
	}
	return false, err
}
