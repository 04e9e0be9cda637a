package store

import (
	"maps"
	"slices"
)

// byHand has a key from a write other than a Reported batch until the next Reported
// batch that names the key, or its scope: until then receivers of the changes may know
// something else than the store holds. That batch tells them what the source has, as a
// change of what they know, even if the store holds that already.
//
// A key leaves as well if an object was put that no receiver knows, and is removed. The
// map is nil until the first such write, and empty most of the time: the source sends an
// event for each object that was written ahead of it.
type byHand[T any] struct {
	// from is whether a Reported batch was applied, or somebody has begun to receive: of an
	// informer without sources. Receivers know nothing before.
	from bool
	keys map[Key]received[T]
}

// received is what receivers know of a key.
type received[T any] struct {
	// known: some state of it. shown: nothing, but some have begun since, and had in the
	// state of the store what was put by hand.
	known, shown bool
	// object is the last that was held, if none is held.
	object T
}

// Begin returns the present state for somebody who receives the changes of Reported
// batches from now on, and the keys of which the earlier receivers know something else
// than whether there is an object: true for an object that was put without their
// knowledge, false for one that was removed. Both are of one moment.
func (s *Store[T]) Begin() (state *Snapshot[T], byHand map[Key]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byHand.from = true
	state = s.current()
	for key, r := range s.byHand.keys {
		_, held := state.Get(key)
		if held == r.known {
			continue
		}
		if byHand == nil {
			byHand = map[Key]bool{}
		}
		byHand[key] = held
		if held {
			s.byHand.keys[key] = received[T]{shown: true}
		}
	}
	return state, byHand
}

// putLocked records that a write that is not reported puts a key.
func (s *Store[T]) putLocked(key Key, found bool) {
	h := &s.byHand
	if !h.from {
		return
	}
	r, is := h.keys[key]
	switch {
	case !is:
		h.set(key, received[T]{known: found})
	case !found:
		// Though it may be what they know, some may have begun without it.
		h.keys[key] = received[T]{known: r.known, shown: r.shown}
	}
}

// removedLocked records that a write that is not reported removed old.
func (s *Store[T]) removedLocked(key Key, old T) {
	h := &s.byHand
	if !h.from {
		return
	}
	r, is := h.keys[key]
	if is && !r.known && !r.shown {
		delete(h.keys, key)
		return
	}
	h.set(key, received[T]{known: !is || r.known, shown: r.shown, object: old})
}

// RemovedByHand returns an object that receivers know under a key of which a write that was
// not reported has removed it; ok is false if there is none.
func (s *Store[T]) RemovedByHand(key Key) (obj T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byHand.keys[key]
	_, held := s.current().Get(key)
	return r.object, (r.known || r.shown) && !held
}

func (h *byHand[T]) set(key Key, r received[T]) {
	if h.keys == nil {
		h.keys = map[Key]received[T]{}
	}
	h.keys[key] = r
}

// reportLocked returns the object that a write replaces, and whether there is one. If the
// write is reported and the key was written by hand before, it returns byHand, forgets
// that, and always sets found. Then unknown means that the only receivers that know an
// object under the key are those that began with one.
func (s *Store[T]) reportLocked(at location[T], key Key, reported bool) (old T, found, byHand, unknown bool) {
	old, found = at.object(), at.found()
	if !reported || len(s.byHand.keys) == 0 {
		return old, found, false, false
	}
	r, byHand := s.byHand.keys[key]
	if !byHand {
		return old, found, false, false
	}
	delete(s.byHand.keys, key)
	if !found {
		old = r.object
	}
	return old, true, true, !r.known
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
