package store

import "math/bits"

// slotBits is a set of slots.
type slotBits []uint64

func (b slotBits) set(slot uint32) { b[slot/64] |= 1 << (slot % 64) }

func (b slotBits) has(slot uint32) bool {
	return slot/64 < uint32(len(b)) && b[slot/64]>>(slot%64)&1 != 0
}

// eachPage calls visit for every page that has some of the slots, with the
// page's first slot and which they are.
func (b slotBits) eachPage(visit func(first, mask uint32)) {
	for i, word := range b {
		for half := range uint32(64 / pageLen) {
			if mask := uint32(word >> (half * pageLen)); mask != 0 {
				visit(uint32(i)*64+half*pageLen, mask)
			}
		}
	}
}

// each calls visit for every slot.
func (b slotBits) each(visit func(slot uint32)) {
	b.eachPage(func(first, mask uint32) {
		for ; mask != 0; mask &= mask - 1 {
			visit(first + uint32(bits.TrailingZeros32(mask)))
		}
	})
}
