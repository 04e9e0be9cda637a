package machine

import (
	"math/rand/v2"
	"testing"
)

func TestRecentFailuresAreThoseOfTenMinutesAtMostSixteen(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	var r Recent
	var all []Nanos // a naive twin
	var now Nanos
	for range 10_000 {
		now += Nanos(random.Int64N(int64(100 * Second)))
		if random.IntN(3) == 0 {
			now += Nanos(random.Int64N(int64(20 * 60 * Second)))
		}
		if random.IntN(2) == 0 {
			r.add(Failure{Class: Server, At: now})
			all = append(all, now)
		}
		want := 0
		for _, at := range all[max(0, len(all)-16):] {
			if now-at <= 10*60*Second {
				want++
			}
		}
		if got := r.Count(now); got != want || len(all) > 0 && r.Last.At != all[len(all)-1] {
			t.Fatalf("seed %d: %d failures are recent, want %d; the last at %d", seed, got, want, r.Last.At)
		}
	}
}
