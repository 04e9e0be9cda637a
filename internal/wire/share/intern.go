package share

import "hash/maphash"

// Known returns the string equal to v that others have, in its box, or nil if none
// is known: it is, from the second sighting of v on, as long as it is remembered.
// This counts as a sighting of v, of which it keeps nothing but a copy. Strings of
// more than 256 bytes are not looked for. It costs a hash of v and a cache line,
// and one more if v is found.
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
	t.agesLocked()
	p := t.strings.keepLocked(t.a, x, v, t.max/stringsShare)
	t.makeRoomLocked(0)
	return p
}
