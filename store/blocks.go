package store

import (
	"math/bits"
	"slices"
)

// Each object has a slot, a number that it keeps until it is deleted. Trees,
// sets and hints name the object in 4 bytes and need not change when it is
// updated. Slots are grouped in blocks of 32, blocks in directories of 64.
//
// 32 keeps the copy of a block at half a kilobyte, which is the cost of an
// update while a snapshot is held.
const (
	blockBits = 5
	blockLen  = 1 << blockBits
	dirBits   = 6
	dirLen    = 1 << dirBits
)

// entry is a slot's content.
type entry[T any] struct {
	// print is the fingerprint of the object's key, never 0; 0 in a slot that is
	// not in use. It lets a lookup recognise the object without reading the key
	// from it, which is two to four cold cache lines. See fingerprint for how
	// sure that is.
	print uint64
	obj   T
}

// block holds 32 slots. A version may change it in place only if owner is the
// version's epoch; otherwise an older version still shows it.
type block[T any] struct {
	owner uint64
	used  int // slots in use
	// memos is nil until one of these slots is given a memo.
	memos *[blockLen]Memo
	// keys is nil unless the store remembers keys.
	keys  *keyBlock
	slots [blockLen]entry[T]
}

// keyBlock holds the keys of a block's slots. A key stays as long as its slot is
// in use, so the versions of a block share one until a slot comes or goes.
type keyBlock struct {
	owner uint64
	slots [blockLen]Key
}

type dir[T any] struct {
	owner  uint64
	blocks [dirLen]*block[T]
}

// blockTable finds the block of a slot.
type blockTable[T any] struct {
	dirs  []*dir[T]
	owner uint64 // of dirs
}

// block returns the block of a slot that is known to be in use.
func (t *blockTable[T]) block(slot uint32) *block[T] {
	return t.dirs[slot>>(blockBits+dirBits)].blocks[slot>>blockBits%dirLen]
}

// find returns the block of a slot that may never have existed here, or nil.
func (t *blockTable[T]) find(slot uint32) *block[T] {
	d := int(slot >> (blockBits + dirBits))
	if d >= len(t.dirs) || t.dirs[d] == nil {
		return nil
	}
	return t.dirs[d].blocks[slot>>blockBits%dirLen]
}

// own returns the slot's block for changing it in place in the given epoch. It
// copies or makes the block if it has to.
func (t *blockTable[T]) own(slot uint32, epoch uint64) *block[T] {
	// An owned block is always in an owned directory of an owned table.
	p := t.find(slot)
	if p != nil && p.owner == epoch {
		return p
	}
	d := t.ownDir(slot, epoch)
	if p == nil {
		p = &block[T]{owner: epoch}
	} else {
		c := *p
		c.owner = epoch
		if p.memos != nil {
			m := *p.memos
			c.memos = &m
		}
		p = &c
	}
	d.blocks[slot>>blockBits%dirLen] = p
	return p
}

// ownDir is own for the directory of the slot's block.
func (t *blockTable[T]) ownDir(slot uint32, epoch uint64) *dir[T] {
	i := int(slot >> (blockBits + dirBits))
	if t.owner != epoch {
		t.dirs = slices.Clone(t.dirs)
		t.owner = epoch
	}
	for i >= len(t.dirs) {
		t.dirs = append(t.dirs, nil)
	}
	d := t.dirs[i]
	switch {
	case d == nil:
		d = &dir[T]{owner: epoch}
		t.dirs[i] = d
	case d.owner != epoch:
		c := *d
		c.owner = epoch
		d = &c
		t.dirs[i] = d
	}
	return d
}

// at returns what a slot of the version holds, or nil if it holds nothing.
func (t *blockTable[T]) at(slot uint32) *entry[T] {
	p := t.find(slot)
	if p == nil {
		return nil
	}
	if e := &p.slots[slot%blockLen]; e.print != 0 {
		return e
	}
	return nil
}

// put writes a slot of an owned block.
func (p *block[T]) put(slot uint32, print uint64, obj T, memo Memo) {
	i := slot % blockLen
	if p.slots[i].print == 0 {
		p.used++
		p.slots[i].print = print
	}
	p.slots[i].obj = obj
	if memo != nil && p.memos == nil {
		p.memos = new([blockLen]Memo)
	}
	if p.memos != nil {
		p.memos[i] = memo
	}
}

// setKey remembers the key of a slot of an owned block, or forgets it.
func (p *block[T]) setKey(slot uint32, key Key) {
	switch {
	case p.keys == nil:
		p.keys = &keyBlock{owner: p.owner}
	case p.keys.owner != p.owner:
		c := *p.keys
		c.owner = p.owner
		p.keys = &c
	}
	p.keys.slots[slot%blockLen] = key
}

// clear empties a slot of the version's blocks, and drops a block that has
// become empty.
func (t *blockTable[T]) clear(slot uint32, epoch uint64) {
	p := t.own(slot, epoch)
	i := slot % blockLen
	p.slots[i] = entry[T]{}
	if p.memos != nil {
		p.memos[i] = nil
	}
	if p.keys != nil {
		p.setKey(slot, Key{})
	}
	if p.used--; p.used == 0 {
		t.dirs[slot>>(blockBits+dirBits)].blocks[slot>>blockBits%dirLen] = nil
	}
}

// clearAll empties slots of the version's blocks. A block that becomes empty is
// not copied first.
func (t *blockTable[T]) clearAll(gone slotBits, epoch uint64) {
	gone.eachBlock(func(first, mask uint32) {
		if t.find(first).used == bits.OnesCount32(mask) {
			t.ownDir(first, epoch).blocks[first>>blockBits%dirLen] = nil
			return
		}
		for ; mask != 0; mask &= mask - 1 {
			t.clear(first+uint32(bits.TrailingZeros32(mask)), epoch)
		}
	})
}

// memo returns the memo beside a slot in use, or nil.
func (t *blockTable[T]) memo(slot uint32) Memo {
	p := t.block(slot)
	if p.memos == nil {
		return nil
	}
	return p.memos[slot%blockLen]
}

// count returns how many slots are in use, for Check.
func (t *blockTable[T]) count() int {
	n := 0
	for _, d := range t.dirs {
		if d == nil {
			continue
		}
		for _, p := range d.blocks {
			if p != nil {
				n += p.used
			}
		}
	}
	return n
}

// slotBits is a set of slots.
type slotBits []uint64

func (b slotBits) set(slot uint32) { b[slot/64] |= 1 << (slot % 64) }

func (b slotBits) has(slot uint32) bool {
	return slot/64 < uint32(len(b)) && b[slot/64]>>(slot%64)&1 != 0
}

// eachBlock calls visit for every block that has some of the slots, with the
// block's first slot and a mask of its slots.
func (b slotBits) eachBlock(visit func(first, mask uint32)) {
	for i, word := range b {
		for half := range uint32(64 / blockLen) {
			if mask := uint32(word >> (half * blockLen)); mask != 0 {
				visit(uint32(i)*64+half*blockLen, mask)
			}
		}
	}
}

// each calls visit for every slot.
func (b slotBits) each(visit func(slot uint32)) {
	b.eachBlock(func(first, mask uint32) {
		for ; mask != 0; mask &= mask - 1 {
			visit(first + uint32(bits.TrailingZeros32(mask)))
		}
	})
}
