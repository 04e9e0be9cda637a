package store

import (
	"math/rand/v2"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// find returns how often the hints lead from a tag to a slot.
func (h *hints) find(tag, slot uint32) int {
	n := 0
	groups := h.groupsOf(tag)
	for i := tag; ; i++ {
		g := &groups[i&uint32(len(groups)-1)]
		bytes := g.bytes.Load()
		for at := range hintPlaces {
			if bytes>>(8*at)&0xff == tagByte(tag) && g.entries[at].Load() == uint64(tag)<<32|uint64(slot) {
				n++
			}
		}
		if matching(bytes, hintEmpty) != 0 {
			return n
		}
	}
}

// TestHintsLeadToWhatIsThereAndToNothingElse has tags that crowd few groups,
// so that groups fill, leave tombstones and are probed beyond.
func TestHintsLeadToWhatIsThereAndToNothingElse(t *testing.T) {
	seed := testkit.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	for _, crowded := range []uint32{0xffffffff, 0xffc00f03, 0xe0000001} {
		var h hints
		h.init(false)
		held := map[uint32]uint32{} // slot → tag
		most := 3000
		if crowded == 0xe0000001 {
			most = 300 // more of so few tags would be split in vain
		}
		for step := range 20000 {
			slot := uint32(rnd.IntN(most))
			tag, there := held[slot]
			switch {
			case there && (step/5000%2 == 1 || rnd.IntN(4) == 0):
				h.remove(tag, slot)
				delete(held, slot)
			case !there:
				held[slot] = rnd.Uint32() & crowded
				h.add(held[slot], slot)
			}
			if step%499 == 0 {
				for slot, tag := range held {
					if n := h.find(tag, slot); n != 1 {
						t.Fatalf("slot %d is found %d times under %x", slot, n, tag)
					}
				}
			}
		}
		live := 0
		seen := map[*hintSeg]bool{}
		for _, s := range h.dir.Load().segs {
			if !seen[s] {
				seen[s] = true
				live += s.live
			}
		}
		if live != len(held) {
			t.Fatalf("%d entries, want %d", live, len(held))
		}
		for slot, tag := range held {
			h.remove(tag, slot)
			if n := h.find(tag, slot); n != 0 {
				t.Fatalf("slot %d is found after it has left", slot)
			}
		}
	}
}

func TestMatchingMissesNoByte(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		bytes, b := rnd.Uint64(), uint64(rnd.IntN(256))
		for range rnd.IntN(4) {
			bytes = bytes&^(0xff<<(8*rnd.IntN(8))) | b<<(8*rnd.IntN(8))
		}
		m := matching(bytes, b)
		first := true
		for at := range hintPlaces {
			is := bytes>>(8*at)&0xff == b
			says := m>>(8*at)&0x80 != 0
			if is && !says || says && !is && first {
				t.Fatalf("byte %d of %x, looking for %x: says %t", at, bytes, b, says)
			}
			first = first && !is
		}
	}
}
