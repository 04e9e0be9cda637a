package store

import (
	"math/bits"
	"slices"
)

// An object stands in a slot, a number that it keeps until it is deleted, so
// that trees, sets and hints can name it in 4 bytes and need not change when
// it is updated. Slots stand in pages of 32, pages in directories of 64.
//
// 32 keeps the copy of a page at half a kilobyte, which is what an update
// costs when somebody holds a snapshot.
const (
	pageBits = 5
	pageLen  = 1 << pageBits
	dirBits  = 6
	dirLen   = 1 << dirBits
)

// entry is a slot's content.
type entry[T any] struct {
	// print is the fingerprint of the object's key, never 0; 0 in a slot that
	// is not in use. With it a look-up can tell that this is the object, and
	// does not have to read the key from it, which is two to four cold cache
	// lines. See hints for how sure that is.
	print uint64
	obj   T
}

// page holds 32 slots. A version may change it in place only if owner is its
// epoch; otherwise an older version still shows it.
type page[T any] struct {
	owner uint64
	used  int // slots in use
	// memos is nil until one of these slots is given a memo.
	memos *[pageLen]Memo
	// keys is nil unless the store remembers keys.
	keys  *keyPage
	slots [pageLen]entry[T]
}

// keyPage holds the keys of a page's slots. A key stays as long as its slot is
// in use, so the versions of a page share one until a slot comes or goes.
type keyPage struct {
	owner uint64
	slots [pageLen]Key
}

type dir[T any] struct {
	owner uint64
	pages [dirLen]*page[T]
}

// pageTable finds the page of a slot.
type pageTable[T any] struct {
	dirs  []*dir[T]
	owner uint64 // of dirs
}

// page returns the page of a slot that is known to be in use.
func (t *pageTable[T]) page(slot uint32) *page[T] {
	return t.dirs[slot>>(pageBits+dirBits)].pages[slot>>pageBits%dirLen]
}

// find returns the page of a slot that may never have existed here, or nil.
func (t *pageTable[T]) find(slot uint32) *page[T] {
	d := int(slot >> (pageBits + dirBits))
	if d >= len(t.dirs) || t.dirs[d] == nil {
		return nil
	}
	return t.dirs[d].pages[slot>>pageBits%dirLen]
}

// own returns the slot's page for changing it in place in the given epoch,
// after copying or making what has to be.
func (t *pageTable[T]) own(slot uint32, epoch uint64) *page[T] {
	// An owned page stands under an owned directory in an owned table.
	p := t.find(slot)
	if p != nil && p.owner == epoch {
		return p
	}
	d := t.ownDir(slot, epoch)
	if p == nil {
		p = &page[T]{owner: epoch}
	} else {
		c := *p
		c.owner = epoch
		if p.memos != nil {
			m := *p.memos
			c.memos = &m
		}
		p = &c
	}
	d.pages[slot>>pageBits%dirLen] = p
	return p
}

// ownDir is own for the directory of the slot's page.
func (t *pageTable[T]) ownDir(slot uint32, epoch uint64) *dir[T] {
	i := int(slot >> (pageBits + dirBits))
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
func (t *pageTable[T]) at(slot uint32) *entry[T] {
	p := t.find(slot)
	if p == nil {
		return nil
	}
	if e := &p.slots[slot%pageLen]; e.print != 0 {
		return e
	}
	return nil
}

// put writes a slot of an owned page.
func (p *page[T]) put(slot uint32, print uint64, obj T, memo Memo) {
	i := slot % pageLen
	if p.slots[i].print == 0 {
		p.used++
		p.slots[i].print = print
	}
	p.slots[i].obj = obj
	if memo != nil && p.memos == nil {
		p.memos = new([pageLen]Memo)
	}
	if p.memos != nil {
		p.memos[i] = memo
	}
}

// setKey remembers the key of a slot of an owned page, or forgets it.
func (p *page[T]) setKey(slot uint32, key Key) {
	switch {
	case p.keys == nil:
		p.keys = &keyPage{owner: p.owner}
	case p.keys.owner != p.owner:
		c := *p.keys
		c.owner = p.owner
		p.keys = &c
	}
	p.keys.slots[slot%pageLen] = key
}

// clear empties a slot of the version's pages, and lets go of a page that has
// become empty.
func (t *pageTable[T]) clear(slot uint32, epoch uint64) {
	p := t.own(slot, epoch)
	i := slot % pageLen
	p.slots[i] = entry[T]{}
	if p.memos != nil {
		p.memos[i] = nil
	}
	if p.keys != nil {
		p.setKey(slot, Key{})
	}
	if p.used--; p.used == 0 {
		t.dirs[slot>>(pageBits+dirBits)].pages[slot>>pageBits%dirLen] = nil
	}
}

// clearAll empties slots of the version's pages. A page of which nothing is
// left is not copied first.
func (t *pageTable[T]) clearAll(gone slotBits, epoch uint64) {
	gone.eachPage(func(first, mask uint32) {
		if t.find(first).used == bits.OnesCount32(mask) {
			t.ownDir(first, epoch).pages[first>>pageBits%dirLen] = nil
			return
		}
		for ; mask != 0; mask &= mask - 1 {
			t.clear(first+uint32(bits.TrailingZeros32(mask)), epoch)
		}
	})
}

// memo returns the memo beside a slot in use, or nil.
func (t *pageTable[T]) memo(slot uint32) Memo {
	p := t.page(slot)
	if p.memos == nil {
		return nil
	}
	return p.memos[slot%pageLen]
}

// count returns how many slots are in use, for Check.
func (t *pageTable[T]) count() int {
	n := 0
	for _, d := range t.dirs {
		if d == nil {
			continue
		}
		for _, p := range d.pages {
			if p != nil {
				n += p.used
			}
		}
	}
	return n
}
