package cache

import (
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// What FIFO, DeltaFIFO and RealFIFO have in common: each is one of package
// fifo's queues of objects of any type, under keys that are strings.
//
// Client-go's process functions run under the queue's lock, so a program may
// count on that no write happens meanwhile, and that two of them never run at
// once. Package fifo's run without it. So there is one more mutex here, which
// is held by writers and process functions, and never by readers: a process
// function may look into its queue, but must not write to it, as in client-go.

// typedQueue is what the queues of package fifo have in common.
type typedQueue interface {
	Close()
	IsClosed() bool
	HasSynced() bool
	Synced() <-chan struct{}
}

// queueBase is the common part of the queues here. Lock order: mu, then the
// typed queue's lock, then the known objects'.
type queueBase struct {
	mu    sync.Mutex
	typed typedQueue
	name  string
}

// Close closes the queue. Pop goes on until it is empty, and then returns
// ErrFIFOClosed. It does not block; closing again does nothing.
func (q *queueBase) Close() { q.typed.Close() }

// IsClosed reports whether the queue was closed.
func (q *queueBase) IsClosed() bool { return q.typed.IsClosed() }

// HasSynced reports whether the first batch has been popped and processed: what
// the first Replace brought, or nothing if another write came before it.
func (q *queueBase) HasSynced() bool { return q.typed.HasSynced() }

// HasSyncedChecker is HasSynced for callers that wait.
func (q *queueBase) HasSyncedChecker() DoneChecker { return q }

// Done returns a channel that is closed once HasSynced is true.
func (q *queueBase) Done() <-chan struct{} { return q.typed.Synced() }

// Name returns the queue's name.
func (q *queueBase) Name() string { return q.name }

// honoursErrRequeue marks queues that put back what ErrRequeue is returned for.
func (q *queueBase) honoursErrRequeue() {}

// write makes one write, while no process function runs.
func (q *queueBase) write(do func() error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return do()
}

// locked returns process as package fifo calls it, with writers kept out.
func locked[I any](q *queueBase, process func(item I, initial bool) error) func(I, bool) error {
	return func(item I, initial bool) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		return process(item, initial)
	}
}

// keyOf makes the key of what a queue is given: an object, a
// DeletedFinalStateUnknown, one delta, or several.
func keyOf(keyFunc KeyFunc, obj any) (string, error) {
	switch d := obj.(type) {
	case Deltas:
		if len(d) == 0 {
			return "", KeyError{Obj: obj, Err: ErrZeroLengthDeltasObject}
		}
		return keyOf(keyFunc, d[len(d)-1].Object)
	case DeletedFinalStateUnknown:
		return d.Key, nil
	}
	return keyFunc(obj)
}

// transformOf returns transform without what has been through it before.
func transformOf(transform TransformFunc) func(any) (any, error) {
	if transform == nil {
		return nil
	}
	return func(obj any) (any, error) {
		if _, gone := obj.(DeletedFinalStateUnknown); gone {
			return obj, nil
		}
		return transform(obj)
	}
}

// lookupFailed reports what went wrong with the known objects; the queue has
// gone on without.
func lookupFailed(err error) { utilruntime.HandleError(err) }

// latestIn is what known has under key, if it is there to be asked.
func latestIn(known KeyGetter, key string) (any, bool) {
	if known == nil {
		return nil, false
	}
	obj, ok, err := known.GetByKey(key)
	return obj, ok && err == nil
}
