package cache

import (
	"slices"

	kc "k8s.io/client-go/tools/cache"
)

// RealFIFOOptions say how a RealFIFO works. KnownObjects is required unless
// AtomicEvents is set, and must be nil if it is. Logger has no effect: what
// goes wrong with KnownObjects is reported as other errors are.
type RealFIFOOptions = kc.RealFIFOOptions

// realFIFOBatch is the most changes that PopBatch pops at once, as in
// client-go. With UnlockWhileProcessing, writers are blocked during processing
// only while at least two such batches are queued.
const realFIFOBatch = 1000

// RealFIFO is a Queue of every change, in the order of the writes over all
// keys. Its items are Deltas of one element, or batches of deltas of different
// keys. All methods are safe for concurrent use, and only Pop and PopBatch
// block.
type RealFIFO struct {
	queueBase
	deltaSource
	// atomic queues a list or resync as one delta, bookmarks queues bookmarks
	// too, and unlocked lets writers in while changes are processed.
	atomic, bookmarks, unlocked bool

	waiting []queuedDelta // guarded by state
	// flight is what a process function has; nothing else is taken meanwhile, or the
	// order would be lost. guarded by state
	flight []queuedDelta
}

// queuedDelta is one change.
type queuedDelta struct {
	key     string // empty if it is about all keys
	delta   Delta
	whole   bool // it is about all keys
	initial bool // of the first batch
}

var (
	_ QueueWithBatch         = (*RealFIFO)(nil)
	_ TransformingStore      = (*RealFIFO)(nil)
	_ ReflectorBookmarkStore = (*RealFIFO)(nil)
	_ DoneChecker            = (*RealFIFO)(nil)
)

// NewRealFIFO returns an empty RealFIFO.
//
// Deprecated: NewRealFIFOWithOptions has more to choose from.
func NewRealFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter, transformer TransformFunc) *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects, Transformer: transformer})
}

// NewRealFIFOWithOptions returns an empty RealFIFO. It starts no goroutine. It
// panics if the options contradict each other, as client-go does.
func NewRealFIFOWithOptions(opts RealFIFOOptions) *RealFIFO {
	switch {
	case opts.AtomicEvents && opts.KnownObjects != nil:
		panic("coding error: knownObjects must not be provided when AtomicEvents is true")
	case opts.AtomicEvents:
	case opts.KnownObjects == nil:
		panic("coding error: knownObjects must be provided when AtomicEvents is false")
	case opts.UnlockWhileProcessing:
		panic("coding error: UnlockWhileProcessing must be false when AtomicEvents is false")
	case opts.EmitDeltaTypeBookmark:
		panic("coding error: EmitDeltaTypeBookmark must be false when AtomicEvents is false")
	}
	f := &RealFIFO{
		deltaSource: deltaSource{opts.KeyFunction, opts.KnownObjects, opts.Transformer},
		atomic:      opts.AtomicEvents,
		bookmarks:   opts.EmitDeltaTypeBookmark,
		unlocked:    opts.UnlockWhileProcessing,
	}
	f.metrics = newQueueMetrics(opts.Identifier, opts.MetricsProvider)
	f.init(func() int { return len(f.waiting) }, "RealFIFO", opts.Name, opts.Identifier.Name())
	return f
}

// Add queues an Added delta. The error is a KeyError or the transformer's.
func (f *RealFIFO) Add(obj any) error { return f.change(Added, obj) }

// Update queues an Updated delta. The error is a KeyError or the transformer's.
func (f *RealFIFO) Update(obj any) error { return f.change(Updated, obj) }

// Delete queues a Deleted delta. The error is a KeyError or the transformer's.
func (f *RealFIFO) Delete(obj any) error { return f.change(Deleted, obj) }

func (f *RealFIFO) change(t DeltaType, obj any) error {
	var key string
	return f.write(func() (err error) {
		if key, err = f.key(obj); err == nil {
			obj, err = f.transformed(obj)
		}
		return err
	}, func() []error {
		f.populated = true
		f.push(key, Delta{Type: t, Object: obj})
		return nil
	})
}

func (f *RealFIFO) push(key string, d Delta) {
	f.waiting = append(f.waiting, queuedDelta{key: key, delta: d})
}

// pushWhole queues a delta about all keys.
func (f *RealFIFO) pushWhole(t DeltaType, info any) error {
	return f.write(nil, func() []error {
		f.waiting = append(f.waiting, queuedDelta{delta: Delta{Type: t, Object: info}, whole: true})
		if t == ReplacedAll {
			f.markInitial()
		}
		return nil
	})
}

// markInitial ends the first Replace.
func (f *RealFIFO) markInitial() {
	if f.populated {
		return
	}
	f.populated = true
	for i := range f.waiting {
		f.waiting[i].initial = true
	}
	f.initial = len(f.waiting)
}

// Replace queues a Deleted delta with a DeletedFinalStateUnknown for each
// object that is queued or known and not in list, and a Replaced one for each
// object of list; or one ReplacedAll delta, if AtomicEvents is set. The error
// is a KeyError or the transformer's, and then nothing was queued.
func (f *RealFIFO) Replace(list []any, resourceVersion string) error {
	if f.atomic {
		_, objs, err := f.prepare(list)
		if err != nil {
			return err
		}
		return f.pushWhole(ReplacedAll, ReplacedAllInfo{ResourceVersion: resourceVersion, Objects: objs})
	}
	var keys []string
	var objs []any
	return f.write(func() (err error) { keys, objs, err = f.prepare(list); return err }, func() []error {
		listed := make(map[string]struct{}, len(keys))
		for _, key := range keys {
			listed[key] = struct{}{}
		}
		newest, order := f.newest()
		for _, key := range order {
			if _, ok := listed[key]; !ok && newest[key].Type != Deleted {
				f.push(key, missed(key, newest[key].Object))
			}
		}
		failed := f.eachKnown(func(key string) bool {
			_, isListed := listed[key]
			_, isQueued := newest[key]
			return isListed || isQueued
		}, func(key string, obj any, _ bool) { f.push(key, missed(key, obj)) })
		for i, key := range keys {
			f.push(key, Delta{Type: Replaced, Object: objs[i]})
		}
		f.markInitial()
		return failed
	})
}

// newest returns the last delta of each key that waits, and the keys in the order in
// which they came first.
func (f *RealFIFO) newest() (map[string]Delta, []string) {
	last := map[string]Delta{}
	var order []string
	for i := range f.waiting {
		r := &f.waiting[i]
		if _, seen := last[r.key]; !seen {
			order = append(order, r.key)
		}
		last[r.key] = r.delta
	}
	return last, order
}

// Resync queues a Sync delta for every known object with nothing queued; or one
// SyncAll delta, if AtomicEvents is set.
func (f *RealFIFO) Resync() error {
	if f.atomic {
		return f.pushWhole(SyncAll, SyncAllInfo{})
	}
	return f.write(nil, func() []error {
		newest, _ := f.newest()
		queued := func(key string) bool { _, is := newest[key]; return is }
		return f.eachKnown(queued, func(key string, obj any, found bool) {
			if found {
				f.push(key, Delta{Type: Sync, Object: obj})
			}
		})
	})
}

// Bookmark queues a Bookmark delta, if EmitDeltaTypeBookmark is set.
func (f *RealFIFO) Bookmark(resourceVersion string) error {
	if !f.bookmarks {
		return nil
	}
	return f.pushWhole(Bookmark, BookmarkInfo{ResourceVersion: resourceVersion})
}

// latest returns the newest state that the queue or its consumers have under key.
func (f *RealFIFO) latest(key string) (any, bool) {
	f.state.Lock()
	for _, records := range [][]queuedDelta{f.waiting, f.flight} {
		for _, r := range slices.Backward(records) {
			if !r.whole && r.key == key {
				f.state.Unlock()
				return r.delta.Object, r.delta.Type != Deleted
			}
		}
	}
	f.state.Unlock()
	return latestIn(f.known, key)
}

// Pop waits for a change, removes it from the queue and calls process with it,
// as Deltas of one element. Writers to the queue are blocked meanwhile, unless
// UnlockWhileProcessing is set and the queue is short. It returns the Deltas
// and process's error; ErrRequeue puts them back. It returns ErrFIFOClosed once
// the queue is closed and empty.
func (f *RealFIFO) Pop(process PopProcessFunc) (any, error) {
	var popped any
	err := f.pop(1, func(deltas Deltas, initial bool) error {
		popped = deltas
		return process(deltas, initial)
	})
	return popped, err
}

// PopBatch is Pop for as many queued changes of different keys as there are, a
// thousand at most, with processBatch; a single change goes to processSingle.
// The error of either counts for the whole batch.
func (f *RealFIFO) PopBatch(processBatch ProcessBatchFunc, processSingle PopProcessFunc) error {
	return f.pop(realFIFOBatch, func(deltas Deltas, initial bool) error {
		if len(deltas) == 1 {
			return processSingle(deltas, initial)
		}
		return processBatch(deltas, initial)
	})
}

func (f *RealFIFO) pop(limit int, process func(deltas Deltas, initial bool) error) error {
	left := 0
	err := f.take(func() {
		n := batch(f.waiting, limit)
		f.flight = slices.Clone(f.waiting[:n])
		clear(f.waiting[:n])
		if f.waiting = f.waiting[n:]; len(f.waiting) == 0 {
			f.waiting = nil
		}
		left = len(f.waiting)
	})
	if err != nil {
		return err
	}
	if f.unlocked && left < 2*realFIFOBatch {
		f.writing.Unlock()
	} else {
		defer f.writing.Unlock()
	}
	return f.run(func() error {
		f.metrics.show(left)
		defer f.metrics.processed()()
		deltas := make(Deltas, len(f.flight))
		for i, r := range f.flight {
			deltas[i] = r.delta
		}
		return process(deltas, f.flight[0].initial)
	}, func(back bool) {
		for _, r := range f.flight {
			if back {
				f.putBack(r)
			} else if r.initial {
				f.initial--
			}
		}
		f.flight = nil
	})
}

// batch returns how many records can be popped at once, at most limit: of different
// keys, all of the first batch or none of it, and one about all keys alone.
func batch(waiting []queuedDelta, limit int) int {
	if limit == 1 || waiting[0].whole {
		return 1
	}
	keys := map[string]struct{}{}
	for i, r := range waiting {
		_, twice := keys[r.key]
		if i == limit || twice || r.whole || r.initial != waiting[0].initial {
			return i
		}
		keys[r.key] = struct{}{}
	}
	return len(waiting)
}

// putBack queues a record again: at the end, but before changes of its key or of all
// keys.
func (f *RealFIFO) putBack(back queuedDelta) {
	at := slices.IndexFunc(f.waiting, func(r queuedDelta) bool { return back.whole || r.whole || r.key == back.key })
	if at < 0 {
		at = len(f.waiting)
	}
	f.waiting = slices.Insert(f.waiting, at, back)
}
