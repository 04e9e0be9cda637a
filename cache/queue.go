package cache

import (
	"container/list"
	"errors"
	"fmt"
	"slices"
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

// queue is what FIFO, DeltaFIFO and RealFIFO are made of: entries in the order in which
// they were queued. There are two locks. Client-go runs process functions under the
// queue's lock, so a program may rely on it that no write happens meanwhile, and that two
// process functions never run at once. Here writing is that lock: process functions may
// read their queue, but must not write to it. Lock order: writing, then state, then the
// known objects'.
type queue struct {
	name    string
	metrics queueMetrics // zero, which shows nothing, except in a RealFIFO
	// keyed queues have one entry a key.
	keyed bool
	// unlocked lets writers in while a process function runs, unless much is queued.
	unlocked bool

	// writing is held by writers, and while a process function runs, except by a
	// queue that lets writers in. Readers never take it.
	writing sync.Mutex
	state   sync.Mutex
	changed sync.Cond     // of state
	done    chan struct{} // closed once the first batch has been processed

	// The fields below are guarded by state.

	order   list.List                // of *entry
	entries map[string]*list.Element // of order; nil unless keyed
	peak    int                      // most entries since the map was made
	// flight is what a process function has. Nothing else is taken meanwhile.
	flight         []*entry
	closed, synced bool
	// populated is set by the first write of any kind. What waits after the first
	// Replace is the first batch if that was the first write.
	populated bool
	// Invariant: initial is how many entries, waiting or in flight, are of the first batch.
	initial int
}

// entry is what is popped at once: the object of a key in a FIFO, its deltas in a
// DeltaFIFO, one change in a RealFIFO.
type entry struct {
	key     string
	deltas  Deltas
	whole   bool // it is about all keys
	initial bool // of the first batch
}

// init prepares the queue. Its name is the last of names that is not empty.
func (q *queue) init(names ...string) {
	q.changed.L, q.done = &q.state, make(chan struct{})
	for _, name := range names {
		if name != "" {
			q.name = name
		}
	}
}

// Close closes the queue. Pop goes on until it is empty, and then returns
// ErrFIFOClosed. It does not block; closing again does nothing.
func (q *queue) Close() {
	q.state.Lock()
	defer q.publish()
	q.closed = true
}

// IsClosed reports whether the queue was closed.
func (q *queue) IsClosed() bool {
	q.state.Lock()
	defer q.state.Unlock()
	return q.closed
}

// HasSynced reports whether the first batch has been popped and processed: what
// the first Replace queued, or nothing if another write came before it.
func (q *queue) HasSynced() bool {
	q.state.Lock()
	defer q.state.Unlock()
	return q.synced
}

// HasSyncedChecker is HasSynced for callers that wait.
func (q *queue) HasSyncedChecker() DoneChecker { return q }

// Done returns a channel that is closed once HasSynced is true.
func (q *queue) Done() <-chan struct{} { return q.done }

// Name returns the queue's name.
func (q *queue) Name() string { return q.name }

// honoursErrRequeue marks queues that put an item back if process returns
// ErrRequeue.
func (q *queue) honoursErrRequeue() {}

// publish ends a change: it unlocks state, and wakes whoever waits for it.
func (q *queue) publish() {
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
func (q *queue) write(prepare func() error, change func() []error) error {
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
		n = q.order.Len()
	}()
	q.metrics.show(n)
	for _, err := range failed {
		utilruntime.HandleError(err)
	}
	return nil
}

func (q *queue) find(key string) (*entry, bool) {
	e, ok := q.entries[key]
	if !ok {
		return nil, false
	}
	return e.Value.(*entry), true
}

// hold returns the entry of a key; a new one is at the end.
func (q *queue) hold(key string) *entry {
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
func (q *queue) remove(el *list.Element) *entry {
	e := q.order.Remove(el).(*entry)
	delete(q.entries, e.key)
	if len(q.entries) == 0 && q.peak >= roomy {
		q.entries, q.peak = nil, 0
	}
	return e
}

// waiting calls visit with the entries that wait, the next one first.
func (q *queue) waiting(visit func(*entry)) {
	for el := q.order.Front(); el != nil; el = el.Next() {
		visit(el.Value.(*entry))
	}
}

// markInitial ends the first Replace.
func (q *queue) markInitial() {
	if q.populated {
		return
	}
	q.populated = true
	q.waiting(func(e *entry) { e.initial = true })
	q.initial = q.order.Len()
}

// pop waits for entries and calls process with the first, and as many after it as can be
// processed at once, up to limit. They come back if process returns ErrRequeue, and do not
// if it returns another error, panics or ends its goroutine.
func (q *queue) pop(limit int, process func(taken []*entry, initial bool) error) error {
	taken, left, initial, err := q.take(limit)
	if err != nil {
		return err
	}
	if q.unlocked && left < 2*realFIFOBatch {
		q.writing.Unlock()
	} else {
		defer q.writing.Unlock()
	}
	back := false
	defer func() {
		q.state.Lock()
		defer q.publish()
		q.flight = nil
		for _, e := range taken {
			if e.initial {
				q.initial--
				e.initial = false
			}
			if back {
				q.putBack(e)
			}
		}
	}()
	q.metrics.show(left)
	defer q.metrics.processed()()
	err = process(taken, initial)
	if again, ok := errors.AsType[ErrRequeue](err); ok {
		back, err = true, again.Err
	}
	return err
}

// take waits until something can be taken. It returns with writing held, unless it
// returns ErrFIFOClosed: the queue is closed and empty. As in client-go, whatever is taken
// before the queue has synced is initial.
func (q *queue) take(limit int) (taken []*entry, left int, initial bool, err error) {
	for {
		// Not with writing held, which would keep writers out.
		q.state.Lock()
		for !q.closed && q.order.Len() == 0 || q.flight != nil && q.order.Len() > 0 {
			q.changed.Wait()
		}
		q.state.Unlock()
		q.writing.Lock()
		q.state.Lock()
		switch n := q.order.Len(); {
		case n > 0 && q.flight == nil:
			q.flight = q.pick(limit)
			taken, left, initial = q.flight, q.order.Len(), !q.synced
			q.publish()
			return taken, left, initial, nil
		case n == 0 && q.closed:
			q.state.Unlock()
			q.writing.Unlock()
			return nil, 0, false, ErrFIFOClosed
		}
		q.state.Unlock()
		q.writing.Unlock()
	}
}

// pick removes the entries that can be popped at once, at most limit: of different keys,
// all of the first batch or none of it, and one about all keys alone.
func (q *queue) pick(limit int) []*entry {
	first := q.remove(q.order.Front())
	picked := []*entry{first}
	if limit == 1 || first.whole {
		return picked
	}
	keys := map[string]struct{}{first.key: {}}
	for q.order.Len() > 0 && len(picked) < limit {
		e := q.order.Front().Value.(*entry)
		if _, twice := keys[e.key]; twice || e.whole || e.initial != first.initial {
			break
		}
		keys[e.key] = struct{}{}
		picked = append(picked, q.remove(q.order.Front()))
	}
	return picked
}

// putBack queues an entry again: at the end, but before changes of its key or of all
// keys.
func (q *queue) putBack(back *entry) {
	if q.keyed {
		q.hold(back.key).deltas = back.deltas
		return
	}
	for el := q.order.Front(); el != nil; el = el.Next() {
		if e := el.Value.(*entry); back.whole || e.whole || e.key == back.key {
			q.order.InsertBefore(back, el)
			return
		}
	}
	q.order.PushBack(back)
}

// newest returns the last delta that waits or is in flight under key.
func (q *queue) newest(key string) (Delta, bool) {
	q.state.Lock()
	defer q.state.Unlock()
	if e, ok := q.find(key); ok {
		return *e.deltas.Newest(), true
	}
	for el := q.order.Back(); el != nil && !q.keyed; el = el.Prev() {
		if e := el.Value.(*entry); !e.whole && e.key == key {
			return *e.deltas.Newest(), true
		}
	}
	for _, e := range slices.Backward(q.flight) {
		if !e.whole && e.key == key {
			return *e.deltas.Newest(), true
		}
	}
	return Delta{}, false
}

// queueReader reads a keyed queue. Its methods do not wait for process functions.
type queueReader struct {
	queue *queue
	key   func(obj any) (string, error)
	// item returns what is popped for an entry, in memory of its own.
	item func(*entry) any
}

// ListKeys returns the keys that wait, the next one first.
func (r *queueReader) ListKeys() []string {
	r.queue.state.Lock()
	defer r.queue.state.Unlock()
	keys := []string{}
	r.queue.waiting(func(e *entry) { keys = append(keys, e.key) })
	return keys
}

// List returns the newest object of every key that waits, the next one first.
func (r *queueReader) List() []any {
	r.queue.state.Lock()
	defer r.queue.state.Unlock()
	list := []any{}
	r.queue.waiting(func(e *entry) { list = append(list, e.deltas.Newest().Object) })
	return list
}

// Get returns what waits under obj's key. The error is a KeyError.
func (r *queueReader) Get(obj any) (item any, exists bool, err error) {
	key, err := r.key(obj)
	if err != nil {
		return nil, false, err
	}
	return r.GetByKey(key)
}

// GetByKey returns what waits under key. There is no error.
func (r *queueReader) GetByKey(key string) (item any, exists bool, err error) {
	r.queue.state.Lock()
	defer r.queue.state.Unlock()
	if e, ok := r.queue.find(key); ok {
		return r.item(e), true, nil
	}
	return nil, false, nil
}

// Pop waits for a key, removes it from the queue and calls process with what waited under
// it, while writers to the queue are blocked. It returns that and process's error;
// ErrRequeue puts it back. It returns ErrFIFOClosed once the queue is closed and empty.
func (r *queueReader) Pop(process PopProcessFunc) (any, error) {
	var popped any
	err := r.queue.pop(1, func(taken []*entry, initial bool) error {
		popped = r.item(taken[0])
		return process(popped, initial)
	})
	return popped, err
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
