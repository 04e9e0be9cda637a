package store

import (
	"math/bits"
	"sync/atomic"
)

// hints is one hash table from key to slot for all versions of a store. It follows
// the latest one. It holds no keys and no pointers: an entry is 32 bits of hash and a
// slot. A reader that finds an entry compares the fingerprint with that of the slot
// in its version. So an entry may be wrong for a version, and no part of the table is
// ever copied for a snapshot.
//
// Invariant: every key of a published version has its entry from before the version
// is published until after its successor is. So if a reader misses a key here, and
// its version is still the latest one afterwards, the version has no such key.
//
// Only the writer changes the table, under the store's mutex; any goroutine may read
// it. The table is split in segments by the hash's high bits (extendible hashing), so
// that growing it never moves more than one segment.
type hints struct {
	hasher
	dir atomic.Pointer[hintDir]
}

// hintDir maps a tag to the groups of its segment. Publication order: entries are
// stored before the pointer to their groups, and that before the directory, so a
// reader of a new directory finds everything that was in the old one.
type hintDir struct {
	// only has the groups while there is one segment.
	only []hintGroup
	// groups holds the groups of each segment, indexed by the tag's first bits: what
	// is left of it after shift. A reader reaches a group by two loads that depend on
	// the tag: this pointer, and the group itself.
	groups []atomic.Pointer[[hintMax]hintGroup]
	shift  uint
	// segs are the segments, as in groups; guarded by the store's mutex.
	segs []*hintSeg
}

// hintSeg is the writer's view of a segment: a table of groups, probed in order from
// the one that the tag's low bits select. All of it is guarded by the store's mutex.
type hintSeg struct {
	depth uint // how many of the tag's first bits lead here
	live  int
	spent int // live entries and removed ones
	// groups has a power of two of elements and at least one empty place; it has
	// hintMax elements if there are several segments.
	groups []hintGroup
}

// hintGroup is a cache line: seven places, and a byte for each of them, all of which
// are compared at once. So a lookup mostly finds its entry with the first comparison,
// and without a mispredicted branch.
//
// An entry never moves. Its byte is stored after it. A group that was full once never
// has an empty place again: a removed entry leaves a tombstone. So a search may stop
// at the first empty place.
type hintGroup struct {
	bytes   atomic.Uint64 // the eighth is not used
	entries [hintPlaces]atomic.Uint64
}

const (
	hintPlaces = 7

	// The values of a place's byte. With the high bit set the place has an entry,
	// and the other bits are 7 of its tag.
	hintEmpty   = 0
	hintRemoved = 1
	hintTaken   = 0x80

	hintOnes  = 0x0101010101010101
	hintHighs = 0x0080808080808080 // of the seven bytes

	// Segments of 64 groups, 448 places and 4 KiB, grow by splitting in two:
	// that moves at most 364 entries, about a microsecond.
	hintMax = 64
)

// maxSlots bounds the slots that an entry can name.
const maxSlots = 1<<31 - 1

func (h *hints) init(byText bool) {
	h.hasher = newHasher(byText)
	h.dir.Store(singleSeg(&hintSeg{groups: make([]hintGroup, 1)}))
}

func singleSeg(s *hintSeg) *hintDir {
	return &hintDir{only: s.groups, shift: 32, segs: []*hintSeg{s}}
}

// groupsOf returns the groups that may hold an entry with the tag.
func (h *hints) groupsOf(tag uint32) []hintGroup {
	d := h.dir.Load()
	if d.only != nil {
		return d.only
	}
	return d.groups[tag>>(d.shift&31)].Load()[:]
}

// seg returns the segment of a tag.
func (h *hints) seg(tag uint32) *hintSeg {
	d := h.dir.Load()
	return d.segs[tag>>d.shift]
}

// tagByte returns the byte of a place with an entry of the tag. Its bits are neither
// among those that choose the group, nor, in a table of up to 2^17 segments and
// so 30 million entries, among those that choose the segment.
func tagByte(tag uint32) uint64 { return uint64(tag>>8&0x7f | hintTaken) }

// matching returns bytes with the high bit set where the group's byte is b. The bytes
// above a true match may match falsely.
func matching(bytes, b uint64) uint64 {
	x := bytes ^ b*hintOnes
	return (x - hintOnes) &^ x & hintHighs
}

// add adds a slot under a tag.
func (h *hints) add(tag, slot uint32) {
	s := h.seg(tag)
	if (s.spent+1)*16 > len(s.groups)*hintPlaces*13 {
		h.grow(tag, s)
		s = h.seg(tag)
	}
	s.add(uint64(tag)<<32 | uint64(slot))
}

func (s *hintSeg) add(entry uint64) {
	tag := uint32(entry >> 32)
	for i := tag; ; i++ {
		g := &s.groups[i&uint32(len(s.groups)-1)]
		bytes := g.bytes.Load()
		free := ^bytes & hintHighs
		if free == 0 {
			continue
		}
		at := bits.TrailingZeros64(free) / 8
		if bytes>>(8*at)&0xff == hintEmpty {
			s.spent++
		}
		s.live++
		g.entries[at].Store(entry)
		g.say(at, tagByte(tag))
		return
	}
}

// say sets the byte of a place.
func (g *hintGroup) say(at int, b uint64) {
	g.bytes.Store(g.bytes.Load()&^(0xff<<(8*at)) | b<<(8*at))
}

// remove removes an entry.
func (h *hints) remove(tag, slot uint32) {
	s := h.seg(tag)
	entry := uint64(tag)<<32 | uint64(slot)
	for i := tag; ; i++ {
		g := &s.groups[i&uint32(len(s.groups)-1)]
		bytes := g.bytes.Load()
		hasEmpty := matching(bytes, hintEmpty) != 0
		for m := matching(bytes, tagByte(tag)); m != 0; m &= m - 1 {
			at := bits.TrailingZeros64(m) / 8
			if g.entries[at].Load() != entry || bytes>>(8*at)&hintTaken == 0 {
				continue
			}
			s.clear(g, at, hasEmpty)
			return
		}
		if hasEmpty {
			panic("BUG: store: an object in the store has no hint")
		}
	}
}

// clear removes the entry at a place of a group. hasEmpty is whether the group has an
// empty place, and so was never full.
func (s *hintSeg) clear(g *hintGroup, at int, hasEmpty bool) {
	s.live--
	if hasEmpty {
		s.spent--
		g.say(at, hintEmpty)
	} else {
		g.say(at, hintRemoved)
	}
}

// grow makes room in the segment of tag: it drops tombstones, doubles the segment, or
// splits it in two.
func (h *hints) grow(tag uint32, s *hintSeg) {
	d := h.dir.Load()
	size := len(s.groups)
	if s.live*8 >= size*hintPlaces*3 {
		size *= 2
	}
	if size <= hintMax {
		n := &hintSeg{depth: s.depth, groups: make([]hintGroup, size)}
		s.copyTo(func(uint32) *hintSeg { return n })
		if s.depth == 0 {
			h.dir.Store(singleSeg(n))
		} else {
			d.replace(tag, s.depth, n, n)
		}
		return
	}
	low := &hintSeg{depth: s.depth + 1, groups: make([]hintGroup, hintMax)}
	high := &hintSeg{depth: s.depth + 1, groups: make([]hintGroup, hintMax)}
	s.copyTo(func(tag uint32) *hintSeg {
		if tag<<s.depth>>31 == 0 {
			return low
		}
		return high
	})
	if s.depth+d.shift < 32 {
		d.replace(tag, s.depth, low, high)
		return
	}
	bigger := &hintDir{shift: d.shift - 1, segs: make([]*hintSeg, 2*len(d.segs)),
		groups: make([]atomic.Pointer[[hintMax]hintGroup], 2*len(d.segs))}
	for i, seg := range d.segs {
		bigger.set(2*i, seg)
		bigger.set(2*i+1, seg)
	}
	bigger.replace(tag, s.depth, low, high)
	h.dir.Store(bigger)
}

func (s *hintSeg) copyTo(to func(tag uint32) *hintSeg) {
	for i := range s.groups {
		g := &s.groups[i]
		for m := g.bytes.Load() & hintHighs; m != 0; m &= m - 1 {
			e := g.entries[bits.TrailingZeros64(m)/8].Load()
			to(uint32(e >> 32)).add(e)
		}
	}
}

// replace replaces the segment that covers tag with depth bits by low and high, each
// in one half of its directory entries.
func (d *hintDir) replace(tag uint32, depth uint, low, high *hintSeg) {
	n := 1 << (32 - d.shift - depth)
	first := int(tag>>d.shift) &^ (n - 1)
	for i := range n {
		if i < (n+1)/2 {
			d.set(first+i, low)
		} else {
			d.set(first+i, high)
		}
	}
}

func (d *hintDir) set(i int, s *hintSeg) {
	d.segs[i] = s
	d.groups[i].Store((*[hintMax]hintGroup)(s.groups))
}

// removeAll removes the entries of some slots.
func (h *hints) removeAll(gone slotBits) {
	var last *hintSeg
	for _, s := range h.dir.Load().segs {
		if s != last {
			s.removeAll(gone)
		}
		last = s
	}
}

func (s *hintSeg) removeAll(gone slotBits) {
	for i := range s.groups {
		g := &s.groups[i]
		bytes := g.bytes.Load()
		hasEmpty := matching(bytes, hintEmpty) != 0
		for m := bytes & hintHighs; m != 0; m &= m - 1 {
			if at := bits.TrailingZeros64(m) / 8; gone.has(uint32(g.entries[at].Load())) {
				s.clear(g, at, hasEmpty)
			}
		}
	}
}
