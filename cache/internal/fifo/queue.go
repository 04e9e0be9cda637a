package fifo

import "context"

// queue drives a line: it locks, waits and wakes. V is what waits under one key.
// FIFO and DeltaFIFO embed it.
type queue[K comparable, T, V any] struct {
	intake[K, T]
	gate
	line line[K, V] // guarded by mu
	// merge combines a value that comes back with a newer one, if there is one. It
	// must be pure: the lock is held.
	merge func(older V, newer slot[V]) V
}

func newQueue[K comparable, T, V any](in intake[K, T], merge func(older V, newer slot[V]) V) queue[K, T, V] {
	return queue[K, T, V]{intake: in, gate: newGate(), merge: merge}
}

// Len returns the number of queued keys. Keys in flight do not count.
func (q *queue[K, T, V]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.line.waiting
}

// ListKeys returns the keys that wait, the next to be popped first. It costs
// O(keys).
func (q *queue[K, T, V]) ListKeys() []K {
	return waitingItems(q, func(e *entry[K, V]) K { return e.key })
}

// waitingItems returns the result of item for each queued entry, the next to be
// popped first. item is called with the lock held.
func waitingItems[K comparable, T, V, I any](q *queue[K, T, V], item func(*entry[K, V]) I) []I {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := make([]I, 0, q.line.waiting)
	for e := q.line.head; e != nil; e = e.next {
		items = append(items, item(e))
	}
	return items
}

// waitingUnder returns a clone of the value that is queued under key. clone is
// called with the lock held.
func (q *queue[K, T, V]) waitingUnder(key K, clone func(V) V) (v V, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.line.entries[key]; e != nil && e.waiting.held {
		return clone(e.waiting.value), true
	}
	return v, false
}

// putIfAbsent queues v under key, if nothing is queued there.
func (q *queue[K, T, V]) putIfAbsent(key K, v V) {
	q.mu.Lock()
	defer q.publish()
	q.line.populated = true
	if e := q.line.hold(key); !e.waiting.held {
		q.line.put(e, v)
	}
}

// publish ends a change: it unlocks, and signals what the change brought.
func (q *queue[K, T, V]) publish() { q.release(q.line.waiting > 0, q.line.synced()) }

// pop waits until an entry can be taken, takes it, and processes the result of
// item.
func pop[K comparable, T, V, I any](ctx context.Context, q *queue[K, T, V], item func(*entry[K, V]) I, process ProcessFunc[I]) (I, error) {
	var taken *entry[K, V]
	err := q.await(ctx, func() (ready, empty bool) {
		taken = q.line.take()
		return taken != nil, q.line.waiting == 0
	})
	if err != nil {
		var none I
		return none, err
	}
	q.publish()
	popped, initial := item(taken), taken.flight.initial
	return popped, run(process, popped, initial, func(back bool) {
		q.mu.Lock()
		defer q.publish()
		q.line.settle(taken, back, q.merge)
	})
}
