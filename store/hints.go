package store

import (
	"hash/maphash"
	"sync/atomic"
)

// fingerprint is what a key is known by: 96 bits from two keyed hashes with
// random seeds of the store's own. Tag finds the slot; print, which stands in
// the slot beside the object, tells that it is the right one.
//
// Keys are not compared beyond that. Two different keys agree by chance once
// in 2^96: a store asked a billion times a second for a key that it does not
// have, each time comparing two entries, is wrong once in 10^12 years. The
// seeds are secret and of this process, so names cannot be chosen to collide.
// Comparing the bytes instead costs cold cache lines of the object, and makes
// a look-up three times as slow.
type fingerprint struct {
	tag   uint32
	print uint64
}

// hints is one hash table from key to slot for all versions of a store. It
// follows the latest one. It holds no keys and no pointers: an entry is 32
// bits of hash and a slot, and whoever finds one compares the fingerprint with
// that which the slot has in his version. So an entry may be wrong for a
// version, and nothing of the table is ever copied for a snapshot.
//
// Invariant: every key of a published version has its entry from before the
// version is published until after its successor is. Hence who misses a key
// here, and afterwards still finds his version to be the published one, knows
// that the version has no such key.
//
// The writer alone changes it, under the store's mutex; anybody may read.
// The table is split in segments by the hash's high bits (extendible hashing),
// so that growing it never moves more than one segment.
type hints struct {
	seed, seed2 maphash.Seed
	dir         atomic.Pointer[hintDir]
}

// hintDir maps the first depth bits of a tag to a segment. Publication order:
// a segment's entries are stored before the segment is, and segments before
// the directory, so a reader finds everything that was in its predecessor.
type hintDir struct {
	depth uint
	segs  []atomic.Pointer[hintSeg]
}

// hintSeg is an open-addressed table, probed linearly.
type hintSeg struct {
	depth uint
	live  int // guarded by the store's mutex
	spent int // live entries and removed ones; guarded by the store's mutex
	// entries has a power of two of elements, at least one of them empty.
	// An element never moves; a removed one stays as a tombstone.
	entries []atomic.Uint64
}

// An entry is tag<<32 | slot+hintFirst.
const (
	hintEmpty   = 0
	hintRemoved = 1
	hintFirst   = 2

	hintMin = 8
	// Segments of 512 entries, 4 KiB, grow by splitting in two: that moves at
	// most 384 entries, about a microsecond.
	hintMax = 512
)

// maxSlots bounds the slots that an entry can name.
const maxSlots = 1<<31 - 1

func newHints() *hints {
	h := &hints{seed: maphash.MakeSeed(), seed2: maphash.MakeSeed()}
	d := &hintDir{segs: make([]atomic.Pointer[hintSeg], 1)}
	d.segs[0].Store(&hintSeg{entries: make([]atomic.Uint64, hintMin)})
	h.dir.Store(d)
	return h
}

// of returns the fingerprint of a key.
func (h *hints) of(k Key) fingerprint {
	a, b := maphash.String(h.seed, k.Name), maphash.String(h.seed2, k.Name)
	if k.Namespace != "" {
		a = spread(a) ^ maphash.String(h.seed, k.Namespace)
		b = spread(b) ^ maphash.String(h.seed2, k.Namespace)
	}
	if k.Cluster != "" {
		a = spread(spread(a)) ^ maphash.String(h.seed, k.Cluster)
		b = spread(spread(b)) ^ maphash.String(h.seed2, k.Cluster)
	}
	return fingerprint{tag: uint32(spread(a) >> 32), print: max(b, 1)}
}

// spread is a bijection, so that the same string in two fields counts.
func spread(x uint64) uint64 { return (x ^ x>>32) * 0x9e3779b97f4a7c15 }

// hashValue returns the hash by which an index finds a value.
func (h *hints) hashValue(value string) uint64 { return maphash.String(h.seed, value) }

func (d *hintDir) at(tag uint32) int { return int(uint64(tag) << d.depth >> 32) }

func (h *hints) seg(tag uint32) *hintSeg {
	d := h.dir.Load()
	return d.segs[d.at(tag)].Load()
}

// add enters a slot under a tag.
func (h *hints) add(tag, slot uint32) {
	s := h.seg(tag)
	if (s.spent+1)*4 > len(s.entries)*3 {
		h.grow(tag, s)
		s = h.seg(tag)
	}
	s.add(uint64(tag)<<32 | uint64(slot+hintFirst))
}

func (s *hintSeg) add(entry uint64) {
	mask := uint32(len(s.entries) - 1)
	for i := uint32(entry >> 32); ; i++ {
		e := &s.entries[i&mask]
		switch e.Load() {
		case hintEmpty:
			s.spent++
		case hintRemoved:
		default:
			continue
		}
		s.live++
		e.Store(entry)
		return
	}
}

// remove takes an entry out.
func (h *hints) remove(tag, slot uint32) {
	s := h.seg(tag)
	entry := uint64(tag)<<32 | uint64(slot+hintFirst)
	mask := uint32(len(s.entries) - 1)
	for i := tag; ; i++ {
		switch e := &s.entries[i&mask]; e.Load() {
		case entry:
			e.Store(hintRemoved)
			s.live--
			return
		case hintEmpty:
			panic("BUG: store: an object in the store has no hint")
		}
	}
}

// grow makes room in the segment of tag: by leaving out tombstones, by
// doubling it, or by splitting it in two.
func (h *hints) grow(tag uint32, s *hintSeg) {
	d := h.dir.Load()
	size := len(s.entries)
	if s.live*8 >= size*3 {
		size *= 2
	}
	if size <= hintMax {
		n := &hintSeg{depth: s.depth, entries: make([]atomic.Uint64, size)}
		s.copyTo(func(uint32) *hintSeg { return n })
		d.replace(tag, s.depth, n, n)
		return
	}
	if s.depth == d.depth {
		bigger := &hintDir{depth: d.depth + 1, segs: make([]atomic.Pointer[hintSeg], 2*len(d.segs))}
		for i := range d.segs {
			bigger.segs[2*i].Store(d.segs[i].Load())
			bigger.segs[2*i+1].Store(d.segs[i].Load())
		}
		h.dir.Store(bigger)
		d = bigger
	}
	low := &hintSeg{depth: s.depth + 1, entries: make([]atomic.Uint64, hintMax)}
	high := &hintSeg{depth: s.depth + 1, entries: make([]atomic.Uint64, hintMax)}
	s.copyTo(func(tag uint32) *hintSeg {
		if tag<<s.depth>>31 == 0 {
			return low
		}
		return high
	})
	d.replace(tag, s.depth, low, high)
}

func (s *hintSeg) copyTo(to func(tag uint32) *hintSeg) {
	for i := range s.entries {
		if e := s.entries[i].Load(); e > hintRemoved {
			to(uint32(e >> 32)).add(e)
		}
	}
}

// replace puts low and high in the place of the segment that covers tag with
// depth bits: each in one half of its directory entries.
func (d *hintDir) replace(tag uint32, depth uint, low, high *hintSeg) {
	n := 1 << (d.depth - depth)
	first := d.at(tag) &^ (n - 1)
	for i := range n {
		if i < (n+1)/2 {
			d.segs[first+i].Store(low)
		} else {
			d.segs[first+i].Store(high)
		}
	}
}
