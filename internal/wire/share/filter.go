package share

import "sync/atomic"

// Place is where a value is in the objects of a kind: a field, or the path to a
// member. A collision of two places costs only time.
type Place uint16

// PlaceOf returns the place of the values of a unit, or of the n-th part of them.
func PlaceOf(unit Unit, n int) Place {
	return Place((uint64(unit) + uint64(n)*0xbf58476d1ce4e5b9) * 0x9e3779b97f4a7c15 >> (64 - placeBits))
}

// PlaceOfPath returns the place with this hash.
func PlaceOfPath(hash uint64) Place { return Place(hash >> (64 - placeBits)) }

const (
	placeBits = 10
	// sampled says that one value in so many is looked up at a place where values
	// are hardly ever known. If they begin to repeat, some of these are found.
	sampled = 16
	// unfiltered is how many lookups a table misses before it counts by place, so
	// that a small table has no counters.
	unfiltered = 2048
)

// Worth is the value of a hit: how many misses it makes up for, and after how many
// misses values are no longer looked up.
type Worth struct{ hit, patience uint32 }

// A unit is found from its third sighting on, a string from its second. If objects
// come in random order, one of n values is seen three times after some 2·n^(2/3)
// objects, and twice after some √n; if they come in turn, as a test may send them,
// after 2·n and n. So 4,000 templates are noticed in any order, and many more in
// that of a list, where the objects of one are adjacent.
var (
	// UnitWorth is for units whose place is a field of a type. A hit is worth any
	// number of misses.
	UnitWorth = Worth{hit: 8192, patience: 8192}
	// PathWorth is for units whose place is a path. Names that only one object
	// has, as in managedFields, make places of their own, and must not keep up
	// lookups at the place with which they share a counter.
	PathWorth = Worth{hit: 16, patience: 8192}
	// TextWorth is for strings. A hit saves an allocation of some 32 bytes.
	TextWorth = Worth{hit: 8, patience: 4096}
)

// filter is a table's hit-rate filter. It counts by place how much misses outweigh
// hits. At a place without hits, such as metadata's UID, a lookup costs more than
// it can save. The filter affects only speed, so counts that are lost in a race do
// no harm.
type filter struct {
	misses atomic.Uint32
	counts atomic.Pointer[[1 << placeBits]atomic.Uint32]
}

// Asks reports whether to look a value up.
func (s *Session) Asks(p Place, w *Worth) bool {
	counts := s.Table.filter.counts.Load()
	if counts == nil || counts[p].Load() < w.patience {
		return true
	}
	s.skipped++
	return s.skipped%sampled == 0
}

// found reports to the filter whether a value that was looked up was known.
func (s *Session) found(p Place, w *Worth, known bool) {
	f := &s.Table.filter
	counts := f.counts.Load()
	if counts == nil {
		if known || f.misses.Add(1) < unfiltered {
			return
		}
		f.counts.CompareAndSwap(nil, new([1 << placeBits]atomic.Uint32))
		return
	}
	c := &counts[p]
	n := c.Load()
	switch {
	case !known && n < w.patience:
		c.Add(1)
	case known && n != 0:
		c.Store(n - min(n, w.hit))
	}
}
