package store

import "slices"

// Replace makes a scope equal to a list. Every operation of the batch is taken
// as a put; what the store holds in the scope and no operation names is
// deleted; keys outside the scope are not touched. Readers see all of it at
// once, when it is done, with the scope's version; until then they see what
// was before, and wait for nothing.
//
// Changes are appended in the order of the operations, the deletes after them
// in the order of keys, all with the batch's ResourceVersion. A Deleted change
// has FinalStateUnknown set, for the delete itself was missed. An object that
// is the very one that is held (the same pointer) is not written again; nor is
// one of which Options.Equal says that it equals it, and that one is reported
// as no change either.
//
// It costs a look at every object of the list, and at every object of the
// store that the list does not have. What cannot be put is reported as by
// Apply, and counts as not in the list.
func (s *Store[T]) Replace(b Batch[T], changes []Change[T]) []Change[T] {
	s.mu.Lock()
	defer s.unlock()
	s.beginDraft()
	changes = slices.Grow(changes, len(b.Ops))
	named := make(slotBits, (s.slots+uint32(len(b.Ops))+63)/64)
	for i := range b.Ops {
		op := b.Ops[i]
		op.Delete, op.ResourceVersion = false, ""
		if !s.admit(&b.Scope, &op) {
			continue
		}
		at := s.locate(op.Key)
		c := Change[T]{Type: Added, Key: op.Key, New: op.Object, ResourceVersion: b.ResourceVersion, Reason: b.Reason}
		write := true
		if at.found() {
			named.set(at.slot)
			c.Type, c.Old = Updated, at.object()
			write = s.identical == nil || !s.identical(c.Old, op.Object)
			if s.opts.Equal != nil && (!write || s.equal(op.Key, c.Old, op.Object)) {
				continue
			}
		}
		if write {
			named.set(s.put(at, op.Key, &op, b.Scope.ID))
		}
		changes = append(changes, c)
	}
	changes = s.sweep(&b, named, changes)
	if b.ResourceVersion != "" {
		s.draft.setVersion(b.Scope.ID, b.ResourceVersion)
	}
	return changes
}

// sweep deletes what is in the scope and was not named.
func (s *Store[T]) sweep(b *Batch[T], named slotBits, changes []Change[T]) []Change[T] {
	w := s.draft
	var missing []uint32
	w.eachSlot(w.root, func(slot uint32) {
		if !named.has(slot) && s.inScope(&b.Scope, w.keyOf(slot)) {
			missing = append(missing, slot)
		}
	})
	for _, slot := range missing {
		key := w.keyOf(slot)
		at := location[T]{fingerprint: s.hints.of(key), slot: slot, entry: w.pages.at(slot)}
		changes = append(changes, Change[T]{Type: Deleted, Key: key, Old: at.object(),
			ResourceVersion: b.ResourceVersion, Reason: b.Reason, FinalStateUnknown: true})
		s.erase(at, key, "", "")
	}
	return changes
}

// eachSlot visits the slots below n in key order.
func (v *Snapshot[T]) eachSlot(n *node, visit func(uint32)) {
	switch {
	case n == nil:
	case n.in == nil:
		for _, slot := range n.slots[:n.n] {
			visit(slot)
		}
	default:
		for _, kid := range n.in.kids[:n.n+1] {
			v.eachSlot(kid, visit)
		}
	}
}

// slotBits is a set of slots.
type slotBits []uint64

func (b slotBits) set(slot uint32)      { b[slot/64] |= 1 << (slot % 64) }
func (b slotBits) has(slot uint32) bool { return b[slot/64]>>(slot%64)&1 != 0 }
