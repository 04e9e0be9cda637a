package deliver

import (
	"hash/maphash"

	"github.com/kinglet-go/kinglet/store"
)

// A queue finds records by key. Up to fewRecords it compares with all of them, which
// are one or two for a handler that keeps up; beyond, it hashes. A Go map would hash a
// key three times from push to take (lookup, insert, delete) and take 60 B a key; here
// the hash stays in the slot, and a cell takes 8 B (BenchmarkDeliver).

// fewRecords is how many records are found without hashing.
const fewRecords = 8

// cell refers to a slot: its number + 1, so that 0 is an empty cell, and its
// key's hash.
type cell struct {
	hash uint32
	slot int32
}

// index is an open-addressed table with linear probing.
type index struct {
	seed maphash.Seed
	// The length of cells is 0 or a power of two; at most three quarters are in use.
	cells []cell
	// used is how many cells are in use.
	used int
}

func newIndex() index { return index{seed: maphash.MakeSeed()} }

func (x *index) hash(key *store.Key) uint32 { return uint32(maphash.Comparable(x.seed, *key)) }

// enter adds a slot whose key is not in the index yet. cells must not be empty.
func (x *index) enter(hash uint32, slot int32) {
	if 4*(x.used+1) > 3*len(x.cells) {
		x.resize(2 * len(x.cells))
	}
	x.used++
	x.place(cell{hash, slot + 1})
}

func (x *index) place(c cell) {
	mask := uint32(len(x.cells) - 1)
	i := c.hash & mask
	for x.cells[i].slot != 0 {
		i = (i + 1) & mask
	}
	x.cells[i] = c
}

// resize makes room for n cells, a power of two.
func (x *index) resize(n int) {
	old := x.cells
	x.cells = make([]cell, n)
	for _, c := range old {
		if c.slot != 0 {
			x.place(c)
		}
	}
}

// at returns the cell that refers to a slot, or nil.
func (x *index) at(hash uint32, slot int32) *cell {
	mask := uint32(len(x.cells) - 1)
	for i := hash & mask; x.cells[i].slot != 0; i = (i + 1) & mask {
		if x.cells[i].slot == slot+1 {
			return &x.cells[i]
		}
	}
	return nil
}

// leave removes a slot, if it is there.
func (x *index) leave(hash uint32, slot int32) {
	mask := uint32(len(x.cells) - 1)
	i := hash & mask
	for ; x.cells[i].slot != slot+1; i = (i + 1) & mask {
		if x.cells[i].slot == 0 {
			return
		}
	}
	x.used--
	// Close the gap: a cell behind it, up to the next empty one, moves into it
	// unless that is in front of the cell's home.
	for j := (i + 1) & mask; x.cells[j].slot != 0; j = (j + 1) & mask {
		home := x.cells[j].hash & mask
		if (j-home)&mask >= (j-i)&mask {
			x.cells[i] = x.cells[j]
			i = j
		}
	}
	x.cells[i] = cell{}
}

// find returns the slot of the newest record of key, or none, and, once the
// queue hashes, the key's hash.
func (q *queue[T]) find(key *store.Key) (slot int32, hash uint32) {
	if !q.hashed {
		// From the end, so that the newest record of a key comes first.
		for i := q.tail; i != none; i = q.slots[i].prev {
			if q.slots[i].key == *key {
				return i, 0
			}
		}
		return none, 0
	}
	x := &q.index
	hash = x.hash(key)
	mask := uint32(len(x.cells) - 1)
	for i := hash & mask; x.cells[i].slot != 0; i = (i + 1) & mask {
		if c := x.cells[i]; c.hash == hash && q.slots[c.slot-1].key == *key {
			return c.slot - 1, hash
		}
	}
	return none, hash
}

// enter makes lookups find the record in slot i, the last of the queue, instead of the
// record of the same key in slot older, if any.
func (q *queue[T]) enter(i, older int32, hash uint32) {
	if !q.hashed {
		if q.n <= fewRecords {
			return
		}
		q.startHashing()
		return
	}
	q.slots[i].hash = hash
	if older != none {
		q.index.at(hash, older).slot = i + 1
		return
	}
	q.index.enter(hash, i)
}

// startHashing enters every record. Later ones of a key replace earlier ones.
func (q *queue[T]) startHashing() {
	q.hashed = true
	if len(q.index.cells) == 0 {
		q.index.resize(4 * fewRecords)
	}
	for i := q.head; i != none; i = q.slots[i].next {
		older, hash := q.find(&q.slots[i].key)
		q.enter(i, older, hash)
	}
}

// leave removes the record in slot i from the index. An older record of a key is not
// in it.
func (q *queue[T]) leave(i int32) {
	if q.hashed {
		q.index.leave(q.slots[i].hash, i)
		// Without its last record the index is empty, and few records follow.
		q.hashed = q.n > 1
	}
}
