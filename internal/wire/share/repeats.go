package share

import (
	"hash/maphash"
	"unsafe"
)

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
