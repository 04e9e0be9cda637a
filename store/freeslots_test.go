package store

import (
	"math/rand/v2"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

func TestFreeSlotsGivesOutWhatCameInOnceAndAPageAtATime(t *testing.T) {
	seed := testkit.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 1))
	const n = 3000
	var f freeSlots
	used := map[uint32]bool{}
	for slot := range uint32(n) {
		f.reach(slot)
		used[slot] = true
	}
	for range 20000 {
		slot := uint32(rnd.IntN(n))
		if used[slot] && rnd.IntN(2) == 0 {
			f.push(slot)
			delete(used, slot)
		} else if got, ok := f.pop(); ok {
			if used[got] {
				t.Fatalf("slot %d is given out and in use", got)
			}
			used[got] = true
		} else if len(used) != n {
			t.Fatalf("none is free, %d are", n-len(used))
		}
		if f.has(slot) == used[slot] || int(f.n) != n-len(used) {
			t.Fatalf("slot %d: free %t, in use %t; %d are free, want %d", slot, f.has(slot), used[slot], f.n, n-len(used))
		}
	}
	if free, wrong := f.check(); free != n-len(used) || wrong > 0 {
		t.Fatalf("%d are free, want %d; %d blocks are listed wrongly", free, n-len(used), wrong)
	}
	last, blocks := uint32(0), map[uint32]bool{}
	for i := 0; ; i++ {
		slot, ok := f.pop()
		if !ok {
			break
		}
		block := slot >> blockBits
		if i > 0 && block != last && blocks[block] {
			t.Fatalf("block %d is come back to", block)
		}
		blocks[block], last = true, block
	}
}
