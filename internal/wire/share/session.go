package share

import "unsafe"

// Session is what one goroutine decodes with. It holds the memo that is being
// written. Its zero value shares and remembers nothing.
type Session struct {
	// Table is nil if nothing is to be shared: then nothing is noted either.
	Table *Table
	// Allocated is what the decoder has allocated so far, in bytes; the
	// decoder adds to it, so that a unit's cost can be told by the difference.
	Allocated int
	// Private is how many values have been decoded that have state in them which
	// somebody may write; the decoder counts them. What such a value is part of
	// is never offered.
	Private int
	// Recent, which may be nil, is what was offered lately, by this session
	// and by others that decode the same stream.
	Recent *Recent

	records []Record
	repeats repeats
	// object is which of those that Recent counts is being decoded.
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

// get returns the value that a unit's bytes became before, as the table has it
// or as it was offered lately. There must be a table.
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
		s.Table.admit(unit, h, c.value, int(c.bytes))
	}
	return c.value, ok
}

// countEvery is after how many lookups the next object has the table count them: two
// atomic additions, to a cache line that all sessions write, a few objects.
const countEvery = 64

// Count has the table count the session's lookups. A session that is not to be used
// for a while calls it.
func (s *Session) Count() {
	if s.Table == nil {
		return
	}
	s.Table.hits.Add(uint64(s.hits))
	s.Table.misses.Add(uint64(s.misses))
	s.hits, s.misses = 0, 0
}

// offer is the table's, which there must be; what that has never seen is
// remembered as recent.
func (s *Session) offer(unit Unit, h Hash, v Value, bytes int) {
	t := s.Table
	switch {
	case !t.fits(bytes):
	case t.sighted(unit, h):
		t.admit(unit, h, v, bytes)
	case s.Recent != nil && v.Ptr != nil:
		s.Recent.put(candidate{unit: unit, hash: h, value: v, bytes: uint32(bytes), object: s.object})
	}
}

// Mark is a place in the memo that is being written.
type Mark int

// Mark returns the place that was reached. A unit's mark is taken before what
// is inside it is noted.
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

// NoteFlat is Note for a unit of whose inside nothing is noted: what was noted
// since stands behind it. field must be at most MaxField.
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
		// It cannot be said; without a record it is decoded next time.
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

// Keep notes again what an old record says, with what is inside it: the unit
// has not changed.
func (s *Session) Keep(r *Record, inside Cursor) {
	c := *r
	s.records = append(s.records, c)
	s.records = append(s.records, inside.records...)
}

// Memo returns what was noted since Begin, in memory of its own, as the memo of
// the object that plan decoded.
func (s *Session) Memo(plan PlanID, object unsafe.Pointer) *Memo {
	return newMemo(plan, object, s.records)
}
