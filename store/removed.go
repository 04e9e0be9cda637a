package store

import (
	"maps"
	"slices"
)

// removals are the objects that were removed by a write other than a Reported
// batch. Receivers of the changes still know them, so the next Reported batch
// reports its changes as if they were there: an add of the key is an Updated,
// and its absence a Deleted. A key that another write puts again is no longer a
// removal.
//
// The map is nil until the first removal, and empty most of the time: the source
// sends an event for each key that was removed ahead of it.
type removals[T any] struct {
	// from is whether a Reported batch was applied. Receivers know nothing that
	// was removed before.
	from bool
	objs map[Key]T
}

// Removed returns the keys, in no order, of the objects that were removed by a
// write that was not reported, and that no Reported batch has named since.
func (s *Store[T]) Removed() []Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.removed.objs))
}

// removedLocked records that a write removed old.
func (s *Store[T]) removedLocked(reported bool, key Key, old T) {
	switch r := &s.removed; {
	case reported || !r.from:
	case r.objs == nil:
		r.objs = map[Key]T{key: old}
	default:
		if _, is := r.objs[key]; !is {
			r.objs[key] = old
		}
	}
}

// recallLocked forgets the removal of a key that is written now, and returns the
// removed object.
func (s *Store[T]) recallLocked(key Key) (old T, was bool) {
	if len(s.removed.objs) == 0 {
		return old, false
	}
	old, was = s.removed.objs[key]
	delete(s.removed.objs, key)
	return old, was
}

// knownLocked returns what an operation finds under its key: what the store
// holds, and for a Reported batch also what was removed.
func (s *Store[T]) knownLocked(at location[T], op *Op[T], reported bool) (old T, known bool) {
	if reported || !op.Delete {
		old, known = s.recallLocked(op.Key)
	}
	if at.found() || !reported {
		return at.object(), at.found()
	}
	return old, known
}

// tellRemovedLocked reports the removals within the scope of a list, which names
// none of them, and forgets them.
func (s *Store[T]) tellRemovedLocked(b *Batch[T], changed func(Change[T])) {
	if !b.Reported {
		return
	}
	s.removed.from = true
	for _, key := range slices.SortedFunc(maps.Keys(s.removed.objs), Key.Compare) {
		if !s.inScope(&b.Scope, key) {
			continue
		}
		old, _ := s.recallLocked(key)
		if changed == nil {
			continue
		}
		changed(Change[T]{Type: Deleted, Key: key, Old: old,
			ResourceVersion: b.ResourceVersion, Reason: b.Reason, FinalStateUnknown: true})
	}
}
