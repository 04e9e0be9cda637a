package share

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Session is the decoding state of one goroutine. It holds the memo that is being
// written. Its zero value shares and remembers nothing.
type Session struct {
	// Table is nil if nothing is to be shared: then nothing is noted either.
	Table *Table
	// Allocated is how many bytes the decoder has allocated so far. The decoder
	// adds to it; the difference over a unit is the unit's cost.
	Allocated int
	// Private is how many values have been decoded that have state to which a
	// reader may write; the decoder counts them. A value that contains one is never
	// offered.
	Private int
	// Recent, which may be nil, has the values that were offered recently, by this
	// session and by others that decode the same stream.
	Recent *Recent

	// Foreign is set if offered values are memory of the program's, which need not be
	// Go's. The table does not keep them as long as others.
	Foreign bool

	records []Record
	repeats repeats
	// object is the number, by Recent's count, of the object being decoded.
	object uint32
	// skipped counts the values that were not looked up.
	skipped uint32
	// hits and misses are lookups that the table has not counted yet.
	hits, misses uint32
}

// NewSession returns a session of the table, which may be nil.
func NewSession(t *Table) *Session { return &Session{Table: t} }

// Begin starts the memo of another object.
func (s *Session) Begin() {
	s.records = s.records[:0]
	if s.hits+s.misses >= countEvery {
		s.Count()
	}
	if s.Recent != nil {
		s.object = s.Recent.objects.Add(1)
	}
}

// get returns the value that was decoded from a unit's bytes before, from the table
// or from Recent. There must be a table.
func (s *Session) get(unit Unit, h Hash) (Value, bool) {
	v, ok := s.find(unit, h)
	if ok {
		s.hits++
	} else {
		s.misses++
	}
	return v, ok
}

func (s *Session) find(unit Unit, h Hash) (Value, bool) {
	v, ok := s.Table.Get(unit, h)
	if ok || s.Recent == nil {
		return v, ok
	}
	c, ok := s.Recent.get(unit, h, s.object)
	if ok && c.object != s.object {
		s.Table.admit(unit, h, c.value, int(c.bytes), s.origin())
	}
	return c.value, ok
}

// origin returns the state of an entry for a value that the session offers.
func (s *Session) origin() uint32 {
	if s.Foreign {
		return foreign
	}
	return 0
}

// countEvery is after how many lookups the next object adds them to the table's counts:
// two atomic additions, every few objects, to a cache line that all sessions write.
const countEvery = 64

// Count adds the session's lookups to the table's counts. Call it when the session is
// not to be used for a while.
func (s *Session) Count() {
	if s.Table == nil {
		return
	}
	s.Table.hits.Add(uint64(s.hits))
	s.Table.misses.Add(uint64(s.misses))
	s.hits, s.misses = 0, 0
}

// offer offers a value to the table, which there must be. Recent keeps a value that
// the table has never seen.
func (s *Session) offer(unit Unit, h Hash, v Value, bytes int) {
	t := s.Table
	switch {
	case !t.fits(bytes):
	case t.sighted(unit, h):
		t.admit(unit, h, v, bytes, s.origin())
	case s.Recent != nil && v.Ptr != nil:
		s.Recent.put(candidate{unit: unit, hash: h, value: v, bytes: uint32(bytes), object: s.object})
	}
}

// Mark is a place in the memo that is being written.
type Mark int

// Mark returns the current place. A unit's mark is taken before what is inside it
// is noted.
func (s *Session) Mark() Mark { return Mark(len(s.records)) }

// Reserve makes room for a unit's record, in front of those of what is inside
// it, and returns its place. Each must be followed by Note, NoteOpen or Drop.
func (s *Session) Reserve() Mark {
	s.records = append(s.records, Record{})
	return Mark(len(s.records) - 1)
}

// Drop takes back a reserved record and all that was noted since.
func (s *Session) Drop(m Mark) { s.records = s.records[:m] }

// Note fills a reserved record: the unit's bytes have this size and hash.
func (s *Session) Note(m Mark, field, size int, h Hash) {
	s.fill(m, field, Record{a0: uint32(h.A), a1: uint32(h.A >> 32), b: h.B, size: uint32(size)})
}

// NoteFlat is Note for a unit without records inside: the records noted since then
// follow it. field must be at most MaxField.
func (s *Session) NoteFlat(m Mark, field, size int, h Hash) {
	s.records[m] = Record{a0: uint32(h.A), a1: uint32(h.A >> 32), b: h.B, size: uint32(size), field: uint16(field)}
}

// NoteOpen fills a reserved record of a unit that has changed.
func (s *Session) NoteOpen(m Mark, field int, mask uint64) {
	s.fill(m, field, Record{a0: uint32(mask), a1: uint32(mask >> 32), kids: openBit})
}

func (s *Session) fill(m Mark, field int, r Record) {
	kids := len(s.records) - int(m) - 1
	switch {
	case field > MaxField || kids > maxKids && r.kids&openBit != 0:
		// A Record cannot hold it. Without one it is decoded next time.
		s.Drop(m)
		return
	case kids > maxKids:
		s.records = s.records[:m+1]
		kids = 0
	}
	r.field = uint16(field)
	r.kids |= uint16(kids)
	s.records[m] = r
}

// Keep copies an old record to the memo, with those inside it: the unit has not
// changed.
func (s *Session) Keep(r *Record, inside Cursor) {
	c := *r
	s.records = append(s.records, c)
	s.records = append(s.records, inside.records...)
}

// Memo returns the records noted since Begin, in memory of their own, as the memo
// of the object that plan decoded.
func (s *Session) Memo(plan PlanID, object unsafe.Pointer) *Memo {
	return newMemo(plan, object, s.records)
}

// Recent holds values that were offered recently, and that the table did not admit,
// since it was their first sighting. A list comes in the order of its keys, so the
// pods of one template follow each other: with Recent the second pod gets the
// values of the first, which then has no copies of its own. Values that two parts
// of one object have in common are found here too, without an entry in the table.
//
// It holds at most 512 values, of 2 MiB together, and takes 24 KiB once it is used.
// So it belongs to the sessions that decode one busy stream, for as long as that is
// busy. It is safe for concurrent use and never waits: a session that finds a shard
// locked does without.
type Recent struct {
	shards [recentShards]atomic.Pointer[recentShard]
	// objects counts those that were begun.
	objects atomic.Uint32
}

const (
	recentShards = 8
	recentSlots  = 64
	// recentBytes bounds the values of a shard. A unit's bytes are also counted
	// with those of the unit that contains it.
	recentBytes = 256 << 10
)

type recentShard struct {
	mu sync.Mutex
	// bytes is how much memory the values keep alive; guarded by mu.
	bytes int
	// slots has each value in the only place where it can be; guarded by mu.
	slots [recentSlots]candidate
}

// candidate is a value that was seen once.
type candidate struct {
	unit  Unit
	hash  Hash
	value Value
	bytes uint32
	// object is which object offered it.
	object uint32
}

// place returns where a unit's value is, if it is there. Other bits choose the
// slots than in a table.
func (r *Recent) place(unit Unit, h Hash) (shard *atomic.Pointer[recentShard], slot uint64) {
	x := (h.A ^ uint64(unit)) * 0x9e3779b97f4a7c15 >> 20
	return &r.shards[x%recentShards], x / recentShards % recentSlots
}

// get returns a value that was offered recently. It removes the value of another
// object, since the table is to have it.
func (r *Recent) get(unit Unit, h Hash, object uint32) (c candidate, ok bool) {
	p, i := r.place(unit, h)
	s := p.Load()
	if s == nil || !s.mu.TryLock() {
		return c, false
	}
	defer s.mu.Unlock()
	at := &s.slots[i]
	if at.hash != h || at.unit != unit || at.value.Ptr == nil {
		return c, false
	}
	c = *at
	if c.object != object {
		s.bytes -= int(at.bytes)
		*at = candidate{}
	}
	return c, true
}

// put replaces the value in c's slot by c.
func (r *Recent) put(c candidate) {
	if c.bytes > recentBytes {
		return
	}
	p, i := r.place(c.unit, c.hash)
	s := p.Load()
	if s == nil {
		s = &recentShard{}
		if !p.CompareAndSwap(nil, s) {
			return
		}
	}
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	s.bytes += int(c.bytes) - int(s.slots[i].bytes)
	s.slots[i] = c
	if s.bytes > recentBytes {
		clear(s.slots[:])
		s.slots[i], s.bytes = c, int(c.bytes)
	}
}
