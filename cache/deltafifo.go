package cache

import (
	"fmt"
	"slices"

	kc "k8s.io/client-go/tools/cache"
)

// deltaQueue is the common part of DeltaFIFO and RealFIFO.
type deltaQueue struct {
	queue
	keyFunc     KeyFunc
	known       KeyListerGetter // may be nil
	transformer TransformFunc   // may be nil
	// replaced is the type of what Replace queues.
	replaced DeltaType
	// atomic queues a list or resync as one delta.
	atomic bool
}

// Transformer returns the function that objects go through before they are
// queued, or nil.
func (q *deltaQueue) Transformer() TransformFunc { return q.transformer }

// keyOf returns the key of an object, of a DeletedFinalStateUnknown or of Deltas.
func (q *deltaQueue) keyOf(obj any) (string, error) {
	switch gone := obj.(type) {
	case Deltas:
		if len(gone) == 0 {
			return "", KeyError{Obj: obj, Err: ErrZeroLengthDeltasObject}
		}
		return q.keyOf(gone[len(gone)-1].Object)
	case DeletedFinalStateUnknown:
		return gone.Key, nil
	}
	if q.keyFunc == nil {
		return MetaNamespaceKeyFunc(obj)
	}
	return q.keyFunc(obj)
}

// key is keyOf with the error of a write, a KeyError.
func (q *deltaQueue) key(obj any) (string, error) { return keyOf(q.keyOf, obj) }

// transformed returns the object to queue for obj.
func (q *deltaQueue) transformed(obj any) (any, error) {
	if _, gone := obj.(DeletedFinalStateUnknown); gone || q.transformer == nil {
		return obj, nil
	}
	return q.transformer(obj)
}

// prepare returns the key of each object, and the objects to queue, in a slice of
// their own.
func (q *deltaQueue) prepare(list []any) (keys []string, objs []any, err error) {
	if keys, err = queueKeys(list, q.key); err != nil {
		return nil, nil, err
	}
	objs = slices.Clone(list)
	for i := range objs {
		if objs[i], err = q.transformed(objs[i]); err != nil {
			return nil, nil, err
		}
	}
	return keys, objs, nil
}

// put adds a delta to those queued under key, or queues it alone.
func (q *deltaQueue) put(key string, d Delta) {
	if !q.keyed {
		q.order.PushBack(&entry{key: key, deltas: Deltas{d}})
		return
	}
	e := q.hold(key)
	e.deltas = with(e.deltas, d)
}

// with returns deltas with one more. Two adjacent deletes become one, the one that knows
// more, since watches and lists both report the same deletion: the first report of the
// final state, else the later of two guesses, if it has an object at all.
func with(deltas Deltas, newer Delta) Deltas {
	if n := len(deltas); n > 0 && newer.Type == Deleted && deltas[n-1].Type == Deleted {
		before, unknown := deltas[n-1].Object.(DeletedFinalStateUnknown)
		if now, guess := newer.Object.(DeletedFinalStateUnknown); unknown && (!guess || now.Obj != nil || before.Obj == nil) {
			deltas[n-1] = newer
		}
		return deltas
	}
	return append(deltas, newer)
}

// Add queues an Added delta. The error is a KeyError or the transformer's.
func (q *deltaQueue) Add(obj any) error { return q.change(Added, obj) }

// Update queues an Updated delta. The error is a KeyError or the transformer's.
func (q *deltaQueue) Update(obj any) error { return q.change(Updated, obj) }

// Delete queues a Deleted delta. A DeltaFIFO does so only if the key is queued or among
// the known objects: else that deletion was reported before. A failed look-up counts as
// known, and is reported. The error is a KeyError or the transformer's; an ignored object
// is not transformed.
func (q *deltaQueue) Delete(obj any) error { return q.change(Deleted, obj) }

func (q *deltaQueue) change(t DeltaType, obj any) error {
	var key string
	var failed []error
	ignored := false
	return q.write(func() (err error) {
		if key, err = q.key(obj); err != nil {
			return err
		}
		if t == Deleted && q.keyed {
			if ignored, err = q.absent(key); err != nil {
				failed = []error{lookupFailed(key, err)}
			}
		}
		if err = nil; !ignored {
			obj, err = q.transformed(obj)
		}
		return err
	}, func() []error {
		q.populated = true
		if !ignored {
			q.put(key, Delta{Type: t, Object: obj})
		}
		return failed
	})
}

// absent reports whether nothing is queued or known under key. No write and no take comes
// in between: both hold writing.
func (q *deltaQueue) absent(key string) (bool, error) {
	if _, queued := q.find(key); queued || q.known == nil {
		return !queued, nil
	}
	_, known, err := q.known.GetByKey(key)
	return !known && err == nil, err
}

// queueWhole queues a delta about all keys.
func (q *deltaQueue) queueWhole(t DeltaType, info any) error {
	return q.write(nil, func() []error {
		q.order.PushBack(&entry{deltas: Deltas{{Type: t, Object: info}}, whole: true})
		if t == ReplacedAll {
			q.markInitial()
		}
		return nil
	})
}

// Replace queues a Replaced delta (Sync, in a DeltaFIFO without EmitDeltaTypeReplaced) for
// each object of list, and a Deleted one with a DeletedFinalStateUnknown for every other key
// that is queued or known; or one ReplacedAll delta, if AtomicEvents is set. The error is a
// KeyError or the transformer's, and then nothing was queued.
func (q *deltaQueue) Replace(list []any, resourceVersion string) error {
	if q.atomic {
		// As in client-go, objects need no keys, and tombstones are transformed too.
		objs := slices.Clone(list)
		for i := 0; q.transformer != nil && i < len(objs); i++ {
			var err error
			if objs[i], err = q.transformer(objs[i]); err != nil {
				return err
			}
		}
		return q.queueWhole(ReplacedAll, ReplacedAllInfo{ResourceVersion: resourceVersion, Objects: objs})
	}
	var keys []string
	var objs []any
	return q.write(func() (err error) { keys, objs, err = q.prepare(list); return err }, func() []error {
		listed := make(map[string]struct{}, len(keys))
		for _, key := range keys {
			listed[key] = struct{}{}
		}
		queued, order := q.last()
		replace := func() {
			for i, key := range keys {
				q.put(key, Delta{Type: q.replaced, Object: objs[i]})
			}
		}
		if q.keyed { // the order is client-go's
			replace()
		}
		for _, key := range order {
			if _, ok := listed[key]; !ok && queued[key].Type != Deleted {
				q.put(key, missed(key, queued[key].Object))
			}
		}
		failed := q.eachKnown(func(key string) bool {
			_, isListed := listed[key]
			_, isQueued := queued[key]
			return isListed || isQueued
		}, func(key string, obj any, _ bool) { q.put(key, missed(key, obj)) })
		if !q.keyed {
			replace()
		}
		q.markInitial()
		return failed
	})
}

// last returns the last delta of each key that waits, and the keys in the order in
// which they came first.
func (q *deltaQueue) last() (map[string]Delta, []string) {
	last := map[string]Delta{}
	var order []string
	q.waiting(func(e *entry) {
		if _, seen := last[e.key]; !seen {
			order = append(order, e.key)
		}
		last[e.key] = *e.deltas.Newest()
	})
	return last, order
}

// missed returns the delete of an object that a list does not have; obj, the last state
// that was seen, may be nil.
func missed(key string, obj any) Delta {
	if gone, ok := obj.(DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	return Delta{Type: Deleted, Object: DeletedFinalStateUnknown{Key: key, Obj: obj}}
}

// eachKnown calls visit with each known object, except those whose keys skip accepts.
// found is false if the object is gone or its look-up failed; the errors of failed
// look-ups are returned.
func (q *deltaQueue) eachKnown(skip func(key string) bool, visit func(key string, obj any, found bool)) (failed []error) {
	if q.known == nil {
		return nil
	}
	for _, key := range q.known.ListKeys() {
		if skip(key) {
			continue
		}
		obj, found, err := q.known.GetByKey(key)
		if err != nil {
			failed, obj, found = append(failed, lookupFailed(key, err)), nil, false
		}
		visit(key, obj, found)
	}
	return failed
}

// Resync queues a Sync delta for every known object that has nothing queued; or one
// SyncAll delta, if AtomicEvents is set.
func (q *deltaQueue) Resync() error {
	if q.atomic {
		return q.queueWhole(SyncAll, SyncAllInfo{})
	}
	return q.write(nil, func() []error {
		last, _ := q.last()
		queued := func(key string) bool { _, is := last[key]; return is }
		return q.eachKnown(queued, func(key string, obj any, found bool) {
			if found {
				q.put(key, Delta{Type: Sync, Object: obj})
			}
		})
	})
}

// latest returns the newest state that the queue or its consumers have under key.
func (q *deltaQueue) latest(key string) (any, bool) {
	if d, ok := q.newest(key); ok {
		return d.Object, d.Type != Deleted
	}
	return latestIn(q.known, key)
}

// latestIn returns what known has under key. known may be nil.
func latestIn(known KeyGetter, key string) (any, bool) {
	if known == nil {
		return nil, false
	}
	obj, ok, err := known.GetByKey(key)
	return obj, ok && err == nil
}

// DeltaFIFOOptions say how a DeltaFIFO works. All are optional. Logger has no
// effect: what goes wrong with KnownObjects is reported as other errors are.
type DeltaFIFOOptions = kc.DeltaFIFOOptions

// DeltaFIFO is a Queue that holds the deltas of each key since it was last
// popped, and pops keys in the order in which they were queued. Its items are
// of type Deltas, copies. All methods are safe for concurrent use, and only Pop blocks.
// The package's documentation lists where client-go differs.
type DeltaFIFO struct {
	deltaQueue
	queueReader
}

var (
	_ Queue             = (*DeltaFIFO)(nil)
	_ TransformingStore = (*DeltaFIFO)(nil)
	_ DoneChecker       = (*DeltaFIFO)(nil)
)

// NewDeltaFIFO returns an empty DeltaFIFO that queues replaced objects as Sync.
//
// Deprecated: NewDeltaFIFOWithOptions can tell the two apart.
func NewDeltaFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter) *DeltaFIFO {
	return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects})
}

// NewDeltaFIFOWithOptions returns an empty DeltaFIFO. It starts no goroutine.
func NewDeltaFIFOWithOptions(opts DeltaFIFOOptions) *DeltaFIFO {
	f := &DeltaFIFO{deltaQueue: deltaQueue{
		queue: queue{keyed: true}, keyFunc: opts.KeyFunction, known: opts.KnownObjects, transformer: opts.Transformer, replaced: Sync,
	}}
	if opts.EmitDeltaTypeReplaced {
		f.replaced = Replaced
	}
	f.init("DeltaFIFO", opts.Name)
	f.queueReader = queueReader{&f.deltaQueue.queue, f.deltaQueue.key, func(e *entry) any { return slices.Clone(e.deltas) }}
	return f
}

// KeyOf returns the key of an object, of a DeletedFinalStateUnknown or of
// Deltas. The error is the key function's, or a KeyError for empty Deltas.
func (f *DeltaFIFO) KeyOf(obj any) (string, error) { return f.keyOf(obj) }

// AddIfNotPresent queues Deltas that were popped, unless something is queued
// under their key. To make Pop put back what it popped, return ErrRequeue instead.
func (f *DeltaFIFO) AddIfNotPresent(obj any) error {
	deltas, ok := obj.(Deltas)
	if !ok {
		return fmt.Errorf("only Deltas can be put back into a DeltaFIFO, not %T", obj)
	}
	key, err := f.deltaQueue.key(deltas)
	if err != nil {
		return err
	}
	for _, d := range deltas {
		switch d.Type {
		case Added, Updated, Deleted, Replaced, Sync:
		default:
			return fmt.Errorf("a delta of type %q does not belong to one object", d.Type)
		}
	}
	return f.write(nil, func() []error {
		f.populated = true
		if _, ok := f.find(key); !ok {
			f.hold(key).deltas = slices.Clone(deltas)
		}
		return nil
	})
}
