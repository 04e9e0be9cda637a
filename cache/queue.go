package cache

import (
	"container/list"
	"errors"
	"fmt"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// ErrRequeue makes Pop put back what it popped, if a process function returns it: at the
// end of the queue, or in a RealFIFO before newer changes of its key. Pop returns the
// inner error, Err, which may be nil. All queues of this package support it; newer
// client-go no longer has it.
type ErrRequeue struct {
	Err error
}

// Error returns the text of the inner error, if there is one.
func (e ErrRequeue) Error() string {
	if e.Err == nil {
		return "the popped item is to be queued again"
	}
	return e.Err.Error()
}

// Unwrap returns the inner error.
func (e ErrRequeue) Unwrap() error { return e.Err }

var errNoKeyFunc = errors.New("queue has no key function")

// roomy is the length from which a queue that becomes empty gives its memory back.
const roomy = 1024

// queueBase is the common part of FIFO, DeltaFIFO and RealFIFO. There are two locks.
// Client-go runs process functions under the queue's lock, so a program may rely on it
// that no write happens meanwhile, and that two process functions never run at once.
// Here writing is that lock: process functions may read their queue, but must not write
// to it. Lock order: writing, then state, then the known objects'.
type queueBase struct {
	name    string
	metrics queueMetrics // zero, which shows nothing, except in a RealFIFO
	// length returns how much waits. state is held.
	length func() int

	// writing is held by writers, and while a process function runs, except by a
	// RealFIFO that lets writers in. Readers never take it.
	writing sync.Mutex
	state   sync.Mutex
	changed sync.Cond     // of state
	done    chan struct{} // closed once the first batch has been processed

	// What follows, and the contents of the queues, are guarded by state.

	closed, synced bool
	// flying: something was taken whose process function has not returned.
	flying bool
	// populated is set by the first write of any kind. What waits after the first
	// Replace is the first batch if that was the first write.
	populated bool
	// Invariant: initial is how much of what waits or is in flight is of the first batch.
	initial int
}

// init prepares the queue. Its name is the last of names that is not empty.
func (q *queueBase) init(length func() int, names ...string) {
	q.changed.L, q.done, q.length = &q.state, make(chan struct{}), length
	for _, name := range names {
		if name != "" {
			q.name = name
		}
	}
}

// Close closes the queue. Pop goes on until it is empty, and then returns
// ErrFIFOClosed. It does not block; closing again does nothing.
func (q *queueBase) Close() {
	q.state.Lock()
	defer q.publish()
	q.closed = true
}

// IsClosed reports whether the queue was closed.
func (q *queueBase) IsClosed() bool {
	q.state.Lock()
	defer q.state.Unlock()
	return q.closed
}

// HasSynced reports whether the first batch has been popped and processed: what
// the first Replace queued, or nothing if another write came before it.
func (q *queueBase) HasSynced() bool {
	q.state.Lock()
	defer q.state.Unlock()
	return q.synced
}

// HasSyncedChecker is HasSynced for callers that wait.
func (q *queueBase) HasSyncedChecker() DoneChecker { return q }

// Done returns a channel that is closed once HasSynced is true.
func (q *queueBase) Done() <-chan struct{} { return q.done }

// Name returns the queue's name.
func (q *queueBase) Name() string { return q.name }

// honoursErrRequeue marks queues that put an item back if process returns
// ErrRequeue.
func (q *queueBase) honoursErrRequeue() {}

// publish ends a change: it unlocks state, and wakes whoever waits for it.
func (q *queueBase) publish() {
	if q.populated && q.initial == 0 && !q.synced {
		q.synced = true
		close(q.done)
	}
	q.changed.Broadcast()
	q.state.Unlock()
}

// write makes one write: prepare, which may be nil and whose error is returned, calls
// the program's functions, and change changes the queue, with state held. It returns
// failed look-ups of known objects, which are reported.
func (q *queueBase) write(prepare func() error, change func() []error) error {
	q.writing.Lock()
	defer q.writing.Unlock()
	if prepare != nil {
		if err := prepare(); err != nil {
			return err
		}
	}
	var failed []error
	n := 0
	func() {
		q.state.Lock()
		defer q.publish()
		failed = change()
		n = q.length()
	}()
	q.metrics.show(n)
	for _, err := range failed {
		utilruntime.HandleError(err)
	}
	return nil
}

// take waits until something can be taken, and calls pick, with state held. It returns
// with writing held, unless it returns ErrFIFOClosed: the queue is closed and empty.
func (q *queueBase) take(pick func()) error {
	for {
		// Not with writing held, which would keep writers out.
		q.state.Lock()
		for !q.closed && q.length() == 0 || q.flying && q.length() > 0 {
			q.changed.Wait()
		}
		q.state.Unlock()
		q.writing.Lock()
		q.state.Lock()
		switch n := q.length(); {
		case n > 0 && !q.flying:
			q.flying = true
			pick()
			q.publish()
			return nil
		case n == 0 && q.closed:
			q.state.Unlock()
			q.writing.Unlock()
			return ErrFIFOClosed
		}
		q.state.Unlock()
		q.writing.Unlock()
	}
}

// run calls process, and then settle with whether what was taken comes back, with state
// held. It does not if process panics or ends its goroutine, or returns an error other
// than ErrRequeue.
func (q *queueBase) run(process func() error, settle func(back bool)) (err error) {
	back := false
	defer func() {
		q.state.Lock()
		defer q.publish()
		q.flying = false
		settle(back)
	}()
	err = process()
	if again, ok := errors.AsType[ErrRequeue](err); ok {
		back, err = true, again.Err
	}
	return err
}

// entry is what waits under one key: an object in a FIFO, deltas in a DeltaFIFO.
type entry struct {
	key     string
	obj     any
	deltas  Deltas
	initial bool // of the first batch
}

// keyedQueue is a queue with one entry a key, in the order in which they were queued:
// the common part of FIFO and DeltaFIFO.
type keyedQueue struct {
	queueBase
	entries map[string]*list.Element // guarded by state; of order, whose values are *entry
	order   list.List                // guarded by state
	peak    int                      // guarded by state; most entries since the map was made
}

// ListKeys returns the keys that wait, the next one first.
func (q *keyedQueue) ListKeys() []string {
	keys := []string{}
	q.each(func(e *entry) { keys = append(keys, e.key) })
	return keys
}

// each calls visit with what waits, the next one first. It locks state.
func (q *keyedQueue) each(visit func(*entry)) {
	q.state.Lock()
	defer q.state.Unlock()
	for e := q.order.Front(); e != nil; e = e.Next() {
		visit(e.Value.(*entry))
	}
}

func (q *keyedQueue) find(key string) (*entry, bool) {
	e, ok := q.entries[key]
	if !ok {
		return nil, false
	}
	return e.Value.(*entry), true
}

// hold returns the entry of a key; a new one is at the end.
func (q *keyedQueue) hold(key string) *entry {
	if e, ok := q.find(key); ok {
		return e
	}
	if q.entries == nil {
		q.entries = map[string]*list.Element{}
	}
	e := &entry{key: key}
	q.entries[key] = q.order.PushBack(e)
	q.peak = max(q.peak, len(q.entries))
	return e
}

// remove removes an entry that waits.
func (q *keyedQueue) remove(key string) *entry {
	e := q.order.Remove(q.entries[key]).(*entry)
	delete(q.entries, key)
	if len(q.entries) == 0 && q.peak >= roomy {
		q.entries, q.peak = nil, 0
	}
	return e
}

// markInitial ends the first Replace.
func (q *keyedQueue) markInitial() {
	if q.populated {
		return
	}
	q.populated = true
	for e := q.order.Front(); e != nil; e = e.Next() {
		e.Value.(*entry).initial = true
	}
	q.initial = q.order.Len()
}

// pop takes the first entry and processes it.
func (q *keyedQueue) pop(process func(e *entry) error) error {
	var e *entry
	if err := q.take(func() { e = q.remove(q.order.Front().Value.(*entry).key) }); err != nil {
		return err
	}
	defer q.writing.Unlock()
	return q.run(func() error { return process(e) }, func(back bool) {
		if e.initial {
			q.initial--
		}
		if back {
			again := q.hold(e.key)
			again.obj, again.deltas = e.obj, e.deltas
		}
	})
}

// queueKeys returns the key of each object.
func queueKeys(list []any, key func(any) (string, error)) ([]string, error) {
	keys := make([]string, len(list))
	for i, obj := range list {
		var err error
		if keys[i], err = key(obj); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

func lookupFailed(key string, err error) error {
	return fmt.Errorf("look-up of %s in the known objects: %w", key, err)
}
