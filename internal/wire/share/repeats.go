package share

import (
	"hash/maphash"
	"unsafe"
)

// repeats are the last strings that a session made. An object says its own
// things twice: an address alone and in a list, the second at which all began.
// Such a string is one, and the table does not learn of it.
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

// String returns b as a string, the same one for equal bytes from their second
// sighting on, or if the session made it lately. There must be a table. It never
// aliases b.
func (s *Session) String(b []byte) string {
	text, _ := s.text(b)
	return text
}

// Text is String for the strings of a place. They are not looked for where hardly
// any is known.
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

// Boxed is String for interfaces: what it points to, which is never written to, is
// the same for equal bytes too.
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
