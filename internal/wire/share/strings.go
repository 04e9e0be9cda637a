package share

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
)

// strings deduplicates equal strings. It is a cache, and compares the bytes, so a
// hash of 64 bits suffices. Reads take no lock; changes are guarded by the table's
// mu.
type strings struct {
	cache atomic.Pointer[stringCache]
	door  doorkeeper
	n     int    // strings; guarded by the table's mu
	turn  uint64 // which bucket another string may go from next; guarded by the table's mu
	bytes int    // of boxes and buckets; guarded by the table's mu
}

type stringCache struct {
	buckets []bucket
}

// bucket is a cache line, which is all that a miss reads: 1 in 37 of the strings
// that are not there has a tag that is (7 of 256), and is compared.
type bucket struct {
	// tags has in byte i eight bits of the hash of the string that boxes[i] points
	// to, and in its last byte which of them is the oldest. It is written after the
	// box: a reader in between misses a string, and never takes one for another.
	tags atomic.Uint64
	// Invariant: the boxes that are set follow the oldest in a ring, by age.
	boxes [bucketBoxes]atomic.Pointer[string]
}

const (
	bucketBoxes = 7
	bucketBytes = 64
	handShift   = 8 * bucketBoxes
	everyByte   = 0x0101010101010101
	// boxTops is the top bit of the tag of each box.
	boxTops = 0x0080808080808080

	minBuckets = 1 << 2
	// maxBuckets is 57,344 strings. They take 17 MB if each has 256 bytes,
	// and 3 MB if they are as long as most are.
	maxBuckets = 1 << 13
)

// find returns where the cache has v.
func (s *strings) find(x uint64, v string) *string {
	c := s.cache.Load()
	if c == nil {
		return nil
	}
	b := c.bucket(x)
	m := b.tags.Load() ^ x>>56*everyByte
	// A byte above a zero byte may be taken for zero, which costs a comparison.
	for zero := (m - everyByte) &^ m & boxTops; zero != 0; zero &= zero - 1 {
		if p := b.boxes[bits.TrailingZeros64(zero)/8].Load(); p != nil && *p == v {
			return p
		}
	}
	return nil
}

func (c *stringCache) bucket(x uint64) *bucket { return &c.buckets[x&uint64(len(c.buckets)-1)] }

// keepLocked puts a copy of v into the cache and returns it, or nil if it does not
// fit into limit bytes. It evicts others for v: the oldest of the fuller of two
// buckets, its own and one by turns. Evicting only from its own would leave buckets
// as uneven as they were when the bytes ran out, and those with few strings would
// forget at once.
func (s *strings) keepLocked(seed maphash.Seed, x uint64, v string, limit int) *string {
	if p := s.find(x, v); p != nil {
		return p
	}
	c := s.cache.Load()
	if c == nil || len(c.buckets) < maxBuckets && c.bucket(x).count() == bucketBoxes && 2*s.n >= bucketBoxes*len(c.buckets) {
		c = s.growLocked(seed, c, limit)
		if c == nil {
			return nil
		}
	}
	size := boxBytes(v)
	for s.n > 0 && s.bytes+size > limit {
		s.turn++
		own, other := c.bucket(x), c.bucket(s.turn)
		if own.count() < other.count() {
			own = other
		}
		s.dropLocked(own)
	}
	if s.bytes+size > limit {
		return nil
	}
	b := c.bucket(x)
	if b.count() == bucketBoxes {
		s.dropLocked(b)
	}
	p := newBox(v)
	b.put(x, p)
	s.n++
	s.bytes += size
	return p
}

// dropLocked removes the string that has been in a bucket for longest, if there
// is one.
func (s *strings) dropLocked(b *bucket) {
	tags := b.tags.Load()
	at := tags >> handShift
	p := b.boxes[at].Load()
	if p == nil {
		return
	}
	b.boxes[at].Store(nil)
	b.tags.Store(tags&(1<<handShift-1) | (at+1)%bucketBoxes<<handShift)
	s.n--
	s.bytes -= boxBytes(*p)
}

// count returns how many boxes are set.
func (b *bucket) count() int {
	n := 0
	for i := range b.boxes {
		if b.boxes[i].Load() != nil {
			n++
		}
	}
	return n
}

// put adds a string. There must be an empty place.
func (b *bucket) put(x uint64, p *string) {
	tags := b.tags.Load()
	at := (int(tags>>handShift) + b.count()) % bucketBoxes
	b.boxes[at].Store(p)
	b.tags.Store(tags&^(0xff<<(8*at)) | x>>56<<(8*at))
}

// forgetLocked forgets all strings.
func (s *strings) forgetLocked() {
	s.cache.Store(nil)
	s.n, s.bytes = 0, 0
}

// growLocked moves the strings to a cache of twice the size, and returns it, or the
// old one if there is no room for more. Readers use the old one meanwhile.
func (s *strings) growLocked(seed maphash.Seed, old *stringCache, limit int) *stringCache {
	n, more := minBuckets, minBuckets
	if old != nil {
		n, more = 2*len(old.buckets), len(old.buckets)
	}
	if s.bytes+more*bucketBytes > limit {
		return old
	}
	c := &stringCache{buckets: make([]bucket, n)}
	s.bytes += more * bucketBytes
	if old != nil {
		for i := range old.buckets {
			for j := range old.buckets[i].boxes {
				if p := old.buckets[i].boxes[j].Load(); p != nil {
					// There is room: a bucket's strings go to two.
					x := maphash.String(seed, *p)
					c.bucket(x).put(x, p)
				}
			}
		}
	}
	s.cache.Store(c)
	return c
}
