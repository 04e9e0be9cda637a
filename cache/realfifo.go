package cache

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
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
	deltaQueueBase
	queue *fifo.Journal[string, any]
	// atomic queues a list or resync as one delta, bookmarks queues bookmarks
	// too, and unlocked lets writers in while changes are processed.
	atomic, bookmarks, unlocked bool
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
		deltaQueueBase: deltaQueueBase{keyFunc: opts.KeyFunction, known: opts.KnownObjects, transformer: opts.Transformer},
		atomic:         opts.AtomicEvents,
		bookmarks:      opts.EmitDeltaTypeBookmark,
		unlocked:       opts.UnlockWhileProcessing,
	}
	f.metrics = newQueueMetrics(opts.Identifier, opts.MetricsProvider)
	f.queue = fifo.NewJournal(func(obj any) (string, error) { return keyOf(f.keyFunc, obj) }, f.typedOptions())
	f.use(f.queue, "RealFIFO", opts.Name, opts.Identifier.Name())
	return f
}

// Replace queues a Deleted delta with a DeletedFinalStateUnknown for each
// object that is queued or known and not in list, and a Replaced one for each
// object of list; or one ReplacedAll delta, if AtomicEvents is set. The error
// is a KeyError or the transformer's, and then nothing was queued.
func (f *RealFIFO) Replace(list []any, resourceVersion string) error {
	if !f.atomic {
		return f.replace(list)
	}
	return f.write(func() error { return f.queue.ReplaceAll(list, resourceVersion) })
}

// Resync queues a Sync delta for every known object with nothing queued; or one
// SyncAll delta, if AtomicEvents is set.
func (f *RealFIFO) Resync() error {
	if !f.atomic {
		return f.resync()
	}
	return f.write(func() error {
		f.queue.SyncAll()
		return nil
	})
}

// Bookmark queues a Bookmark delta, if EmitDeltaTypeBookmark is set.
func (f *RealFIFO) Bookmark(resourceVersion string) error {
	if !f.bookmarks {
		return nil
	}
	return f.write(func() error {
		f.queue.Bookmark(resourceVersion)
		return nil
	})
}

// Pop waits for a change, removes it from the queue and calls process with it,
// as Deltas of one element. Writers to the queue are blocked meanwhile, unless
// UnlockWhileProcessing is set and the queue is short. It returns the Deltas
// and process's error; ErrRequeue puts them back. It returns ErrFIFOClosed once
// the queue is closed and empty.
func (f *RealFIFO) Pop(process PopProcessFunc) (any, error) {
	var popped any
	_, err := f.queue.Pop(context.Background(), func(r fifo.Record[string, any], initial bool) error {
		deltas := Deltas{recordDelta(r)}
		popped = deltas
		return f.processing(func() error { return process(deltas, initial) })
	})
	return popped, err
}

// PopBatch is Pop for as many queued changes of different keys as there are, a
// thousand at most, with processBatch; a single change goes to processSingle.
// The error of either counts for the whole batch.
func (f *RealFIFO) PopBatch(processBatch ProcessBatchFunc, processSingle PopProcessFunc) error {
	_, err := f.queue.PopBatch(context.Background(), realFIFOBatch, func(records []fifo.Record[string, any], initial bool) error {
		deltas := make(Deltas, len(records))
		for i, r := range records {
			deltas[i] = recordDelta(r)
		}
		return f.processing(func() error {
			if len(deltas) == 1 {
				return processSingle(deltas, initial)
			}
			return processBatch(deltas, initial)
		})
	})
	return err
}

// processing calls process, with writers blocked unless they may write
// meanwhile.
func (f *RealFIFO) processing(process func() error) error {
	f.metrics.waiting(f.queue)
	defer f.metrics.processed()()
	if !f.unlocked || f.queue.Len() >= 2*realFIFOBatch {
		f.mu.Lock()
		defer f.mu.Unlock()
	}
	return process()
}

// recordDelta converts a record to client-go's type.
func recordDelta(r fifo.Record[string, any]) Delta {
	switch r.Type {
	case fifo.ReplacedAll:
		return Delta{Type: ReplacedAll, Object: ReplacedAllInfo{ResourceVersion: r.ResourceVersion, Objects: r.List}}
	case fifo.SyncAll:
		return Delta{Type: SyncAll, Object: SyncAllInfo{}}
	case fifo.Bookmark:
		return Delta{Type: Bookmark, Object: BookmarkInfo{ResourceVersion: r.ResourceVersion}}
	}
	return deltaOf(r.Key, r.Delta)
}

// typedDeltaQueue is what package fifo's DeltaFIFO and Journal have in common.
type typedDeltaQueue interface {
	typedQueue
	deletable
	Add(obj any) error
	Update(obj any) error
	Replace(list []any) error
	Resync()
	Latest(key string) (fifo.Delta[any], bool)
}

// deltaQueueBase is the common part of DeltaFIFO and RealFIFO.
type deltaQueueBase struct {
	queueBase
	deltas      typedDeltaQueue // the same queue as queueBase's typed
	keyFunc     KeyFunc
	known       KeyListerGetter
	transformer TransformFunc
}

// typedOptions returns the options of package fifo's queue. It is called after the
// functions are set and before the queue is.
func (q *deltaQueueBase) typedOptions() fifo.Options[string, any] {
	if q.keyFunc == nil {
		q.keyFunc = MetaNamespaceKeyFunc
	}
	return fifo.Options[string, any]{Known: q.known, Transform: transformOf(q.transformer), OnError: lookupFailed}
}

// use sets the queue and its name, the last of names that is not empty.
func (q *deltaQueueBase) use(typed typedDeltaQueue, names ...string) {
	q.typed, q.deltas = typed, typed
	for _, name := range names {
		if name != "" {
			q.name = name
		}
	}
}

// Transformer returns the function that objects go through before they are
// queued, or nil.
func (q *deltaQueueBase) Transformer() TransformFunc { return q.transformer }

// Add queues an Added delta. The error is a KeyError or the transformer's.
func (q *deltaQueueBase) Add(obj any) error {
	return q.write(func() error { return q.deltas.Add(obj) })
}

// Update queues an Updated delta. The error is a KeyError or the transformer's.
func (q *deltaQueueBase) Update(obj any) error {
	return q.write(func() error { return q.deltas.Update(obj) })
}

// Delete queues a Deleted delta. A DeltaFIFO does so only if the key is in the
// queue, in flight, or among the known objects. The error is a KeyError or the
// transformer's.
func (q *deltaQueueBase) Delete(obj any) error {
	return q.write(func() error { return deleteFrom(q.deltas, obj) })
}

// replace queues a delta for each key.
func (q *deltaQueueBase) replace(list []any) error {
	return q.write(func() error { return q.deltas.Replace(list) })
}

// resync queues a Sync delta for each known object without a queued one.
func (q *deltaQueueBase) resync() error {
	return q.write(func() error {
		q.deltas.Resync()
		return nil
	})
}

// latest returns the newest state that the queue or its consumers have under key.
func (q *deltaQueueBase) latest(key string) (any, bool) {
	if newest, ok := q.deltas.Latest(key); ok {
		return newest.Object, newest.Type != fifo.Deleted
	}
	return latestIn(q.known, key)
}

// keyOf returns the key of what a queue is given: an object, a
// DeletedFinalStateUnknown, or Deltas.
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

// transformOf returns transform for objects that have not been through it before.
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

// lookupFailed reports an error of the known objects; the queue has gone on
// without them.
func lookupFailed(err error) { utilruntime.HandleError(err) }

// latestIn returns what known has under key. known may be nil.
func latestIn(known KeyGetter, key string) (any, bool) {
	if known == nil {
		return nil, false
	}
	obj, ok, err := known.GetByKey(key)
	return obj, ok && err == nil
}
