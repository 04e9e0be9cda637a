package store

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// TestPairsComeByTheirIDsAndThoseOfOneIDInTheirOrder compares byID, and the walk over
// two of its lists, with a look at all pairs for each id.
func TestPairsComeByTheirIDsAndThoseOfOneIDInTheirOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	random := func(ids uint32, n int) (pairs []filed) {
		for slot := range n {
			pairs = append(pairs, filed{id: rnd.Uint32N(ids), slot: uint32(slot)})
		}
		return pairs
	}
	of := func(pairs []filed, id uint32) (found []filed) {
		for _, p := range pairs {
			if p.id == id {
				found = append(found, p)
			}
		}
		return found
	}
	for range 200 {
		// Few pairs are sorted, many are counted.
		ids := 1 + rnd.Uint32N(400)
		as, bs := random(ids, rnd.IntN(60)), random(ids, rnd.IntN(60))
		wantA, wantB := slices.Clone(as), slices.Clone(bs)
		as, bs = byID(as, ids), byID(bs, ids)
		for id := range ids {
			a, b := of(wantA, id), of(wantB, id)
			if len(a)+len(b) == 0 {
				continue
			}
			if got := firstID(as, bs); got != id {
				t.Fatalf("id %d is next, not %d", got, id)
			}
			var gotA, gotB []filed
			gotA, as = ofID(as, id)
			gotB, bs = ofID(bs, id)
			if !slices.Equal(gotA, a) || !slices.Equal(gotB, b) {
				t.Fatalf("of id %d: %v and %v, not %v and %v", id, gotA, gotB, a, b)
			}
		}
		if len(as)+len(bs) > 0 {
			t.Fatalf("%v and %v are left", as, bs)
		}
	}
}
