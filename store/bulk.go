package store

// A Replace whose keys are mostly new, or mostly gone, rebuilds the tree and
// the sets of slots from their parts, in order. That costs a fraction of as
// many insertions and removals.

// bulk is what a Replace has deferred until its end.
type bulk[T any] struct {
	// added holds the new keys. They are not in the version's tree yet.
	added treeBuilder[T]
	// deferring is whether the indexers defer new slots.
	deferring bool
}

// beginBulk makes the operations until endBulk defer their work.
func (s *Store[T]) beginBulk() {
	s.bulk = &bulk[T]{added: treeBuilder[T]{v: s.draft}, deferring: true}
	for _, x := range s.indexers {
		x.deferring = true
	}
}

// stopDeferring enters the slots that the indexers have deferred, since a slot
// that is already in an index is about to move.
func (s *Store[T]) stopDeferring() {
	if s.bulk == nil || !s.bulk.deferring {
		return
	}
	s.bulk.deferring = false
	s.updateIndexes(nil)
}

// updateIndexes enters the deferred slots in every index, and removes those in
// gone.
func (s *Store[T]) updateIndexes(gone slotBits) {
	w := s.draft
	for i, x := range s.indexers {
		var removed []filed
		gone.each(func(slot uint32) {
			removed = x.unfile(s.filings.at(slot, x.col), slot, removed)
		})
		if x.deferring = false; len(x.added)+len(removed) > 0 {
			x.update(&w.ownIndexes()[i], s.hints.seeds[0], x.added, removed, gone, w.epoch)
		}
		x.added = nil
	}
}

// endBulk erases the missing slots, and enters what was deferred in the tree
// and the indexes. unlock calls it if a user function has ended the goroutine
// before.
func (s *Store[T]) endBulk(missing []uint32) {
	if s.bulk == nil {
		return
	}
	w, added := s.draft, &s.bulk.added
	s.bulk = nil
	if changed := added.n + len(missing); changed < w.n-changed {
		s.updateIndexes(nil)
		added.each(func(slot uint32) { w.insert(w.keyOf(slot), slot) })
		for _, slot := range missing {
			key := w.keyOf(slot)
			s.erase(location[T]{fingerprint: s.hints.of(key), slot: slot, entry: w.blocks.at(slot)}, key, &Batch[T]{}, "")
		}
		return
	}
	gone := make(slotBits, s.slots/64+1)
	for _, slot := range missing {
		gone.set(slot)
	}
	w.root = added.merged(gone)
	s.updateIndexes(gone)
	w.blocks.clearAll(gone, w.epoch)
	w.n -= len(missing)
	s.goneSlots = gone
}

// merged returns the tree of the added keys and of the version's slots that are
// not in gone.
func (b *treeBuilder[T]) merged(gone slotBits) *node {
	b.v.eachSlot(func(slot uint32) bool {
		if !gone.has(slot) {
			b.add(b.v.keyOf(slot), slot)
		}
		return true
	})
	return b.root()
}
