package keyqueue

import (
	"math/rand/v2"
	"testing"

	"github.com/kinglet-go/kinglet/internal/testseed"
)

// The oldest key is known to a tick, or to a 512th of how old the oldest has been
// since there was none, after each of many random operations; in a bounded space.
func TestTheAgeOfTheOldestKeyIsRightToA512th(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Of(t), 4))
	var a ages
	var keys []uint32 // by tick
	var now, span uint32
	for i := range 200_000 {
		if i%1000 == 0 && r.IntN(4) == 0 {
			now += r.Uint32N(1 << 20)
		}
		now += r.Uint32N(3)
		if i/2000%2 == 0 || len(keys) == 0 {
			// The clock was read a little earlier, now and then.
			keys = append(keys, a.add(now-min(now, r.Uint32N(2))))
		} else {
			k := r.IntN(len(keys))
			a.remove(keys[k])
			keys[k] = keys[len(keys)-1]
			keys = keys[:len(keys)-1]
		}
		tick, ok := a.oldest()
		if ok != (len(keys) > 0) {
			t.Fatalf("operation %d: %d keys, there is an oldest: %v", i, len(keys), ok)
		}
		if !ok {
			span = 0
			continue
		}
		oldest := keys[0]
		for _, k := range keys {
			oldest = min(oldest, k)
		}
		span = max(span, now-oldest)
		if tick > oldest || oldest-tick > span/(mostAges/2) {
			t.Fatalf("operation %d: the oldest is of tick %d, want %d, of at most %d", i, tick, oldest, span)
		}
		if len(a.counts) > mostAges {
			t.Fatalf("%d buckets", len(a.counts))
		}
	}
}
