package store

import "math/bits"

// freeSlots holds the slots that were used before and are free now. They are
// handed out a block at a time, so that many inserts find the block, and what
// the indexes keep for it, in the cache, wherever the deleted objects were.
//
// Invariant: blocks holds the number of each block that has a free slot, once.
type freeSlots struct {
	n      uint32
	masks  chunked[uint32] // of each block, which of its slots are free
	blocks chunked[uint32]
}

// reach makes room for a slot that is used for the first time, so that the
// cost of push does not grow with the store.
func (f *freeSlots) reach(slot uint32) {
	if slot>>blockBits == f.masks.n {
		f.masks.push(0)
	}
}

// push adds a slot that is not in it.
func (f *freeSlots) push(slot uint32) {
	p := slot >> blockBits
	mask := f.masks.ptr(p)
	if *mask == 0 {
		f.blocks.push(p)
	}
	*mask |= 1 << (slot % blockLen)
	f.n++
}

// pop removes a slot and returns it.
func (f *freeSlots) pop() (uint32, bool) {
	if f.n == 0 {
		return 0, false
	}
	p := f.blocks.at(f.blocks.n - 1)
	mask := f.masks.ptr(p)
	slot := p<<blockBits | uint32(bits.TrailingZeros32(*mask))
	if *mask &= *mask - 1; *mask == 0 {
		f.blocks.pop()
	}
	f.n--
	return slot, true
}

func (f *freeSlots) has(slot uint32) bool {
	return f.masks.at(slot>>blockBits)>>(slot%blockLen)&1 != 0
}

// check returns how many slots are really free, and how many blocks are listed
// wrongly.
func (f *freeSlots) check() (slots, wrong int) {
	listed := map[uint32]int{}
	for i := range f.blocks.n {
		listed[f.blocks.at(i)]++
	}
	for p := range f.masks.n {
		n := bits.OnesCount32(f.masks.at(p))
		slots += n
		if (n > 0) != (listed[p] == 1) {
			wrong++
		}
	}
	return slots, wrong
}
