package cache

import (
	"context"
	"sync"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

// FIFO is a Queue that holds the newest object of each key, and pops keys in
// the order in which they were queued. A deleted object leaves the queue
// without a report. All methods are safe for concurrent use, and only Pop
// blocks. The package's documentation lists where client-go differs.
type FIFO struct {
	queueBase
	queue *fifo.FIFO[string, any]
}

var (
	_ Queue       = (*FIFO)(nil)
	_ DoneChecker = (*FIFO)(nil)
)

// NewFIFO returns an empty FIFO whose keys are made by keyFunc. It starts no
// goroutine.
func NewFIFO(keyFunc KeyFunc) *FIFO {
	f := &FIFO{queue: fifo.NewFIFO[string, any](keyFunc)}
	f.typed, f.name = f.queue, "FIFO"
	return f
}

// Add queues obj, and replaces any object under its key. The error is a
// KeyError.
func (f *FIFO) Add(obj any) error { return f.write(func() error { return f.queue.Add(obj) }) }

// Update is Add.
func (f *FIFO) Update(obj any) error { return f.Add(obj) }

// AddIfNotPresent queues obj unless something is queued under its key. The
// error is a KeyError.
func (f *FIFO) AddIfNotPresent(obj any) error {
	return f.write(func() error { return f.queue.AddIfNotPresent(obj) })
}

// Delete removes what is queued under obj's key. The error is a KeyError.
func (f *FIFO) Delete(obj any) error { return f.write(func() error { return f.queue.Delete(obj) }) }

// Replace makes the queue hold list and nothing else, in its order. If it
// fails, with a KeyError, nothing has changed.
func (f *FIFO) Replace(list []any, _ string) error {
	return f.write(func() error { return f.queue.Replace(list) })
}

// Resync does nothing, since every object here is queued already.
func (f *FIFO) Resync() error { return nil }

// List returns the objects that wait, the next one first.
func (f *FIFO) List() []any { return f.queue.List() }

// ListKeys returns the keys that wait, the next one first.
func (f *FIFO) ListKeys() []string { return f.queue.ListKeys() }

// Get returns the object that waits under obj's key. The error is a KeyError.
func (f *FIFO) Get(obj any) (item any, exists bool, err error) { return f.queue.Get(obj) }

// GetByKey returns the object that waits under key. There is no error.
func (f *FIFO) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = f.queue.GetByKey(key)
	return item, exists, nil
}

// Pop waits for an object, removes it from the queue and calls process with it,
// while writers to the queue are blocked. It returns the object and process's
// error; ErrRequeue puts the object back. It returns ErrFIFOClosed once the
// queue is closed and empty.
func (f *FIFO) Pop(process PopProcessFunc) (any, error) {
	return f.queue.Pop(context.Background(), locked(&f.queueBase, process))
}

// Pop removes the next object from queue and returns it, or nil once the queue
// is closed and empty. It blocks until there is one. It is for tests: the
// object counts as processed before the caller has seen it.
func Pop(queue Queue) any {
	var popped any
	_, _ = queue.Pop(func(obj any, _ bool) error {
		popped = obj
		return nil
	})
	return popped
}

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

// ErrRequeue makes Pop put back what it popped, if a process function returns
// it. If the key is queued again already, a FIFO keeps the newer object, and
// the other queues put the older deltas before the newer ones. Pop returns the
// inner error, Err, which may be nil. All queues of this package support it;
// newer client-go no longer has it.
type ErrRequeue = fifo.ErrRequeue
