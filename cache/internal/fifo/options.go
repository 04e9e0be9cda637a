package fifo

// Options of a DeltaFIFO or a Journal. The zero value works, and there is no wrong one.
type Options[K comparable, T any] struct {
	// Known is what the consumers have. Without it Replace finds only those
	// deletions whose objects are in the queue, Delete is ignored for objects
	// that are not in the queue (a Journal queues it), and Resync does nothing.
	Known Known[K, T]

	// Transform is called with every object once, before it is queued. Its result is
	// queued instead, under the key that the object had before. It may modify its
	// argument. The writer calls it, without a lock, so concurrently if there are
	// several writers.
	//
	// It is not called again with objects that it has returned: those that are
	// synced, put back, or last seen before an unseen deletion.
	Transform func(T) (T, error)

	// ReplaceAsSync makes Replace queue Sync deltas instead of Replaced ones, for
	// consumers that do not know Replaced.
	ReplaceAsSync bool

	// OnError is called with failed lookups in Known, as *LookupError, by the writer
	// after its write, without a lock. If nil, they are dropped.
	OnError func(error)
}

func (o *Options[K, T]) report(errs []error) {
	for _, err := range errs {
		if o.OnError != nil {
			o.OnError(err)
		}
	}
}

// transform returns the object to queue for obj.
func (o *Options[K, T]) transform(obj T) (T, error) {
	if o.Transform == nil {
		return obj, nil
	}
	return o.Transform(obj)
}

// transformAll is transform for a list, which it does not change.
func (o *Options[K, T]) transformAll(list []T) ([]T, error) {
	if o.Transform == nil {
		return list, nil
	}
	transformed := make([]T, len(list))
	for i, obj := range list {
		var err error
		if transformed[i], err = o.transform(obj); err != nil {
			return nil, err
		}
	}
	return transformed, nil
}

// replaced returns the type of a delta of a listed object.
func (o *Options[K, T]) replaced() DeltaType {
	if o.ReplaceAsSync {
		return Sync
	}
	return Replaced
}

// Known is what the consumers of a DeltaFIFO have: usually the store that their process
// functions keep up to date. The queue queries it for missed deletions, and for objects
// to sync.
//
// Both methods are called with the queue's lock held, so they must not call the queue;
// they must be safe for concurrent use with writers of the store.
//
// A process function must have made its changes when it returns: from then on the queue
// relies on Known for that key.
type Known[K comparable, T any] interface {
	// ListKeys returns the keys of all objects, each once. Every key is
	// the one that the queue's key function finds for its object.
	ListKeys() []K
	// GetByKey returns the object under key.
	GetByKey(key K) (obj T, ok bool, err error)
}

// eachKnown calls visit with each known object, except those whose keys skip accepts.
// found is false if the object is gone or its lookup failed; the errors of failed
// lookups are returned. The caller holds the lock.
func (o *Options[K, T]) eachKnown(skip func(K) bool, visit func(key K, obj T, found bool)) (errs []error) {
	if o.Known == nil {
		return nil
	}
	for _, key := range o.Known.ListKeys() {
		if skip(key) {
			continue
		}
		obj, found, err := o.Known.GetByKey(key)
		if err != nil {
			errs = append(errs, &LookupError[K]{Key: key, Err: err})
		}
		visit(key, obj, found && err == nil)
	}
	return errs
}

// missed returns the delete of a known object that a list does not have.
func missed[T any](obj T, found bool) Delta[T] {
	if !found {
		return Delta[T]{Type: Deleted, Knowledge: KeyOnly}
	}
	return Delta[T]{Type: Deleted, Knowledge: LastSeen, Object: obj}
}
