package store

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// filed is a slot and the id of a value that it is filed under.
type filed struct{ id, slot uint32 }

// unfile records that a slot is filed nowhere, and appends what it was filed under.
func (x *indexer[T]) unfile(filing *uint32, slot uint32, removed []filed) []filed {
	switch *filing {
	case filedNowhere:
	case filedMulti:
		for _, id := range x.multi[slot] {
			removed = append(removed, filed{id, slot})
		}
		delete(x.multi, slot)
	default:
		removed = append(removed, filed{*filing - 1, slot})
	}
	*filing = filedNowhere
	return removed
}

// update enters some slots and removes others, which are those of gone. It rebuilds
// a set if much of it changes. It visits only the values of these slots, unless
// there are so many that counting costs less than sorting.
func (x *indexer[T]) update(root *indexRoot[T], seed maphash.Seed, added, removed []filed, gone slotBits, epoch uint64) {
	adds, removes := byID(added, x.values.n), byID(removed, x.values.n)
	var slots []uint32
	for len(adds)+len(removes) > 0 {
		id := firstID(adds, removes)
		var add, remove []filed
		add, adds = ofID(adds, id)
		remove, removes = ofID(removes, id)
		value := x.values.at(id)
		hash := maphash.String(seed, value)
		root.root = root.root.own(epoch)
		e := root.root.entry(seed, hash, 0, value, epoch)
		if (len(add)+len(remove))*4 < int(e.n) {
			for _, f := range add {
				e.add(f.slot, epoch)
			}
			for _, f := range remove {
				e.remove(f.slot, epoch)
			}
			continue
		}
		slots = slots[:0]
		e.eachSlot(func(slot uint32) {
			if !gone.has(slot) {
				slots = append(slots, slot)
			}
		})
		for _, f := range add {
			slots = append(slots, f.slot)
		}
		if !slices.IsSorted(slots) {
			slices.Sort(slots)
		}
		if e.setAll(slots, epoch); e.n == 0 {
			x.drop(root, hash, id, value, epoch)
		}
	}
}

// From one pair for manyFiled ids on, byID counts pairs by their ids instead of
// sorting them: sorting one pair takes as long as counting some 16 ids.
const manyFiled = 16

// byID returns pairs in the order of their ids, and in their own order within an
// id. ids is the number of ids. It may change pairs.
func byID(pairs []filed, ids uint32) []filed {
	if len(pairs) < int(ids)/manyFiled {
		slices.SortStableFunc(pairs, func(a, b filed) int { return cmp.Compare(a.id, b.id) })
		return pairs
	}
	begin := make([]uint32, ids+1)
	for _, p := range pairs {
		begin[p.id+1]++
	}
	for i := range ids {
		begin[i+1] += begin[i]
	}
	sorted := make([]filed, len(pairs))
	for _, p := range pairs {
		sorted[begin[p.id]] = p
		begin[p.id]++
	}
	return sorted
}

// firstID returns the lowest id of two sorted lists. At least one must not be
// empty.
func firstID(a, b []filed) uint32 {
	if len(a) == 0 || len(b) > 0 && b[0].id < a[0].id {
		return b[0].id
	}
	return a[0].id
}

// ofID splits the pairs of an id from the rest of a sorted list.
func ofID(pairs []filed, id uint32) (of, rest []filed) {
	n := 0
	for n < len(pairs) && pairs[n].id == id {
		n++
	}
	return pairs[:n], pairs[n:]
}
