package cache

import "sync"

// The common part of FIFO, DeltaFIFO and RealFIFO: each wraps one of package
// fifo's queues, with objects of any type under string keys.
//
// Client-go runs process functions under the queue's lock, so a program may rely
// on two things: no write happens meanwhile, and two process functions never run
// at once. Package fifo runs them without its lock. So there is one more mutex
// here, which is held by writers and process functions, and never by readers: a
// process function may read its queue, but must not write to it, as in client-go.

// typedQueue is what the queues of package fifo have in common.
type typedQueue interface {
	Close()
	IsClosed() bool
	HasSynced() bool
	Synced() <-chan struct{}
	Len() int
}

// queueBase is the common part of the queues here. Lock order: mu, then the
// typed queue's lock, then the known objects'.
type queueBase struct {
	mu      sync.Mutex
	typed   typedQueue
	name    string
	metrics queueMetrics // zero, which shows nothing, except in a RealFIFO
}

// Close closes the queue. Pop goes on until it is empty, and then returns
// ErrFIFOClosed. It does not block; closing again does nothing.
func (q *queueBase) Close() { q.typed.Close() }

// IsClosed reports whether the queue was closed.
func (q *queueBase) IsClosed() bool { return q.typed.IsClosed() }

// HasSynced reports whether the first batch has been popped and processed: what
// the first Replace queued, or nothing if another write came before it.
func (q *queueBase) HasSynced() bool { return q.typed.HasSynced() }

// HasSyncedChecker is HasSynced for callers that wait.
func (q *queueBase) HasSyncedChecker() DoneChecker { return q }

// Done returns a channel that is closed once HasSynced is true.
func (q *queueBase) Done() <-chan struct{} { return q.typed.Synced() }

// Name returns the queue's name.
func (q *queueBase) Name() string { return q.name }

// honoursErrRequeue marks queues that put an item back if process returns
// ErrRequeue.
func (q *queueBase) honoursErrRequeue() {}

// write makes one write, while no process function runs, and reports the queue's
// length after it.
func (q *queueBase) write(do func() error) error {
	defer q.metrics.waiting(q.typed)
	q.mu.Lock()
	defer q.mu.Unlock()
	return do()
}

// locked returns process with writers blocked while it runs, for package fifo.
func locked[I any](q *queueBase, process func(item I, initial bool) error) func(I, bool) error {
	return func(item I, initial bool) error {
		q.mu.Lock()
		defer q.mu.Unlock()
		return process(item, initial)
	}
}
