package store

import (
	"iter"
	"slices"
)

// Replace makes a scope equal to a list. Every operation of the batch is treated as a
// put. Objects in the scope that no operation names are deleted; keys outside the
// scope are not touched. Readers see the whole result at once, with the scope's
// version, when it is done; until then they see the previous state, and wait for
// nothing.
//
// Changes are appended in the order of the operations, the deletes after them in the
// order of keys, all with the batch's ResourceVersion. A Deleted change has
// FinalStateUnknown set, because the delete itself was missed. An object that is the
// very one that is held (the same pointer) is not written again, unless b.Rewrite is
// set. An object that Options.Equal finds equal is neither written nor reported as a
// change (but see Batch.Reported).
//
// It costs a look at every object of the list, and at every object of the store in
// the scope's Span that the list does not have. The error reports what cannot be
// stored, as Apply's does; such an object counts as not in the list.
func (s *Store[T]) Replace(b Batch[T], changes []Change[T]) ([]Change[T], error) {
	err := s.ReplaceSeq(b, slices.Values(b.Ops), func(c Change[T]) {
		if changes == nil {
			// Most lists change little in a store that is not empty: reserve only for
			// the surplus of the list.
			changes = make([]Change[T], 0, max(8, len(b.Ops)-s.draft.n))
		}
		changes = append(changes, c)
	})
	return changes, err
}

// ReplaceSeq is Replace for operations that come one by one, instead of b.Ops, so
// that a large list need not be in memory twice. changed is called with each change,
// and may be nil. ops and changed run while the store is locked for writing: they may
// read it, which shows the previous state, and must not write to it.
func (s *Store[T]) ReplaceSeq(b Batch[T], ops iter.Seq[Op[T]], changed func(Change[T])) (err error) {
	s.mu.Lock()
	defer s.unlock(&err)
	s.beginDraft()
	s.beginBulk()
	named := make(slotBits, s.slots/64+1)
	for op := range ops {
		op.Delete, op.ResourceVersion = false, ""
		if !s.admit(&b.Scope, &op) {
			continue
		}
		at := s.locate(op.Key)
		c := Change[T]{Type: Added, Key: op.Key, New: op.Object, ResourceVersion: b.ResourceVersion, Reason: b.Reason}
		write := true
		old, known, byHand, unknown := s.reportLocked(at, op.Key, b.Reported)
		if known {
			c.Type, c.Old, c.ByHand = Updated, old, unknown
		}
		if at.found() {
			named.set(at.slot)
			write = b.Rewrite || s.identical == nil || !s.identical(c.Old, op.Object)
			if s.opts.Equal != nil && !b.Rewrite && !byHand && (!write || s.equal(op.Key, c.Old, op.Object)) {
				continue
			}
		}
		if write {
			if !b.Reported {
				s.putLocked(op.Key, at.found())
			}
			slot := s.put(at, op.Key, &op, &b)
			for slot/64 >= uint32(len(named)) {
				named = append(named, 0)
			}
			named.set(slot)
		}
		if changed != nil {
			changed(c)
		}
	}
	s.sweep(&b, named, changed)
	s.tellRemovedLocked(&b, changed)
	if b.ResourceVersion != "" {
		s.draft.setVersion(&b, b.ResourceVersion)
	}
	return nil
}

// sweep deletes the objects in the scope that were not named.
func (s *Store[T]) sweep(b *Batch[T], named slotBits, changed func(Change[T])) {
	w := s.draft
	var missing []uint32
	w.spanSlots(&b.Scope.Span, func(slots []uint32) bool {
		for _, slot := range slots {
			if !named.has(slot) && (b.Scope.Contains == nil || s.inScope(&b.Scope, w.keyOf(slot))) {
				missing = append(missing, slot)
			}
		}
		return true
	})
	done := 0
	defer func() { s.endBulk(missing[:done]) }()
	if changed == nil && !s.byHand.from {
		done = len(missing)
		return
	}
	for _, slot := range missing {
		key, old := w.keyOf(slot), w.blocks.at(slot).obj
		r, byHand := s.byHand.keys[key]
		if !b.Reported {
			s.removedLocked(key, old)
		} else if byHand {
			delete(s.byHand.keys, key)
		}
		if done++; changed != nil {
			changed(Change[T]{Type: Deleted, Key: key, Old: old, Last: old, ByHand: byHand && !r.known,
				ResourceVersion: b.ResourceVersion, Reason: b.Reason, FinalStateUnknown: true})
		}
	}
}
