package store

import (
	"maps"
	"slices"
)

// byHand are the keys for which a write other than a Reported batch has made the store
// differ from what receivers of the changes know: an object was put that they do not
// know, or one that they know was removed. The next Reported batch that names the key
// tells them what the source has, as a change of what they know.
//
// A key is here only while the store holds what was put, or until a Reported batch
// names what was removed and some receiver knows. The map is nil until the first such write, and empty most of
// the time: the source sends an event for each object that was written ahead of it.
type byHand[T any] struct {
	// from is whether a Reported batch was applied. Receivers know nothing before.
	from bool
	keys map[Key]received[T]
}

// received is what receivers know of a key: object if known is set, else nothing. But if
// shown is set, some have begun while an object was held that had been put by hand, and
// so know that one. If it is no longer held either, object is the last.
type received[T any] struct {
	known, shown bool
	object       T
}

// ByHand returns the keys for which receivers of Reported batches know something else
// than the store holds: true for one that was removed without their knowledge, false
// for one that was put. Somebody who begins with what is held is told of the ends of
// the latter from now on.
func (s *Store[T]) ByHand() map[Key]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byHand.keys) == 0 {
		return nil
	}
	keys := make(map[Key]bool, len(s.byHand.keys))
	for key, r := range s.byHand.keys {
		keys[key] = r.known
		r.shown = !r.known
		s.byHand.keys[key] = r
	}
	return keys
}

// putLocked records that a write that is not reported puts a key.
func (s *Store[T]) putLocked(key Key, found bool) {
	h := &s.byHand
	if found || !h.from {
		return
	}
	switch r, is := h.keys[key]; {
	case r.known:
		delete(h.keys, key)
	case is:
		h.keys[key] = received[T]{shown: true}
	default:
		h.set(key, received[T]{})
	}
}

// removedLocked records that a write that is not reported removed old.
func (s *Store[T]) removedLocked(key Key, old T) {
	h := &s.byHand
	if !h.from {
		return
	}
	switch r, is := h.keys[key]; {
	case !is:
		h.set(key, received[T]{known: true, object: old})
	case r.shown:
		h.keys[key] = received[T]{shown: true, object: old}
	default:
		delete(h.keys, key)
	}
}

func (h *byHand[T]) set(key Key, r received[T]) {
	if h.keys == nil {
		h.keys = map[Key]received[T]{}
	}
	h.keys[key] = r
}

// reportLocked returns what a write finds under a key, and forgets what was written there
// by hand if the write is reported: found is then whether receivers know the object, or,
// with byHand, only those to whom it was shown.
func (s *Store[T]) reportLocked(at location[T], key Key, reported, deleted bool) (old T, found, byHand bool) {
	old, found = at.object(), at.found()
	if !reported || len(s.byHand.keys) == 0 {
		return old, found, false
	}
	r, is := s.byHand.keys[key]
	if !is {
		return old, found, false
	}
	delete(s.byHand.keys, key)
	switch {
	case found:
		return old, true, true
	case r.known || deleted:
		return r.object, true, !r.known
	}
	return old, false, false
}

// tellRemovedLocked reports what was removed by hand within the scope of a list, which
// names none of it.
func (s *Store[T]) tellRemovedLocked(b *Batch[T], changed func(Change[T])) {
	if !b.Reported {
		return
	}
	s.byHand.from = true
	for _, key := range slices.SortedFunc(maps.Keys(s.byHand.keys), Key.Compare) {
		if _, held := s.draft.Get(key); held || !s.inScope(&b.Scope, key) {
			continue
		}
		r := s.byHand.keys[key]
		delete(s.byHand.keys, key)
		if changed != nil {
			changed(Change[T]{Type: Deleted, Key: key, Old: r.object, Last: r.object, ByHand: !r.known,
				ResourceVersion: b.ResourceVersion, Reason: b.Reason, FinalStateUnknown: true})
		}
	}
}
