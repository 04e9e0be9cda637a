package fifo

// Replace makes list the state of all keys. It queues a Replaced delta (or
// Sync, see Options.ReplaceAsSync) for each object of list, in its order, and
// then a Deleted delta of unknown final state for every key that is queued, in
// flight or known and not in list. That delta has the newest object in the
// queue, else the one in Known, else the key only. A failed lookup counts as
// the latter, and is reported. The slice stays the caller's.
//
// If no other write came before, what waits now is the first batch; see
// HasSynced.
//
// The error is a KeyError or the transform's, and then nothing was queued.
// The lock is held for O(list + queued + known).
func (f *DeltaFIFO[K, T]) Replace(list []T) error {
	keys, list, err := f.prepareAll(list)
	if err != nil {
		return err
	}
	errs := f.replaceAndPublish(keys, list)
	f.opts.report(errs)
	return nil
}

func (f *DeltaFIFO[K, T]) replaceAndPublish(keys []K, list []T) []error {
	f.mu.Lock()
	defer f.publish()
	f.line.stamp++
	for i, key := range keys {
		f.append(key, Delta[T]{Type: f.opts.replaced(), Object: list[i]}).mark = f.line.stamp
	}
	f.deleteUnlistedHeld()
	errs := f.deleteUnlistedKnown()
	f.line.markInitial()
	return errs
}

// deleteUnlistedHeld queues a delete for each entry, queued or in flight,
// without the current mark.
func (f *DeltaFIFO[K, T]) deleteUnlistedHeld() {
	l := &f.line
	for e := l.head; e != nil; e = e.next {
		if e.mark != l.stamp {
			l.put(e, e.waiting.value.with(vanished(e.waiting.value)))
		}
	}
	for _, e := range l.inFlight() {
		// The loop above has handled entries that are queued too.
		if !e.waiting.held && !e.flight.value.gone() {
			l.put(e, Deltas[T]{vanished(e.flight.value)})
		}
	}
}

// vanished returns the delete of an object whose last deltas are these.
func vanished[T any](deltas Deltas[T]) Delta[T] {
	newest, _ := deltas.Newest()
	return Delta[T]{Type: Deleted, Knowledge: max(newest.Knowledge, LastSeen), Object: newest.Object}
}

// deleteUnlistedKnown queues a delete for each known key without an entry:
// listed keys have one, and so have keys on their way to the consumers.
func (f *DeltaFIFO[K, T]) deleteUnlistedKnown() []error {
	return f.opts.eachKnown(f.hasEntry, func(key K, obj T, found bool) {
		f.append(key, missed(obj, found))
	})
}

func (f *DeltaFIFO[K, T]) hasEntry(key K) bool { return f.line.entries[key] != nil }

// Resync queues a Sync delta for every known object whose key is neither queued
// nor in flight, since what is on its way is newer. A key that cannot be looked
// up is left out; an error of Known is reported. The lock is held for O(known).
func (f *DeltaFIFO[K, T]) Resync() {
	errs := f.resyncAndPublish()
	f.opts.report(errs)
}

func (f *DeltaFIFO[K, T]) resyncAndPublish() []error {
	f.mu.Lock()
	defer f.publish()
	return f.opts.eachKnown(f.hasEntry, func(key K, obj T, found bool) {
		if found {
			f.append(key, Delta[T]{Type: Sync, Object: obj})
		}
	})
}
