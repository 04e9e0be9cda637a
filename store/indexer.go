package store

import (
	"hash/maphash"
	"slices"
	"strings"
)

// indexRoot is an index as one version shows it.
type indexRoot[T any] struct {
	name string
	fn   IndexFunc[T]
	root *valueNode // nil while no object has a value
}

// indexer is the writer's side of an index: the values that each slot is filed
// under. They are recorded, not computed again from the old object, so that
// neither an impure function nor a modified object can leave entries behind.
// All of it is guarded by the store's mutex, and no snapshot needs it.
type indexer[T any] struct {
	name string
	fn   IndexFunc[T]
	col  int
	// values by id; "" for a free one.
	values chunked[string]
	free   chunked[uint32]
	// multi holds the ids of slots that have more than one.
	multi map[uint32][]uint32
	// While a Replace defers them, new slots are not entered in the sets of
	// values that have many, but recorded in added.
	deferring bool
	added     []filed
}

// From this many slots on, a value is a string of its own. Below, it shares the
// string of its first object, and every lookup of the value visits that object:
// a cold cache line in a block that nothing else needs. Values of one or two
// objects are not worth the memory.
const shareValue = 3

// A filing records what a slot is filed under in one index: nothing, one value
// (its id plus one), or several, whose ids are in multi.
const (
	filedNowhere = 0
	filedMulti   = 1<<32 - 1
)

// filings holds one filing for each slot and index, in a row for each slot.
type filings struct {
	cols int
	// blocks have a row for each slot of a block.
	blocks [][]uint32
}

func (f *filings) at(slot uint32, col int) *uint32 {
	return &f.blocks[slot>>blockBits][int(slot%blockLen)*f.cols+col]
}

// reach makes room for a slot.
func (f *filings) reach(slot uint32) {
	if f.cols == 0 {
		return
	}
	for int(slot>>blockBits) >= len(f.blocks) {
		f.blocks = append(f.blocks, make([]uint32, blockLen*f.cols))
	}
}

// widen gives every row another column and returns its number.
func (f *filings) widen(slots uint32) int {
	old := *f
	f.cols++
	f.blocks = make([][]uint32, (slots+blockLen-1)/blockLen)
	for p := range f.blocks {
		f.blocks[p] = make([]uint32, blockLen*f.cols)
		if old.cols == 0 {
			continue
		}
		for r := range blockLen {
			copy(f.blocks[p][r*f.cols:], old.blocks[p][r*old.cols:(r+1)*old.cols])
		}
	}
	return old.cols
}

// narrow removes a column.
func (f *filings) narrow(col int) {
	old := *f
	f.cols--
	if f.cols == 0 {
		f.blocks = nil
		return
	}
	f.blocks = make([][]uint32, len(old.blocks))
	for p := range f.blocks {
		row := make([]uint32, 0, blockLen*f.cols)
		for r := range blockLen {
			from := old.blocks[p][r*old.cols : (r+1)*old.cols]
			row = append(append(row, from[:col]...), from[col+1:]...)
		}
		f.blocks[p] = row
	}
}

// filedUnder reports whether a filing is exactly these values.
func (x *indexer[T]) filedUnder(filing, slot uint32, values []string) bool {
	switch filing {
	case filedNowhere:
		return len(values) == 0
	case filedMulti:
		ids := x.multi[slot]
		if len(ids) != len(values) {
			return false
		}
		for i, id := range ids {
			if x.values.at(id) != values[i] {
				return false
			}
		}
		return true
	default:
		return len(values) == 1 && x.values.at(filing-1) == values[0]
	}
}

// file moves a slot from what it is filed under to the given values, which
// are sorted and without duplicates.
func (x *indexer[T]) file(root *indexRoot[T], seed maphash.Seed, filing *uint32, slot uint32, values []string, epoch uint64) {
	var one [1]uint32
	var had []uint32
	switch *filing {
	case filedNowhere:
	case filedMulti:
		had = x.multi[slot]
		delete(x.multi, slot)
	default:
		one[0] = *filing - 1
		had = one[:]
	}
	// Enter before leaving: a value that stays keeps its id and its entry.
	switch len(values) {
	case 0:
		*filing = filedNowhere
	case 1:
		*filing = 1 + x.enter(root, seed, slot, values[0], had, epoch)
	default:
		ids := make([]uint32, len(values))
		for i, value := range values {
			ids[i] = x.enter(root, seed, slot, value, had, epoch)
		}
		if x.multi == nil {
			x.multi = make(map[uint32][]uint32)
		}
		x.multi[slot] = ids
		*filing = filedMulti
	}
	for _, id := range had {
		if value := x.values.at(id); !slices.Contains(values, value) {
			x.leave(root, seed, slot, id, value, epoch)
		}
	}
}

// enter files a slot under a value, unless the value is among the ids in had,
// and returns the value's id.
func (x *indexer[T]) enter(root *indexRoot[T], seed maphash.Seed, slot uint32, value string, had []uint32, epoch uint64) uint32 {
	for _, id := range had {
		if x.values.at(id) == value {
			return id
		}
	}
	if root.root == nil {
		root.root = &valueNode{owner: epoch}
	}
	root.root = root.root.own(epoch)
	e := root.root.entry(seed, maphash.String(seed, value), 0, value, epoch)
	if e.n == 0 {
		id, ok := x.free.pop()
		if !ok {
			id = x.values.push("")
		}
		*x.values.ptr(id) = value
		e.id = id
	}
	if x.deferring && e.set != nil {
		x.added = append(x.added, filed{e.id, slot})
		return e.id
	}
	e.add(slot, epoch)
	if e.n == shareValue {
		e.value = strings.Clone(value)
		*x.values.ptr(e.id) = e.value
	}
	return e.id
}

// leave removes a slot from a value.
func (x *indexer[T]) leave(root *indexRoot[T], seed maphash.Seed, slot, id uint32, value string, epoch uint64) {
	hash := maphash.String(seed, value)
	root.root = root.root.own(epoch)
	e := root.root.entry(seed, hash, 0, value, epoch)
	if !e.remove(slot, epoch) {
		panic("BUG: store: an object is not in the index where it was filed")
	}
	if e.n == 0 {
		x.drop(root, hash, id, value, epoch)
	}
}

// drop removes a value that has no slot left.
func (x *indexer[T]) drop(root *indexRoot[T], hash uint64, id uint32, value string, epoch uint64) {
	root.root.drop(hash, 0, value, epoch)
	if len(root.root.vals) == 0 && len(root.root.kids) == 0 {
		root.root = nil
	}
	*x.values.ptr(id) = ""
	x.free.push(id)
}
