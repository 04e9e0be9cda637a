package histogram

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestADurationIsInTheFirstBucketWhoseBoundItDoesNotExceed(t *testing.T) {
	naive := func(d time.Duration) int {
		for i := range Buckets {
			if bound, ok := Bound(i); !ok || d <= bound {
				return i
			}
		}
		return -1
	}
	check := func(d time.Duration) {
		if got, want := bucket(d), naive(d); got != want {
			t.Fatalf("%v is in bucket %d, want %d", d, got, want)
		}
	}
	for i := range Buckets {
		bound, _ := Bound(i)
		check(bound - 1)
		check(bound)
		check(bound + 1)
	}
	check(0)
	check(1<<63 - 1)
	for range 100_000 {
		check(time.Duration(rand.Int64() >> rand.IntN(63)))
	}
}

func TestASnapshotHasWhatWasObserved(t *testing.T) {
	var h Histogram
	h.Observe(-1)
	h.Observe(time.Second)
	h.Observe(time.Hour)
	s := h.Snapshot()
	var plain Snapshot
	for _, d := range []time.Duration{-1, time.Second, time.Hour} {
		plain.Add(d)
	}
	if plain != s {
		t.Errorf("%+v by Add, %+v by Observe", plain, s)
	}
	if s.Count() != 3 || s.Sum != time.Hour+time.Second || s.Counts[0] != 1 || s.Counts[Buckets-1] != 1 {
		t.Errorf("%+v", s)
	}
}

func BenchmarkObserve(b *testing.B) {
	var h Histogram
	for i := range b.N {
		h.Observe(time.Duration(i))
	}
}
