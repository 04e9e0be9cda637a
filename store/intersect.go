package store

import (
	"iter"
	"slices"
)

// IndexMatch names what an index holds under one value.
type IndexMatch struct{ Index, Value string }

// ByIndexes iterates over the objects that match all of several index values, with
// their keys, in the order of ByIndex. It looks up each object of the shortest match
// in each other index, and reads no object that it does not yield. Without matches
// it yields nothing. The error wraps ErrNoIndex if one of the indexes does not
// exist.
func (v *Snapshot[T]) ByIndexes(matches ...IndexMatch) (iter.Seq2[Key, T], error) {
	found := make([]*indexed, len(matches))
	for i, m := range matches {
		root, err := v.index(m.Index)
		if err != nil {
			return nil, err
		}
		found[i] = root.find(v.store.hints.hashValue(m.Value), m.Value)
	}
	return func(yield func(Key, T) bool) {
		for _, slot := range intersection(found) {
			if !yield(v.keyOf(slot), v.blocks.block(slot).slots[slot%blockLen].obj) {
				return
			}
		}
	}, nil
}

// intersection returns the slots, sorted, that are in all of the entries. A nil
// entry is empty.
func intersection(entries []*indexed) []uint32 {
	if len(entries) == 0 || slices.Contains(entries, nil) {
		return nil
	}
	shortest := slices.MinFunc(entries, func(a, b *indexed) int { return int(int64(a.n) - int64(b.n)) })
	slots := make([]uint32, 0, shortest.n)
	shortest.walk(func(some []uint32) bool {
		slots = append(slots, some...)
		return true
	})
	for _, e := range entries {
		if e != shortest {
			slots = e.among(slots)
		}
	}
	return slots
}

// walk yields the slots of an entry, sorted, some at a time.
func (e *indexed) walk(yield func([]uint32) bool) bool {
	if e.set == nil {
		return yield(e.few[:e.n])
	}
	return e.set.walk(yield)
}

// mergeFrom is how many times larger than the slots a set may be to be walked
// through. Looking one slot up costs as much as walking past some ten.
const mergeFrom = 10

// among returns those of the sorted slots that are in the entry. It reuses the
// memory of slots.
func (e *indexed) among(slots []uint32) []uint32 {
	if e.set != nil && int(e.n) > mergeFrom*len(slots) {
		return slices.DeleteFunc(slots, func(slot uint32) bool { return !e.set.has(slot) })
	}
	kept, at := slots[:0], 0
	e.walk(func(some []uint32) bool {
		for _, slot := range some {
			for at < len(slots) && slots[at] < slot {
				at++
			}
			if at == len(slots) {
				return false
			}
			if slots[at] == slot {
				kept = append(kept, slot)
				at++
			}
		}
		return true
	})
	return kept
}

// has reports whether a slot is in the set.
func (s *slotSet) has(slot uint32) bool {
	for s.kids != nil {
		s = s.kids[s.kid(slot)]
	}
	i := place(s.low, slot)
	return i < len(s.low) && s.low[i] == slot
}
