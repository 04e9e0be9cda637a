package share

import (
	"hash/maphash"
	"math/bits"
	"sync/atomic"
	"unsafe"
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

// Known returns the known string that equals v, in its box, or nil if there is none.
// A string is known from its second sighting on, as long as it is remembered. The
// call counts as a sighting of v, and keeps at most a copy of v. Strings of more
// than 256 bytes are not looked up. It costs a hash of v and a cache line, and one
// more if v is found.
func (t *Table) Known(v string) *string {
	if v == "" || len(v) > maxInterned {
		return nil
	}
	x := maphash.String(t.a, v)
	if p := t.strings.find(x, v); p != nil {
		return p
	}
	return t.sight(x, v)
}

// sight counts a sighting of a string that was not found, and keeps it if that is
// not the first.
func (t *Table) sight(x uint64, v string) *string {
	if !t.strings.door.seen(x) {
		return nil
	}
	return t.keep(x, v)
}

// keep adds a copy of v, and returns it in its box, or nil.
func (t *Table) keep(x uint64, v string) *string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agesLocked()
	p := t.strings.keepLocked(t.a, x, v, t.max/stringsShare)
	t.makeRoomLocked(0)
	return p
}

// boxed is a string followed by its bytes: one allocation, whose first cache line
// has all of a short string.
type boxed[D any] struct {
	text string
	data D
}

const (
	// maxInterned is the longest string that is looked up: images and label
	// values are shorter, messages may be longer.
	maxInterned = 256
	// maxBoxBytes is the size of the longest: 16 bytes of header, 256 of text,
	// rounded up to the allocator's class.
	maxBoxBytes = 288
)

// newBox copies v, of at most maxInterned bytes, into a box. The sizes are classes
// of the allocator less the 16 bytes of the header.
func newBox(v string) *string {
	switch n := len(v); {
	case n <= 16:
		return box[[16]byte](v)
	case n <= 32:
		return box[[32]byte](v)
	case n <= 48:
		return box[[48]byte](v)
	case n <= 64:
		return box[[64]byte](v)
	case n <= 96:
		return box[[96]byte](v)
	case n <= 128:
		return box[[128]byte](v)
	case n <= 192:
		return box[[192]byte](v)
	}
	return box[[maxBoxBytes - 16]byte](v)
}

func box[D any](v string) *string {
	b := new(boxed[D])
	data := unsafe.Slice((*byte)(unsafe.Pointer(&b.data)), len(v))
	copy(data, v)
	b.text = unsafe.String(unsafe.SliceData(data), len(v))
	return &b.text
}

// boxBytes returns the size of v's box.
func boxBytes(v string) int {
	switch n := len(v); {
	case n <= 64:
		return 16 + max(16, (n+15)&^15)
	case n <= 128:
		return 16 + (n+31)&^31
	case n <= 192:
		return 16 + 192
	}
	return maxBoxBytes
}

// repeats are the last strings that a session made. An object often has a string of
// its own twice: an address alone and in a list, or the time when all began. Both
// get one string, without an entry in the table.
type repeats struct {
	list [8]repeated
	next uint8
}

type repeated struct {
	hash uint64
	text string
	box  *string
}

func (r *repeats) find(x uint64, v string) *repeated {
	for i := range r.list {
		if e := &r.list[i]; e.hash == x && e.text == v {
			return e
		}
	}
	return nil
}

func (r *repeats) add(x uint64, text string, box *string) {
	r.list[r.next%uint8(len(r.list))] = repeated{x, text, box}
	r.next++
}

// String returns b as a string: the same one for equal bytes from their second
// sighting on, or if the session made it recently. There must be a table. The string
// never aliases b.
func (s *Session) String(b []byte) string {
	text, _ := s.text(b)
	return text
}

// Text is String for the strings of a place. It skips the lookup at a place where
// hardly any is known.
func (s *Session) Text(p Place, b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if !s.Asks(p, &TextWorth) {
		s.Allocated += len(b)
		return string(b)
	}
	text, known := s.text(b)
	s.found(p, &TextWorth, known)
	return text
}

// text returns b as a string, and whether that was known.
func (s *Session) text(b []byte) (text string, known bool) {
	if len(b) == 0 {
		return "", true
	}
	if len(b) <= maxInterned {
		v := unsafe.String(unsafe.SliceData(b), len(b))
		x := maphash.String(s.Table.a, v)
		if p := s.Table.strings.find(x, v); p != nil {
			return *p, true
		}
		if e := s.repeats.find(x, v); e != nil {
			return e.text, true
		}
		if p := s.Table.sight(x, v); p != nil {
			return *p, true
		}
		text = string(b)
		s.repeats.add(x, text, nil)
	} else {
		text = string(b)
	}
	s.Allocated += len(text)
	return text, false
}

// Boxed is String for interfaces: the box that it returns, which is never written
// to, is the same for equal bytes too.
func (s *Session) Boxed(b []byte) *string {
	v := unsafe.String(unsafe.SliceData(b), len(b))
	if len(b) == 0 || len(b) > maxInterned {
		text := string(b)
		s.Allocated += int(unsafe.Sizeof(text)) + len(b)
		return &text
	}
	x := maphash.String(s.Table.a, v)
	if p := s.Table.strings.find(x, v); p != nil {
		return p
	}
	if e := s.repeats.find(x, v); e != nil && e.box != nil {
		return e.box
	}
	if p := s.Table.sight(x, v); p != nil {
		return p
	}
	p := newBox(v)
	s.repeats.add(x, *p, p)
	s.Allocated += boxBytes(v)
	return p
}
