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
// names what was removed. The map is nil until the first such write, and empty most of
// the time: the source sends an event for each object that was written ahead of it.
type byHand[T any] struct {
	// from is whether a Reported batch was applied. Receivers know nothing before.
	from bool
	keys map[Key]received[T]
}

// received is what receivers know of a key: the object that was removed, if known is
// set, else nothing.
type received[T any] struct {
	known  bool
	object T
}

// ByHand returns the keys for which receivers of Reported batches know something else
// than the store holds: true for one that was removed without their knowledge, false
// for one that was put.
func (s *Store[T]) ByHand() map[Key]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byHand.keys) == 0 {
		return nil
	}
	keys := make(map[Key]bool, len(s.byHand.keys))
	for key, r := range s.byHand.keys {
		keys[key] = r.known
	}
	return keys
}

// putLocked records that a write that is not reported puts a key.
func (s *Store[T]) putLocked(key Key, found bool) {
	if h := &s.byHand; h.from && !found {
		h.differ(key, received[T]{})
	}
}

// removedLocked records that a write that is not reported removed old.
func (s *Store[T]) removedLocked(key Key, old T) {
	if h := &s.byHand; h.from {
		h.differ(key, received[T]{true, old})
	}
}

// differ records what receivers know of a key that was put or removed; if it was not
// what they know before, it is now.
func (h *byHand[T]) differ(key Key, r received[T]) {
	if _, is := h.keys[key]; is {
		delete(h.keys, key)
		return
	}
	if h.keys == nil {
		h.keys = map[Key]received[T]{}
	}
	h.keys[key] = r
}

// reportLocked forgets what was written by hand under a key that a Reported batch
// names. It returns what receivers know if the store holds nothing, or whether what it
// holds was put by hand.
func (s *Store[T]) reportLocked(key Key) (r received[T], byHand bool) {
	if len(s.byHand.keys) == 0 {
		return r, false
	}
	if r, byHand = s.byHand.keys[key]; byHand {
		delete(s.byHand.keys, key)
	}
	return r, byHand && !r.known
}

// tellRemovedLocked reports what was removed by hand within the scope of a list, which
// names none of it.
func (s *Store[T]) tellRemovedLocked(b *Batch[T], changed func(Change[T])) {
	if !b.Reported {
		return
	}
	s.byHand.from = true
	for _, key := range slices.SortedFunc(maps.Keys(s.byHand.keys), Key.Compare) {
		if !s.inScope(&b.Scope, key) {
			continue
		}
		r, _ := s.reportLocked(key)
		if changed != nil && r.known {
			changed(Change[T]{Type: Deleted, Key: key, Old: r.object,
				ResourceVersion: b.ResourceVersion, Reason: b.Reason, FinalStateUnknown: true})
		}
	}
}
