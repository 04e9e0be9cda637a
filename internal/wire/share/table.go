package share

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Unit tells apart values that equal bytes could become: the Go type, and what
// else decides how it is decoded. UnitOf makes one.
type Unit uint64

// Value is a shared value: a pointer, a map, or a slice's first element and
// its length, which is its capacity too. What it points to is never written
// again.
type Value struct {
	Ptr unsafe.Pointer
	Len int
}

// Table holds the values that were seen more than once, by the hash of their
// bytes, up to a number of bytes. It is safe for concurrent use: a look-up
// takes no lock.
type Table struct {
	hasher
	strings strings
	door    doorkeeper

	slots atomic.Pointer[slots]
	mu    sync.Mutex
	max   int
	bytes int // of all entries; guarded by mu
	n     int // entries; guarded by mu
	hand  int // where the clock stands; guarded by mu
}

// slots is an open-addressed table, probed linearly. Its entries are replaced
// and removed in place, under the table's mutex; a reader who is overtaken by
// that may miss an entry, which costs him a decoding.
type slots struct {
	entries []atomic.Pointer[entry]
	shift   uint
}

// entry is immutable but for used.
type entry struct {
	unit  Unit
	hash  Hash
	bytes int32
	// used is set by whoever finds it and taken back by the clock's hand.
	used  atomic.Bool
	value Value
}

// entryOverhead is the entry itself (56 bytes in a class of 64) and its place
// in slots, at most half of which are taken.
const entryOverhead = 64 + 16

// DefaultBytes bounds a table if nothing else is said. 500 pod templates take
// about 6 MB.
const DefaultBytes = 64 << 20

// NewTable returns a table that keeps at most maxBytes of values alive;
// DefaultBytes if it is 0. It takes next to no memory until it is used.
func NewTable(maxBytes int) *Table {
	if maxBytes == 0 {
		maxBytes = DefaultBytes
	}
	return &Table{hasher: newHasher(), max: maxBytes}
}

// Get returns the value that a unit's bytes became before.
func (t *Table) Get(unit Unit, h Hash) (Value, bool) {
	s := t.slots.Load()
	if s == nil {
		return Value{}, false
	}
	for i, end := s.home(unit, h), len(s.entries); end > 0; end-- {
		e := s.entries[i].Load()
		if e == nil {
			break
		}
		if e.unit == unit && e.hash == h {
			if !e.used.Load() {
				e.used.Store(true)
			}
			return e.value, true
		}
		i = (i + 1) & (len(s.entries) - 1)
	}
	return Value{}, false
}

func (s *slots) home(unit Unit, h Hash) int {
	return int((h.A ^ uint64(unit)) * 0x9e3779b97f4a7c15 >> s.shift)
}

// Offer says that a unit's bytes became this value, of which others may be
// given a share from now on. It is taken in at its second sighting. bytes is
// what is alive with it.
func (t *Table) Offer(unit Unit, h Hash, v Value, bytes int) {
	if bytes+entryOverhead > t.max/8 || !t.door.seen(h.A^uint64(unit)) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.Get(unit, h); ok {
		return
	}
	for t.n > 0 && t.bytes+bytes+entryOverhead > t.max {
		t.evict()
	}
	s := t.slots.Load()
	if s == nil || 2*(t.n+1) > len(s.entries) {
		s = t.grow(s)
	}
	s.put(&entry{unit: unit, hash: h, bytes: int32(bytes), value: v})
	t.n++
	t.bytes += bytes + entryOverhead
}

func (s *slots) put(e *entry) {
	i := s.home(e.unit, e.hash)
	for s.entries[i].Load() != nil {
		i = (i + 1) & (len(s.entries) - 1)
	}
	s.entries[i].Store(e)
}

// grow moves the entries to a table of twice the size. Readers go on with the
// old one meanwhile.
func (t *Table) grow(old *slots) *slots {
	n := 64
	if old != nil {
		n = 2 * len(old.entries)
	}
	s := &slots{entries: make([]atomic.Pointer[entry], n), shift: uint(64 - bits.TrailingZeros(uint(n)))}
	if old != nil {
		for i := range old.entries {
			if e := old.entries[i].Load(); e != nil {
				s.put(e)
			}
		}
	}
	t.hand = 0
	t.slots.Store(s)
	return s
}

// evict removes the next entry that nobody has found since the hand last came
// by.
func (t *Table) evict() {
	s := t.slots.Load()
	mask := len(s.entries) - 1
	for {
		i := t.hand & mask
		t.hand++
		e := s.entries[i].Load()
		if e == nil {
			continue
		}
		if e.used.Swap(false) {
			continue
		}
		t.bytes -= int(e.bytes) + entryOverhead
		t.n--
		s.remove(i)
		return
	}
}

// remove empties a slot and moves up what was pushed behind it.
func (s *slots) remove(i int) {
	mask := len(s.entries) - 1
	for j := (i + 1) & mask; ; j = (j + 1) & mask {
		e := s.entries[j].Load()
		if e == nil {
			break
		}
		if home := s.home(e.unit, e.hash); (j-home)&mask >= (j-i)&mask {
			s.entries[i].Store(e)
			i = j
		}
	}
	s.entries[i].Store(nil)
}

// Stats says how full a table is.
type Stats struct {
	// Entries and Bytes are of the shared values; Bytes is bounded by MaxBytes.
	Entries, Bytes, MaxBytes int
}

// Stats returns how full the table is.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{Entries: t.n, Bytes: t.bytes, MaxBytes: t.max}
}

// String returns b as a string, the same one for equal bytes where they
// repeat. It never aliases b.
func (t *Table) String(b []byte) string {
	s, _ := t.strings.get(&t.hasher, b)
	return s
}

// Boxed is String for interfaces: what it points to, which is never written
// to, is the same for equal bytes too.
func (t *Table) Boxed(b []byte) *string {
	s, cached := t.strings.get(&t.hasher, b)
	if cached == nil {
		cached = new(string)
		*cached = s
	}
	return cached
}

// Known is String for what is a string already, without making another: the
// one equal to v that others have, in its box, or nil if none is known.
func (t *Table) Known(v string) *string { return t.strings.known(&t.hasher, v) }
