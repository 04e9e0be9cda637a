package share

// Decision determines how one unit gets its value: from the previous version, from
// another object, or from the reader, which then builds it. Its zero value is for a
// unit of which nothing is known.
//
// A reader only cuts and builds. It calls, in this order:
//
//   - Recall, which compares the unit with its record.
//   - Asks, and if that returns true Lookup with the unit's bytes.
//   - Build, before it builds the value.
//   - Ends and Offer, with the value that it has built.
//   - NoteFound or NoteBuilt, if the unit is to be remembered.
type Decision struct {
	unit Unit
	hash Hash
	// size is how many bytes were looked up.
	size int
	// asked: Lookup was called, so hash and size are the unit's.
	asked bool
	// noted: there is a record to be filled, at mark.
	noted bool
	mark  Mark
	// allocated and private are the session's before the value was built.
	allocated, private int
}

const (
	// MinEncoded is the smallest encoding, in bytes, that is looked up and has a
	// record. 16 was measured to gain nothing, 256 to cost 40 % of memory.
	MinEncoded = 32
	// MinDecoded is how much memory a smaller encoding must take to be looked up.
	MinDecoded = 64
)

// Large reports that a unit of encoded bytes, which takes decoded bytes of memory,
// is worth a lookup.
func Large(encoded, decoded int) bool { return encoded >= MinEncoded || decoded >= MinDecoded }

// Matches reports that rest begins with the bytes of a closed record's unit. name is
// the hash that the record's hash was combined with.
func (s *Session) Matches(r *Record, name Hash, rest []byte) bool {
	size := int(r.size)
	return size <= len(rest) && s.Table.Sum(rest[:size]).Xor(name) == r.Hash()
}

// Recall looks for the record of a unit whose bytes rest begins with. If they are
// those of the previous version, it notes the unit again and returns their number,
// which is not 0. Otherwise inside are the records of what is inside the unit,
// and open reports that it changed when it was last seen: then it is most likely
// new, and not worth a lookup.
//
// name is combined with the hashes of units to distinguish those that have the same
// field number. It is zero if field numbers are unique.
func (s *Session) Recall(records *Cursor, field int, name Hash, rest []byte) (size int, open bool, inside Cursor) {
	r, inside := records.Find(field)
	switch {
	case r == nil:
	case r.Open():
		if r.Mask() == name.A {
			return 0, true, inside
		}
		return 0, false, Cursor{}
	case s.Matches(r, name, rest):
		s.Keep(r, inside)
		return r.Size(), false, Cursor{}
	}
	return 0, false, inside
}

// Lookup returns the value that was decoded from raw, all of the unit, before. The
// session must have a table, and Asks must have returned true.
func (s *Session) Lookup(u *Decision, unit Unit, p Place, w *Worth, raw []byte) (Value, bool) {
	u.unit, u.hash, u.size, u.asked = unit, s.Table.Sum(raw), len(raw), true
	v, ok := s.get(unit, u.hash)
	s.found(p, w, ok)
	return v, ok
}

// Build begins to build the unit's value. note reserves the unit's record; it
// must be followed by NoteBuilt or DropBuilt.
func (s *Session) Build(u *Decision, note bool) {
	if note {
		u.noted, u.mark = true, s.Reserve()
	}
	u.allocated, u.private = s.Allocated, s.Private
}

// Own reports that the value that was built has state to which a reader may write:
// only this object may have it.
func (s *Session) Own(u *Decision) bool { return s.Private != u.private }

// Ends reports that a value built from size bytes used all the bytes that were
// looked up, if any were. The bytes cut out for the lookup may have more than the
// value, as in 5x.
func (u *Decision) Ends(size int) bool {
	return !u.asked || u.size == size
}

// Offer offers the value that was built, with the bytes allocated meanwhile as its
// size. It does nothing if the unit was not looked up, or is this object's Own.
func (s *Session) Offer(u *Decision, v Value) { s.OfferSized(u, v, s.Allocated-u.allocated) }

// OfferSized is Offer for a value of which the reader knows how many bytes it keeps
// alive.
func (s *Session) OfferSized(u *Decision, v Value, bytes int) {
	if u.asked && !s.Own(u) {
		s.offer(u.unit, u.hash, v, bytes)
	}
}

// NoteFound notes a unit whose value Lookup returned.
func (s *Session) NoteFound(u *Decision, field int, name Hash) {
	s.Note(s.Reserve(), field, u.size, u.hash.Xor(name))
}

// NoteBuilt fills the record that Build reserved, if it did, of a unit with the bytes
// raw. compared reports that the value was compared with the previous version's, and that
// the units inside were noted: the record is then open unless the two are the same. A
// value that was not compared and is the object's Own gets no record, since it must
// be built again.
func (s *Session) NoteBuilt(u *Decision, field int, name Hash, raw []byte, compared, same bool) {
	switch {
	case !u.noted:
	case compared && !same:
		s.NoteOpen(u.mark, field, name.A)
	case !compared && s.Own(u):
		s.Drop(u.mark)
	case u.asked:
		s.Note(u.mark, field, u.size, u.hash.Xor(name))
	default:
		s.Note(u.mark, field, len(raw), s.Table.Sum(raw).Xor(name))
	}
}

// DropBuilt removes the record that Build reserved, and all inside.
func (s *Session) DropBuilt(u *Decision) {
	if u.noted {
		s.Drop(u.mark)
	}
}
