package fifo

import "context"

// ProcessFunc works on one popped item. initial is whether the item is of the
// first batch (see HasSynced). It runs without a lock and may use the queue.
type ProcessFunc[I any] func(item I, initial bool) error

// BatchFunc works on items of different keys that were popped together, in
// their order; either all of them are of the first batch or none is.
type BatchFunc[I any] func(items []I, initial bool) error

// FIFO is a queue with one entry a key, its newest object: however often an
// object changes while it is queued, it is popped once, in its latest state. A
// deleted object leaves the queue without a report. Keys are popped in the
// order in which they were queued.
//
// It holds at most one queued object a key, and one a key in flight. All
// methods are safe for concurrent use, and only the Pop methods block. Make one
// with NewFIFO.
//
// Use a DeltaFIFO to receive deletes or every change.
type FIFO[K comparable, T any] struct {
	queue[K, T, T]
}

// NewFIFO returns an empty FIFO that finds the key of an object with key, which
// must be pure and safe for concurrent use. It starts no goroutine.
func NewFIFO[K comparable, T any](key func(obj T) (K, error)) *FIFO[K, T] {
	return &FIFO[K, T]{newQueue(intake[K, T]{key: key}, keepNewer[T])}
}

func keepNewer[T any](older T, newer slot[T]) T {
	if newer.held {
		return newer.value
	}
	return older
}

// Add queues obj, and replaces any object under its key; a key that was not
// queued goes to the end. The error is a KeyError.
func (f *FIFO[K, T]) Add(obj T) error {
	key, err := f.Key(obj)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.publish()
	f.line.populated = true
	f.line.put(f.line.hold(key), obj)
	return nil
}

// AddIfNotPresent queues obj if nothing is queued under its key, and does
// nothing otherwise, so that a consumer can retry without replacing a newer
// object. The error is a KeyError.
func (f *FIFO[K, T]) AddIfNotPresent(obj T) error {
	key, err := f.Key(obj)
	if err != nil {
		return err
	}
	f.putIfAbsent(key, obj)
	return nil
}

// Delete removes the object under obj's key from the queue. If it is in flight,
// ErrRequeue does not bring it back. The error is a KeyError.
func (f *FIFO[K, T]) Delete(obj T) error {
	key, err := f.Key(obj)
	if err != nil {
		return err
	}
	f.DeleteKey(key)
	return nil
}

// DeleteKey is Delete by key.
func (f *FIFO[K, T]) DeleteKey(key K) {
	f.mu.Lock()
	defer f.publish()
	f.line.populated = true
	if e := f.line.entries[key]; e != nil {
		e.forgotten = true
		if e.waiting.held {
			f.line.drop(e)
		}
	}
}

// Replace makes the queue hold list and nothing else, in the order of list; of
// several objects with one key the last counts, in the place of the first.
// ErrRequeue does not bring back what is in flight. The slice stays the
// caller's.
//
// The error is a KeyError, and then nothing was changed. The lock is held for
// O(list + keys).
func (f *FIFO[K, T]) Replace(list []T) error {
	keys, err := f.keys(list)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.publish()
	l := &f.line
	for _, e := range l.inFlight() {
		e.forgotten = true
	}
	l.stamp++
	for i, key := range keys {
		e := l.hold(key)
		if e.waiting.held && e.mark != l.stamp {
			l.toEnd(e)
		}
		e.mark = l.stamp
		l.put(e, list[i])
	}
	// Listed keys are at the end now, so the others are in front.
	for l.head != nil && l.head.mark != l.stamp {
		l.drop(l.head)
	}
	l.markInitial()
	return nil
}

// List returns the objects that wait, the next to be popped first. It costs
// O(keys).
func (f *FIFO[K, T]) List() []T {
	return waitingItems(&f.queue, func(e *entry[K, T]) T { return e.waiting.value })
}

// Get returns the object that waits under obj's key. The error is a KeyError.
func (f *FIFO[K, T]) Get(obj T) (item T, ok bool, err error) {
	key, err := f.Key(obj)
	if err != nil {
		return item, false, err
	}
	item, ok = f.GetByKey(key)
	return item, ok, nil
}

// GetByKey returns the object that waits under key.
func (f *FIFO[K, T]) GetByKey(key K) (item T, ok bool) {
	return f.waitingUnder(key, func(item T) T { return item })
}

// Pop waits until a key can be taken, removes it from the queue, calls process
// with its object and returns that object and process's error. An ErrRequeue
// puts the object back, see there. Any other error drops it, as does a panic,
// which is not recovered. If process is nil, Pop only removes it.
//
// Pop returns ErrClosed if the queue is closed and nothing waits, and the cause
// of ctx, wrapped, once ctx has ended; the object is then the zero T and
// nothing was taken. ctx does not interrupt process.
func (f *FIFO[K, T]) Pop(ctx context.Context, process ProcessFunc[T]) (T, error) {
	return pop(ctx, &f.queue, func(taken *entry[K, T]) T { return taken.flight.value }, process)
}
