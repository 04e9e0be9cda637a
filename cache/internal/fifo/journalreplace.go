package fifo

import "slices"

// Replace makes list the state of all keys. First it queues a Deleted record of
// unknown final state for every key that is not in list and is present: queued
// or in flight, and not as deleted, or known and neither queued nor in flight.
// Then it queues a Replaced record (or Sync, see Options.ReplaceAsSync) for
// each object of list, in its order. A failed lookup leaves the object out of
// its delete, and is reported. The slice stays the caller's.
//
// If no other write came before, what waits now is the first batch; see
// HasSynced.
//
// The error is a KeyError or the transform's, and then nothing was queued.
// The lock is held for O(list + queued + known).
func (j *Journal[K, T]) Replace(list []T) error {
	keys, list, err := j.prepareAll(list)
	if err != nil {
		return err
	}
	errs := j.replaceAndPublish(keys, list)
	j.opts.report(errs)
	return nil
}

func (j *Journal[K, T]) replaceAndPublish(keys []K, list []T) []error {
	j.mu.Lock()
	defer j.publish()
	listed := make(map[K]struct{}, len(keys))
	for _, key := range keys {
		listed[key] = struct{}{}
	}
	queued, order := j.ledger.newest()
	for _, key := range order {
		if _, ok := listed[key]; !ok && queued[key].Type != Deleted {
			j.ledger.push(key, vanished(Deltas[T]{queued[key]}))
		}
	}
	errs := j.deleteUnlistedKnown(listed, queued)
	for i, key := range keys {
		j.ledger.push(key, Delta[T]{Type: j.opts.replaced(), Object: list[i]})
	}
	j.ledger.markInitial()
	return errs
}

// deleteUnlistedKnown queues a delete for each known key that is neither listed
// nor on its way to the consumers.
func (j *Journal[K, T]) deleteUnlistedKnown(listed map[K]struct{}, queued map[K]Delta[T]) []error {
	there := func(key K) bool {
		_, isListed := listed[key]
		_, isQueued := queued[key]
		return isListed || isQueued
	}
	return j.opts.eachKnown(there, func(key K, obj T, found bool) {
		j.ledger.push(key, missed(obj, found))
	})
}

// Resync queues a Sync record for every known object whose key is neither
// queued nor in flight, since what is on its way is newer. A key that cannot be
// looked up is left out; an error of Known is reported. The lock is held for
// O(queued + known).
func (j *Journal[K, T]) Resync() {
	errs := j.resyncAndPublish()
	j.opts.report(errs)
}

func (j *Journal[K, T]) resyncAndPublish() []error {
	j.mu.Lock()
	defer j.publish()
	queued, _ := j.ledger.newest()
	isQueued := func(key K) bool { _, is := queued[key]; return is }
	return j.opts.eachKnown(isQueued, func(key K, obj T, found bool) {
		if found {
			j.ledger.push(key, Delta[T]{Type: Sync, Object: obj})
		}
	})
}

// ReplaceAll is Replace in one record, of type ReplacedAll, with list and
// version. It does not query Known. The error is a KeyError or the transform's,
// and then nothing was queued.
func (j *Journal[K, T]) ReplaceAll(list []T, version string) error {
	_, transformed, err := j.prepareAll(list)
	if err != nil {
		return err
	}
	if j.opts.Transform == nil {
		transformed = slices.Clone(list)
	}
	j.mu.Lock()
	defer j.publish()
	j.pushWhole(ReplacedAll, &whole[T]{list: transformed, version: version})
	j.ledger.markInitial()
	return nil
}

// SyncAll is Resync in one record. The consumer must find the known objects.
func (j *Journal[K, T]) SyncAll() {
	j.mu.Lock()
	defer j.publish()
	j.pushWhole(SyncAll, &whole[T]{})
}
