package cache

import (
	"context"

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
