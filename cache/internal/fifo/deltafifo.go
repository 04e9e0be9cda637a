package fifo

import (
	"context"
	"slices"
)

// DeltaFIFO is a queue with one entry a key, the deltas of the object since its
// key was last popped. Keys are popped in the order in which they were queued.
// Unlike a FIFO it delivers deletes, also those found out later, and every
// change.
//
// It holds keys × deltas: only adjacent deletes of a key fold into one, and
// there is no back-pressure; see the package's Bounds. All methods are safe for
// concurrent use, and only the Pop methods block. Make one with NewDeltaFIFO.
type DeltaFIFO[K comparable, T any] struct {
	queue[K, T, Deltas[T]]
}

// NewDeltaFIFO returns an empty DeltaFIFO that finds the key of an object with
// key, which must be pure and safe for concurrent use. It starts no goroutine.
func NewDeltaFIFO[K comparable, T any](key func(obj T) (K, error), opts Options[K, T]) *DeltaFIFO[K, T] {
	return &DeltaFIFO[K, T]{newQueue(intake[K, T]{key: key, opts: opts}, mergeDeltas[T])}
}

// Add queues an Added delta. The error is a KeyError or the transform's.
func (f *DeltaFIFO[K, T]) Add(obj T) error { return f.change(Added, obj) }

// Update queues an Updated delta. The error is a KeyError or the
// transform's.
func (f *DeltaFIFO[K, T]) Update(obj T) error { return f.change(Updated, obj) }

func (f *DeltaFIFO[K, T]) change(t DeltaType, obj T) error {
	key, obj, err := f.prepare(obj)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.publish()
	f.line.populated = true
	f.append(key, Delta[T]{Type: t, Object: obj})
	return nil
}

// append adds a delta to those queued under key. The caller holds the lock.
func (f *DeltaFIFO[K, T]) append(key K, d Delta[T]) *entry[K, Deltas[T]] {
	e := f.line.hold(key)
	f.line.put(e, e.waiting.value.with(d))
	return e
}

// AddIfNotPresent queues a popped item, if nothing is queued under its key, and
// does nothing otherwise. Its objects are not transformed again. Its deltas, at
// least one, are copied.
//
// To put back an item that a process function failed on, return ErrRequeue from
// it, which loses nothing if the key is queued again already.
func (f *DeltaFIFO[K, T]) AddIfNotPresent(item Item[K, T]) {
	f.putIfAbsent(item.Key, slices.Clone(item.Deltas))
}

// GetByKey returns a copy of the deltas that wait under key.
func (f *DeltaFIFO[K, T]) GetByKey(key K) (Deltas[T], bool) {
	return f.waitingUnder(key, slices.Clone[Deltas[T]])
}

// Items returns copies of all entries that wait, the next to be popped first. It
// costs O(deltas).
func (f *DeltaFIFO[K, T]) Items() []Item[K, T] {
	return waitingItems(&f.queue, func(e *entry[K, Deltas[T]]) Item[K, T] {
		return Item[K, T]{Key: e.key, Deltas: slices.Clone(e.waiting.value)}
	})
}

// Latest returns the newest delta that is queued under key or, if none is, the
// newest in flight.
func (f *DeltaFIFO[K, T]) Latest(key K) (Delta[T], bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.line.entries[key]
	switch {
	case e == nil:
		return Delta[T]{}, false
	case e.waiting.held:
		return e.waiting.value.Newest()
	default:
		return e.flight.value.Newest()
	}
}

// Pop waits until a key can be taken, removes it from the queue, calls process
// with its deltas and returns them and process's error. An ErrRequeue puts them
// back, see there. Any other error drops them, as does a panic, which is not
// recovered. If process is nil, Pop only removes them.
//
// The deltas are the caller's when Pop returns; until then they are read-only,
// since writers read them.
//
// Pop returns ErrClosed if the queue is closed and nothing waits, and the cause
// of ctx, wrapped, once ctx has ended; the item is then zero and nothing was
// taken. ctx does not interrupt process.
func (f *DeltaFIFO[K, T]) Pop(ctx context.Context, process ProcessFunc[Item[K, T]]) (Item[K, T], error) {
	return pop(ctx, &f.queue, func(taken *entry[K, Deltas[T]]) Item[K, T] {
		return Item[K, T]{Key: taken.key, Deltas: taken.flight.value}
	}, process)
}

// Delete queues a Deleted delta with obj as the final state. It is ignored if
// the key has only a delete in flight, or is neither queued, nor in flight, nor
// known: that deletion was reported before, by a Replace for example. A failed
// lookup in Known counts as known, and is reported.
//
// An ignored object is not transformed. The error is a KeyError or the
// transform's.
func (f *DeltaFIFO[K, T]) Delete(obj T) error {
	key, err := f.Key(obj)
	if err != nil {
		return err
	}
	if f.opts.Transform != nil {
		// Transform runs without the lock, so the key is checked before it, and
		// again when the lock is held.
		if !f.present(key) {
			return nil
		}
		if obj, err = f.opts.transform(obj); err != nil {
			return err
		}
	}
	f.remove(key, Delta[T]{Type: Deleted, Object: obj})
	return nil
}

// DeleteUnknown is Delete for a missed deletion: it queues a Deleted delta that
// is marked so, with the last seen state. That object is not transformed, since
// it has been through the queue before.
func (f *DeltaFIFO[K, T]) DeleteUnknown(key K, lastSeen T) {
	f.remove(key, Delta[T]{Type: Deleted, Knowledge: LastSeen, Object: lastSeen})
}

// DeleteKey is DeleteUnknown without any state of the object.
func (f *DeltaFIFO[K, T]) DeleteKey(key K) {
	f.remove(key, Delta[T]{Type: Deleted, Knowledge: KeyOnly})
}

// remove queues d if there is something under key to delete.
func (f *DeltaFIFO[K, T]) remove(key K, d Delta[T]) {
	errs := f.removeAndPublish(key, d)
	f.opts.report(errs)
}

func (f *DeltaFIFO[K, T]) removeAndPublish(key K, d Delta[T]) []error {
	f.mu.Lock()
	defer f.publish()
	f.line.populated = true
	present, errs := f.presentLocked(key)
	if present {
		f.append(key, d)
	}
	return errs
}

// present reports whether a delete of key would be queued. A delete that would
// not be still counts as a write.
func (f *DeltaFIFO[K, T]) present(key K) bool {
	f.mu.Lock()
	defer f.publish()
	present, _ := f.presentLocked(key) // errors come again with remove
	if !present {
		f.line.populated = true
	}
	return present
}

func (f *DeltaFIFO[K, T]) presentLocked(key K) (bool, []error) {
	if e := f.line.entries[key]; e != nil {
		// Deltas that are queued, or being processed, decide before Known, which
		// may show them already or not yet.
		return e.waiting.held || !e.flight.value.gone(), nil
	}
	if f.opts.Known == nil {
		return false, nil
	}
	_, ok, err := f.opts.Known.GetByKey(key)
	if err != nil {
		return true, []error{&LookupError[K]{Key: key, Err: err}}
	}
	return ok, nil
}
