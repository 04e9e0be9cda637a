package share

import (
	"cmp"
	"hash/fnv"
	"hash/maphash"
	"math"
	"math/bits"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// Unit distinguishes values that could be decoded from equal bytes: by the Go type,
// and whatever else affects decoding. UnitOf makes one.
type Unit uint64

// Table holds the values that were seen more than once, by the hash of their
// bytes, up to a number of bytes. It is safe for concurrent use: a lookup takes no
// lock.
type Table struct {
	hasher
	strings strings
	door    doorkeeper
	filter  filter

	max   int
	slots atomic.Pointer[slots]
	// hits and misses count the lookups of sessions.
	hits, misses atomic.Uint64
	// mu is held to add or remove values and strings. That hardly happens once the
	// values that a cluster's objects have in common are known.
	mu    sync.Mutex
	bytes int // of entries, their values and slots; guarded by mu
	n     int // entries; guarded by mu
	hand  int // the clock's hand; guarded by mu
	// faded and forgot are when age last made a pass and forgot the strings; zero until
	// anything is kept. Guarded by mu.
	faded, forgot time.Time
}

// slots is an open-addressed table, probed linearly. Its entries are replaced and
// removed in place, under the table's mutex. A concurrent reader may then miss an
// entry, and decodes the value once more.
type slots struct {
	entries []atomic.Pointer[entry]
	shift   uint
}

// entry is immutable except for state.
type entry struct {
	unit Unit
	hash Hash
	// bytes is how much memory the value takes.
	bytes uint32
	// state has the bits used, fresh, faded and foreign.
	state atomic.Uint32
	value Value
}

const (
	// entryBytes is the entry itself: 8 bytes of unit, 16 of hash, 8 of size
	// and state, 16 of value.
	entryBytes = 48
	slotBytes  = 8
	minSlots   = 1 << 4
	// maxValue bounds one value to this fraction, an eighth, of a table, so that a
	// few large ones do not evict all others.
	maxValue = 8
	// maxSlots and stringsShare bound the slots, and the strings with their
	// buckets, to a quarter each.
	maxSlots     = 4
	stringsShare = 4
)

// DefaultBytes bounds a table if nothing else is said. 500 pod templates take
// about 6 MB.
const DefaultBytes = 64 << 20

// NewTable returns a table that keeps at most maxBytes of values and strings alive,
// its index included; DefaultBytes if maxBytes is 0, nothing if it is negative. In
// addition there are two doorkeepers, which grow with the sightings to 1 MiB each,
// and, while the table grows, its old slots. An unused table takes almost no memory.
func NewTable(maxBytes int) *Table {
	return &Table{hasher: newHasher(), max: max(cmp.Or(maxBytes, DefaultBytes), 0)}
}

// Get returns the value that was decoded from a unit's bytes before.
func (t *Table) Get(unit Unit, h Hash) (Value, bool) {
	s := t.slots.Load()
	if s == nil {
		return Value{}, false
	}
	_, e := s.find(unit, h)
	if e == nil {
		return Value{}, false
	}
	if !e.is(used) {
		e.state.Or(used)
	}
	return e.get()
}

// find returns an entry and its slot, or nil if there is none.
func (s *slots) find(unit Unit, h Hash) (int, *entry) {
	for i, end := s.home(unit, h), len(s.entries); end > 0; end-- {
		e := s.entries[i].Load()
		if e == nil {
			break
		}
		if e.unit == unit && e.hash == h {
			return i, e
		}
		i = (i + 1) & (len(s.entries) - 1)
	}
	return 0, nil
}

func (s *slots) home(unit Unit, h Hash) int {
	return int((h.A ^ uint64(unit)) * 0x9e3779b97f4a7c15 >> s.shift)
}

// fits reports that a value of so many bytes may be admitted: one that takes more
// than an eighth of the table may not.
func (t *Table) fits(bytes int) bool {
	return bytes >= 0 && bytes <= math.MaxInt32 && bytes <= t.max/maxValue-entryBytes
}

// sighted reports that a unit was offered before, and records a sighting of it.
func (t *Table) sighted(unit Unit, h Hash) bool { return t.door.seen(h.A ^ uint64(unit)) }

// admit adds a value that fits. bytes is how much memory it keeps alive. Other
// objects may share it from now on. state is 0 or foreign.
func (t *Table) admit(unit Unit, h Hash, v Value, bytes int, state uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agesLocked()
	s := t.slots.Load()
	if s != nil {
		if i, e := s.find(unit, h); e != nil {
			if _, ok := e.get(); ok {
				return
			}
			t.dropLocked(s, i)
		}
	}
	if s == nil || 2*(t.n+1) > len(s.entries) {
		if s = t.growLocked(s); s == nil {
			return
		}
	}
	t.makeRoomLocked(bytes + entryBytes)
	e := &entry{unit: unit, hash: h, bytes: uint32(bytes), value: v}
	e.state.Store(state | fresh)
	s.put(e)
	t.n++
	t.bytes += bytes + entryBytes
}

// makeRoomLocked evicts until there is room for so many bytes. Without entries
// there always is: strings and slots take a quarter each at most, a value an
// eighth.
func (t *Table) makeRoomLocked(bytes int) {
	for t.n > 0 && t.bytes+t.strings.bytes+bytes > t.max {
		t.evictLocked()
	}
}

func (s *slots) put(e *entry) {
	i := s.home(e.unit, e.hash)
	for s.entries[i].Load() != nil {
		i = (i + 1) & (len(s.entries) - 1)
	}
	s.entries[i].Store(e)
}

// growLocked moves the entries to slots of twice the number, and returns these.
// Readers use the old ones meanwhile. A table that is too small for more slots keeps
// the old ones, and evicts an entry instead; nil if it has none.
func (t *Table) growLocked(old *slots) *slots {
	n, more := minSlots, minSlots
	if old != nil {
		n, more = 2*len(old.entries), len(old.entries)
	}
	if n*slotBytes > t.max/maxSlots {
		if old != nil {
			t.evictLocked()
		}
		return old
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
	t.bytes += more * slotBytes
	t.slots.Store(s)
	return s
}

// evictLocked removes the next entry that was not found since the hand last passed
// it. There must be an entry. It looks at each slot twice at most, since readers may
// mark entries faster than the hand clears the marks.
func (t *Table) evictLocked() {
	s := t.slots.Load()
	for left := 2 * len(s.entries); ; left-- {
		i := t.hand & (len(s.entries) - 1)
		t.hand++
		e := s.entries[i].Load()
		if e == nil || left > 0 && e.state.And(^uint32(used))&used != 0 {
			continue
		}
		t.dropLocked(s, i)
		return
	}
}

// dropLocked removes the entry in a slot.
func (t *Table) dropLocked(s *slots, i int) {
	t.bytes -= s.entries[i].Load().size()
	t.n--
	s.remove(i)
}

// remove empties a slot and moves up the entries that collisions put after it.
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
	// Entries is how many values are shared, Strings how many strings. Bytes
	// counts both, and is bounded by MaxBytes.
	Entries, Strings, Bytes, MaxBytes int
	// Hits and Misses are lookups of values, those in a Recent included, that sessions
	// have counted.
	Hits, Misses uint64
}

// Stats returns how full the table is.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Stats{Entries: t.n, Strings: t.strings.n, Bytes: t.bytes + t.strings.bytes, MaxBytes: t.max,
		Hits: t.hits.Load(), Misses: t.misses.Load()}
}

// Hash identifies a unit's bytes; doc.go says why it is enough.
type Hash struct {
	A uint64
	B uint32
}

// hasher computes hashes that nobody outside of the process can predict.
type hasher struct{ a, b maphash.Seed }

func newHasher() hasher { return hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

// Sum returns the hash of raw. It reads raw twice, at 6 to 8 GB/s
// together; a short one takes 13 ns.
func (h *hasher) Sum(raw []byte) Hash {
	return Hash{A: maphash.Bytes(h.a, raw), B: uint32(maphash.Bytes(h.b, raw))}
}

// Xor combines two hashes of different texts.
func (h Hash) Xor(x Hash) Hash { return Hash{A: h.A ^ x.A, B: h.B ^ x.B} }

// UnitOf returns the unit of a Go type and the format it is decoded from. variant
// has whatever else decides the outcome, dropped fields for example; it comes from
// the program, so it needs no secret.
func UnitOf(typ reflect.Type, format formats.Format, variant string) Unit {
	// A type's descriptor has one address for as long as the process lives.
	p := uint64(uintptr((*[2]unsafe.Pointer)(unsafe.Pointer(&typ))[1]))
	u := p*0x9e3779b97f4a7c15 ^ uint64(format)<<56
	if variant != "" {
		h := fnv.New64a()
		h.Write([]byte(variant))
		u ^= h.Sum64()
	}
	return Unit(u)
}

// Value is a shared value: a pointer, a map, or a slice's first element and
// its length, which is its capacity too. What it points to is never written
// again.
type Value struct {
	Ptr unsafe.Pointer
	Len int
}

// Load returns the value of a field: of a slice if slice is set, otherwise of a
// pointer or a map.
func Load(field unsafe.Pointer, slice bool) Value {
	v := Value{Ptr: *(*unsafe.Pointer)(field)}
	if slice {
		v.Len = (*memory.Slice)(field).Len
	}
	return v
}

// Store sets a field to the value. An append to a shared slice allocates new memory.
func (v Value) Store(field unsafe.Pointer, slice bool) {
	if slice {
		*(*memory.Slice)(field) = memory.SliceOf(v.Ptr, v.Len)
		return
	}
	*(*unsafe.Pointer)(field) = v.Ptr
}
