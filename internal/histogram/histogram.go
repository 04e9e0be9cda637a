// Package histogram counts durations in a fixed array of atomic buckets. An observation
// costs a few nanoseconds, and a histogram never grows.
package histogram

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Buckets is how many buckets there are: each bound is four times the one before it,
// from 4 µs to about 275 s, and the last bucket has none.
const Buckets = 15

// first is the bound of the first bucket, as a power of two of nanoseconds.
const first = 12

// Histogram counts durations. The zero value is empty. Its methods are safe for
// concurrent use.
type Histogram struct {
	counts [Buckets]atomic.Uint64
	sum    atomic.Int64
}

// Observe counts d; one below zero counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	h.counts[bucket(d)].Add(1)
	h.sum.Add(int64(d))
}

// bucket returns the bucket whose bound is the first that is at least d.
func bucket(d time.Duration) int {
	if d <= 1<<first {
		return 0
	}
	return min((bits.Len64(uint64(d-1))-first+1)/2, Buckets-1)
}

// Bound returns the upper bound of bucket i, which it includes. The last has none.
func Bound(i int) (bound time.Duration, ok bool) {
	return 1 << (first + 2*i), i < Buckets-1
}

// Snapshot is a histogram at one moment.
type Snapshot struct {
	// Counts are those of the buckets; they are not cumulative.
	Counts [Buckets]uint64
	Sum    time.Duration
}

// Add counts d; one below zero counts as zero. It is not safe for concurrent use.
func (s *Snapshot) Add(d time.Duration) {
	d = max(d, 0)
	s.Counts[bucket(d)]++
	s.Sum += d
}

// Count returns how many durations were observed.
func (s *Snapshot) Count() (n uint64) {
	for _, c := range s.Counts {
		n += c
	}
	return n
}

// Snapshot returns what was counted. Durations that are observed meanwhile may be in
// Counts and not in Sum.
func (h *Histogram) Snapshot() (s Snapshot) {
	s.Sum = time.Duration(h.sum.Load())
	for i := range h.counts {
		s.Counts[i] = h.counts[i].Load()
	}
	return s
}
