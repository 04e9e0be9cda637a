package cache

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

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
