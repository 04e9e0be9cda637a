package share

import (
	"hash/maphash"
	"unsafe"
)

// String returns b as a string, the same one for equal bytes from their second
// sighting on, as long as it is remembered. It never aliases b. Strings of more
// than 256 bytes are not looked for. A look-up costs a hash of b and a cache
// line, and one more if it is found.
func (t *Table) String(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if len(b) <= maxInterned {
		if p := t.Known(unsafe.String(unsafe.SliceData(b), len(b))); p != nil {
			return *p
		}
	}
	return string(b)
}

// Boxed is String for interfaces: what it points to, which is never written
// to, is the same for equal bytes too.
func (t *Table) Boxed(b []byte) *string {
	if len(b) > maxInterned {
		s := string(b)
		return &s
	}
	v := unsafe.String(unsafe.SliceData(b), len(b))
	if p := t.Known(v); p != nil {
		return p
	}
	return newBox(v)
}

// Known is String for what is a string already, without making another: the
// one equal to v that others have, in its box, or nil if none is known. It
// counts as a sighting of v, of which it keeps nothing but a copy.
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

// sight counts a sighting of what was not found, and takes it in if it is not
// the first.
func (t *Table) sight(x uint64, v string) *string {
	if !t.strings.door.seen(x) {
		return nil
	}
	return t.keep(x, v)
}

// keep takes a string in.
func (t *Table) keep(x uint64, v string) *string {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.strings.keepLocked(t.a, x, v, t.max/stringsShare)
	t.makeRoomLocked(0)
	return p
}
