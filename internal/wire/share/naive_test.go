package share

import "unsafe"

// What a Session does with a table, without the session: what was made lately is
// not remembered.

// Offer takes a value in at its second sighting.
func (t *Table) Offer(unit Unit, h Hash, v Value, bytes int) {
	if t.fits(bytes) && t.sighted(unit, h) {
		t.admit(unit, h, v, bytes, 0)
	}
}

// String returns b as a string, the same one for equal bytes from their second
// sighting on.
func (t *Table) String(b []byte) string { return *t.Boxed(b) }

// Boxed returns b as a string in a box.
func (t *Table) Boxed(b []byte) *string {
	v := unsafe.String(unsafe.SliceData(b), len(b))
	if p := t.Known(v); p != nil {
		return p
	}
	text := string(b)
	return &text
}
