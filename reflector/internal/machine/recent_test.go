package machine

import (
	"math/rand/v2"
	"testing"
)

func TestRecentOutagesAreThoseOfTenMinutesAtMostSixteen(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var r Recent
	var all []Nanos // a naive twin
	var last Nanos
	var now Nanos
	for range 10_000 {
		now += Nanos(random.Int64N(int64(100 * Second)))
		if random.IntN(3) == 0 {
			now += Nanos(random.Int64N(int64(20 * 60 * Second)))
		}
		if random.IntN(2) == 0 {
			begins := random.IntN(2) == 0
			r.add(Failure{Class: Server, At: now}, begins)
			last = now
			if begins {
				all = append(all, now)
			}
		}
		want, first := 0, Nanos(0)
		for _, at := range all[max(0, len(all)-16):] {
			if now-at <= 10*60*Second {
				if want++; want == 1 {
					first = at
				}
			}
		}
		if got, begun := r.Count(now); got != want || begun != first || r.Last.At != last {
			t.Fatalf("seed %d: %d outages are recent, want %d, since %d, want %d; the last failure at %d, want %d", seed, got, want, begun, first, r.Last.At, last)
		}
	}
}
