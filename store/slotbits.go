package store

import "math/bits"

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
