package store

// A Replace whose keys are mostly new, or mostly gone, builds the tree and the
// sets of slots anew from their parts, in order, which costs a fraction of so
// many insertions and removals.

// bulk is what a Replace has put aside until its end.
type bulk[T any] struct {
	// added has the new keys. They are not in the version's tree yet.
	added treeBuilder[T]
	// deferring is whether the indexers put new slots aside.
	deferring bool
}

// beginBulk has the operations until endBulk put things aside.
func (s *Store[T]) beginBulk() {
	s.bulk = &bulk[T]{added: treeBuilder[T]{v: s.draft}, deferring: true}
	for _, x := range s.indexers {
		x.deferring = true
	}
}

// stopDeferring enters the slots that the indexers have put aside, since one
// that is in an index is about to move.
func (s *Store[T]) stopDeferring() {
	if s.bulk == nil || !s.bulk.deferring {
		return
	}
	s.bulk.deferring = false
	s.updateIndexes(nil)
}

// updateIndexes enters in every index the slots that were put aside, and takes
// out those in gone.
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

// endBulk erases slots, and enters in the tree and the indexes what was put
// aside. unlock calls it if a user's function has ended the goroutine before.
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
			s.erase(location[T]{fingerprint: s.hints.of(key), slot: slot, entry: w.blocks.at(slot)}, key, "", "")
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

// merged returns the tree of what was added and of the version's slots that are
// not in gone.
func (b *treeBuilder[T]) merged(gone slotBits) *node {
	b.v.eachSlot(b.v.root, func(slot uint32) bool {
		if !gone.has(slot) {
			b.add(b.v.keyOf(slot), slot)
		}
		return true
	})
	return b.root()
}
