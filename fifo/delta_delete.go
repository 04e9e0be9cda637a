package fifo

// Delete queues a Deleted delta with obj as the final state. It is ignored if
// the key is neither queued, nor in flight and not being deleted there, nor
// known: somebody has told of that deletion before, a Replace for example. A
// failed look-up in Known counts as known, and is reported.
//
// An ignored object is not transformed. The error is a *KeyError or a
// *TransformError.
func (f *DeltaFIFO[K, T]) Delete(obj T) error {
	key, err := f.Key(obj)
	if err != nil {
		return err
	}
	if f.opts.Transform != nil {
		// Transform runs without the lock, so what it is needed for is
		// asked before, and again when the lock is there.
		if !f.present(key) {
			return nil
		}
		if obj, err = f.opts.transform(key, obj); err != nil {
			return err
		}
	}
	f.remove(key, Delta[T]{Type: Deleted, Object: obj})
	return nil
}

// DeleteUnknown is Delete for who missed the deletion: it queues a Deleted
// delta that says so and carries the state that was seen last. That object is
// not transformed: it comes from behind the queue.
func (f *DeltaFIFO[K, T]) DeleteUnknown(key K, lastSeen T) {
	f.remove(key, Delta[T]{Type: Deleted, Knowledge: LastSeen, Object: lastSeen})
}

// DeleteKey is DeleteUnknown for who does not have any state of the object.
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

// present reports whether a delete of key would be queued. If it would not,
// that was a write of nothing, but a write.
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
		// What is in flight decides before Known, which may show it
		// already or not yet.
		return e.waiting.held || !e.flight.value.gone(), nil
	}
	if f.opts.Known == nil {
		return false, nil
	}
	_, ok, err := f.opts.Known.Get(key)
	if err != nil {
		return true, []error{&LookupError[K]{Key: key, Err: err}}
	}
	return ok, nil
}
