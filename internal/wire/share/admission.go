package share

import (
	"sync"
	"sync/atomic"
)

// doorkeeper remembers recent sightings of values, in a bounded number of bytes, so
// that a value is admitted only at its second sighting. It forgets by generations: a
// new one begins when the current one has as many sightings as sets, and is larger
// up to maxSets.
//
// Its answers are hints. Goroutines that race lose a sighting at worst, and 1
// value in 4,096 is admitted at its first sighting, since its mark is that of
// another: it is compared with 8 marks of 15 bits if both generations are full.
type doorkeeper struct {
	now  atomic.Pointer[generation]
	past atomic.Pointer[generation]
	mu   sync.Mutex // held while a generation begins
}

// generation holds sets of four marks in a word. With one place for each value, two
// values on the same place would evict each other at every sighting, and both stay
// unknown until the generation ends. A set holds 1 mark on average at a generation's
// end, so 1 value in 230 does not fit into its set.
type generation struct {
	n    atomic.Uint32
	sets []atomic.Uint64
}

const (
	markBits = 16
	setBytes = 8
	onePlace = 1<<markBits - 1
	// everyMark repeats a mark in each place, topBits is the highest of each.
	everyMark = 1<<48 | 1<<32 | 1<<16 | 1
	topBits   = everyMark << (markBits - 1)

	minSets = 1 << 6
	// maxSets is 512 KiB for each generation. It remembers 65,536 to 131,072
	// sightings, which are those of some thousand different pods.
	maxSets = 1 << 16
	// maxDoorBytes is the size of two generations of maxSets.
	maxDoorBytes = 2 * maxSets * setBytes
)

// seen reports whether x was seen recently, and records a sighting of it.
func (d *doorkeeper) seen(x uint64) bool {
	g := d.now.Load()
	if g == nil {
		g = d.begin(nil)
	}
	// Never 0, which is an empty place.
	mark := x>>(64-markBits) | 1
	set := g.set(x)
	marks := set.Load()
	if has(marks, mark) {
		return true
	}
	if p := d.past.Load(); p != nil && has(p.set(x).Load(), mark) {
		return true
	}
	n := g.n.Add(1)
	if marks>>(64-markBits) == 0 {
		marks = marks<<markBits | mark
	} else {
		// It takes a pseudo-random place: with places by turns, five values in one
		// set would evict each other for ever.
		y := (uint64(n) ^ x) * 0x9e3779b97f4a7c15
		at := (y ^ y>>32) * 0xd6e8feb86659fd93 >> 62 * markBits
		marks = marks&^(onePlace<<at) | mark<<at
	}
	set.Store(marks)
	if int(n) >= len(g.sets) {
		d.begin(g)
	}
	return false
}

func (g *generation) set(x uint64) *atomic.Uint64 { return &g.sets[x&uint64(len(g.sets)-1)] }

// has reports whether a mark is in a set: whether one of the places is 0 after an
// exclusive or with the mark.
func has(marks, mark uint64) bool {
	m := marks ^ mark*everyMark
	return (m-everyMark)&^m&topBits != 0
}

// begin starts the generation after old.
func (d *doorkeeper) begin(old *generation) *generation {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.now.Load(); g != old {
		return g
	}
	sets := minSets
	if old != nil {
		sets = min(2*len(old.sets), maxSets)
	}
	g := d.past.Load()
	if g != nil && len(g.sets) == sets {
		// A reader misses sightings that are about to be forgotten.
		g.clear()
	} else {
		g = &generation{sets: make([]atomic.Uint64, sets)}
	}
	d.past.Store(old)
	d.now.Store(g)
	return g
}

func (g *generation) clear() {
	for i := range g.sets {
		g.sets[i].Store(0)
	}
	g.n.Store(0)
}

// bytes returns the memory of the generations, at most maxDoorBytes.
func (d *doorkeeper) bytes() int {
	n := 0
	for _, p := range []*atomic.Pointer[generation]{&d.past, &d.now} {
		if g := p.Load(); g != nil {
			n += len(g.sets) * setBytes
		}
	}
	return n
}

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
