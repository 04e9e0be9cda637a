package fifo

import "context"

// Journal is a queue of every change, in the order in which the changes were
// written, over all keys. Nothing is folded: a key that changes a hundred times
// is popped a hundred times, and a delete is queued whether or not there is
// something to delete.
//
// Only one consumer can pop at a time: while popped changes are being processed,
// every other Pop waits, since the order would be lost otherwise. It holds every
// change that has not been popped, without back-pressure; see the package's
// Bounds. All methods are safe for concurrent use, and only the Pop methods
// block. Make one with NewJournal.
//
// A list can be written in two ways: Replace and Resync queue it key by key,
// compared with Options.Known; ReplaceAll and SyncAll queue one record, and
// leave it to the consumer to compare. A Journal must be written in one of the
// two ways only.
type Journal[K comparable, T any] struct {
	intake[K, T]
	gate
	ledger ledger[K, T] // guarded by mu
}

// NewJournal returns an empty Journal that finds the key of an object with key,
// which must be pure and safe for concurrent use. It starts no goroutine.
func NewJournal[K comparable, T any](key func(obj T) (K, error), opts Options[K, T]) *Journal[K, T] {
	return &Journal[K, T]{intake: intake[K, T]{key: key, opts: opts}, gate: newGate()}
}

// Len returns the number of queued changes. Changes in flight do not count.
func (j *Journal[K, T]) Len() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ledger.waiting.len()
}

// Latest returns the newest change of key that is queued or in flight. It scans
// all queued changes.
func (j *Journal[K, T]) Latest(key K) (Delta[T], bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ledger.latest(key)
}

// Add queues an Added record. The error is a KeyError or the transform's.
func (j *Journal[K, T]) Add(obj T) error { return j.change(Added, obj) }

// Update queues an Updated record. The error is a KeyError or the
// transform's.
func (j *Journal[K, T]) Update(obj T) error { return j.change(Updated, obj) }

// Delete queues a Deleted record with obj as the final state. The error is a
// KeyError or the transform's.
func (j *Journal[K, T]) Delete(obj T) error { return j.change(Deleted, obj) }

func (j *Journal[K, T]) change(t DeltaType, obj T) error {
	key, obj, err := j.prepare(obj)
	if err != nil {
		return err
	}
	j.write(key, Delta[T]{Type: t, Object: obj})
	return nil
}

// DeleteUnknown queues a Deleted record of a missed deletion, with the last seen
// state, which is not transformed.
func (j *Journal[K, T]) DeleteUnknown(key K, lastSeen T) {
	j.write(key, Delta[T]{Type: Deleted, Knowledge: LastSeen, Object: lastSeen})
}

// DeleteKey is DeleteUnknown without any state of the object.
func (j *Journal[K, T]) DeleteKey(key K) {
	j.write(key, Delta[T]{Type: Deleted, Knowledge: KeyOnly})
}

func (j *Journal[K, T]) write(key K, d Delta[T]) {
	j.mu.Lock()
	defer j.publish()
	j.ledger.populated = true
	j.ledger.push(key, d)
}

// Bookmark queues a record that everything up to version was queued. It does not
// count as a write for the first batch.
func (j *Journal[K, T]) Bookmark(version string) {
	j.mu.Lock()
	defer j.publish()
	j.pushWhole(Bookmark, &whole[T]{version: version})
}

// pushWhole queues a record about all keys. The caller holds the lock.
func (j *Journal[K, T]) pushWhole(t DeltaType, w *whole[T]) {
	j.ledger.waiting.push(journaled[K, T]{delta: Delta[T]{Type: t}, whole: w})
}

// publish ends a change: it unlocks, and signals what the change brought.
func (j *Journal[K, T]) publish() { j.release(j.ledger.ready(), j.ledger.synced()) }

// Pop waits until a change can be taken, removes it from the queue, calls
// process with it and returns it and process's error. An ErrRequeue puts it
// back: at the end, but before queued changes of its key or of all keys. Any
// other error drops it, as does a panic, which is not recovered. If process is
// nil, Pop only removes it.
//
// Pop returns ErrClosed if the queue is closed and nothing waits, and the cause
// of ctx, wrapped, once ctx has ended; the record is then zero and nothing was
// taken. ctx does not interrupt process.
func (j *Journal[K, T]) Pop(ctx context.Context, process ProcessFunc[Record[K, T]]) (Record[K, T], error) {
	taken, err := j.take(ctx, 1)
	if err != nil {
		return Record[K, T]{}, err
	}
	record := taken[0].record()
	return record, run(process, record, taken[0].initial, j.settle)
}

// PopBatch is Pop for up to limit changes at once, for all queued ones if limit
// is below 1. It does not wait for more than one. A batch has changes of
// different keys, so it ends before the second change of a key. It ends where
// the first batch of the queue does, and a record about all keys is popped
// alone. The error of process counts for all of them.
func (j *Journal[K, T]) PopBatch(ctx context.Context, limit int, process BatchFunc[Record[K, T]]) ([]Record[K, T], error) {
	taken, err := j.take(ctx, limit)
	if err != nil {
		return nil, err
	}
	records := make([]Record[K, T], len(taken))
	for i := range taken {
		records[i] = taken[i].record()
	}
	return records, run(ProcessFunc[[]Record[K, T]](process), records, taken[0].initial, j.settle)
}

// take waits until something can be taken and takes it. A call of run must
// settle it.
func (j *Journal[K, T]) take(ctx context.Context, limit int) ([]journaled[K, T], error) {
	err := j.await(ctx, func() (ready, empty bool) {
		return j.ledger.ready(), j.ledger.waiting.len() == 0
	})
	if err != nil {
		return nil, err
	}
	defer j.publish()
	if limit < 1 {
		limit = j.ledger.waiting.len()
	}
	return j.ledger.take(limit), nil
}

// settle ends the flight of what was taken.
func (j *Journal[K, T]) settle(back bool) {
	j.mu.Lock()
	defer j.publish()
	j.ledger.settle(back)
}
