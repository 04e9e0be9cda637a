package cache

import kc "k8s.io/client-go/tools/cache"

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
	deltaQueue
	bookmarks bool // queues bookmarks too
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
	f := &RealFIFO{bookmarks: opts.EmitDeltaTypeBookmark, deltaQueue: deltaQueue{
		queue:   queue{unlocked: opts.UnlockWhileProcessing, metrics: newQueueMetrics(opts.Identifier, opts.MetricsProvider)},
		keyFunc: opts.KeyFunction, known: opts.KnownObjects, transformer: opts.Transformer,
		replaced: Replaced, atomic: opts.AtomicEvents,
	}}
	f.init("RealFIFO", opts.Name, opts.Identifier.Name())
	return f
}

// Bookmark queues a Bookmark delta, if EmitDeltaTypeBookmark is set.
func (f *RealFIFO) Bookmark(resourceVersion string) error {
	if !f.bookmarks {
		return nil
	}
	return f.queueWhole(Bookmark, BookmarkInfo{ResourceVersion: resourceVersion})
}

// Pop waits for a change, removes it from the queue and calls process with it,
// as Deltas of one element. Writers to the queue are blocked meanwhile, unless
// UnlockWhileProcessing is set and the queue is short. It returns the Deltas
// and process's error; ErrRequeue puts them back. It returns ErrFIFOClosed once
// the queue is closed and empty.
func (f *RealFIFO) Pop(process PopProcessFunc) (any, error) {
	var popped any
	err := f.pop(1, func(taken []*entry, initial bool) error {
		popped = changes(taken)
		return process(popped, initial)
	})
	return popped, err
}

// PopBatch is Pop for as many queued changes of different keys as there are, a
// thousand at most, with processBatch; a single change goes to processSingle.
// The error of either counts for the whole batch.
func (f *RealFIFO) PopBatch(processBatch ProcessBatchFunc, processSingle PopProcessFunc) error {
	return f.pop(realFIFOBatch, func(taken []*entry, initial bool) error {
		if len(taken) == 1 {
			return processSingle(changes(taken), initial)
		}
		return processBatch(changes(taken), initial)
	})
}

func changes(taken []*entry) Deltas {
	deltas := make(Deltas, len(taken))
	for i, e := range taken {
		deltas[i] = e.deltas[0]
	}
	return deltas
}
