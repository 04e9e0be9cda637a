package share

import "unsafe"

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
