package store

import (
	"hash/maphash"
	"slices"
)

// filed is a slot and the id of a value that it is filed under.
type filed struct{ id, slot uint32 }

// unfile notes that a slot is filed nowhere, and appends what it was filed
// under.
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

// update enters some slots and takes out others, which are those of gone. A
// set of which much changes is built anew.
func (x *indexer[T]) update(root *indexRoot[T], seed maphash.Seed, added, removed []filed, gone slotBits, epoch uint64) {
	adds, addsOf := byID(added, x.values.n)
	removes, removesOf := byID(removed, x.values.n)
	var slots []uint32
	for id := range x.values.n {
		add, remove := adds[addsOf[id]:addsOf[id+1]], removes[removesOf[id]:removesOf[id+1]]
		if len(add)+len(remove) == 0 {
			continue
		}
		value := x.values.at(id)
		hash := maphash.String(seed, value)
		root.root = root.root.own(epoch)
		e := root.root.entry(seed, hash, 0, value, epoch)
		if (len(add)+len(remove))*4 < int(e.n) {
			for _, slot := range add {
				e.add(slot, epoch)
			}
			for _, slot := range remove {
				e.remove(slot, epoch)
			}
			continue
		}
		slots = slots[:0]
		e.eachSlot(func(slot uint32) {
			if !gone.has(slot) {
				slots = append(slots, slot)
			}
		})
		slots = append(slots, add...)
		if !slices.IsSorted(slots) {
			slices.Sort(slots)
		}
		if e.setAll(slots, epoch); e.n == 0 {
			x.drop(root, hash, id, value, epoch)
		}
	}
}

// byID returns the slots in the order of their ids, and where those of each id
// begin.
func byID(pairs []filed, ids uint32) (slots, begin []uint32) {
	begin = make([]uint32, ids+2)
	for _, p := range pairs {
		begin[p.id+2]++
	}
	for i := range ids {
		begin[i+2] += begin[i+1]
	}
	slots = make([]uint32, len(pairs))
	for _, p := range pairs {
		slots[begin[p.id+1]] = p.slot
		begin[p.id+1]++
	}
	return slots, begin
}
