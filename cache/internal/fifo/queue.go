package fifo

import (
	"context"
	"errors"
)

// queue drives a line: it locks, waits and wakes. FIFO and DeltaFIFO embed it.
type queue[K comparable, V any] struct {
	gate
	line line[K, V] // guarded by mu
	// merge makes the value that is to wait of one that comes back and a
	// newer one, if there is one. It has to be pure: the lock is held.
	merge func(older V, newer slot[V]) V
}

func (q *queue[K, V]) init(merge func(older V, newer slot[V]) V) {
	q.gate = newGate()
	q.merge = merge
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
func (q *queue[K, V]) publish() { q.release(q.line.waiting > 0, q.line.synced()) }

// take waits until an entry can be taken and takes it. It must be settled by a
// call of run.
func (q *queue[K, V]) take(ctx context.Context) (*entry[K, V], error) {
	if ctx.Err() != nil {
		return nil, waitError(ctx)
	}
	for {
		q.mu.Lock()
		if e := q.line.take(); e != nil {
			q.publish()
			return e, nil
		}
		if err := q.wait(ctx, q.line.waiting == 0); err != nil {
			return nil, err
		}
	}
}

// run calls process and settles what was taken, also if process panics or
// ends its goroutine: then, as after an error, the item does not come back.
func (q *queue[K, V]) run(taken *entry[K, V], process func() error) (err error) {
	back := false
	defer func() {
		q.mu.Lock()
		defer q.publish()
		q.line.settle(taken, back, q.merge)
	}()
	if err = process(); err != nil {
		back, err = requeued(err)
	}
	return err
}

// requeued returns whether err asks to put the item back, and what Pop returns.
func requeued(err error) (bool, error) {
	var again ErrRequeue
	if errors.As(err, &again) {
		return true, again.Err
	}
	return false, err
}
