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

// String is the table's, which there must be, and finds what the session made
// lately, too.
func (s *Session) String(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) > maxInterned {
		return string(b)
	}
	v := unsafe.String(unsafe.SliceData(b), len(b))
	x := maphash.String(s.Table.a, v)
	if p := s.Table.strings.find(x, v); p != nil {
		return *p
	}
	if e := s.repeats.find(x, v); e != nil {
		return e.text
	}
	if p := s.Table.sight(x, v); p != nil {
		return *p
	}
	text := string(b)
	s.repeats.add(x, text, nil)
	return text
}

// Boxed is to the table's Boxed what String is to String.
func (s *Session) Boxed(b []byte) *string {
	v := unsafe.String(unsafe.SliceData(b), len(b))
	if len(b) == 0 || len(b) > maxInterned {
		return s.Table.Boxed(b)
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
	return p
}
