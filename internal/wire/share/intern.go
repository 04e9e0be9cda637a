package share

import "hash/maphash"

// Known returns the known string that equals v, in its box, or nil if there is none.
// A string is known from its second sighting on, as long as it is remembered. The
// call counts as a sighting of v, and keeps at most a copy of v. Strings of more
// than 256 bytes are not looked up. It costs a hash of v and a cache line, and one
// more if v is found.
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

// sight counts a sighting of a string that was not found, and keeps it if that is
// not the first.
func (t *Table) sight(x uint64, v string) *string {
	if !t.strings.door.seen(x) {
		return nil
	}
	return t.keep(x, v)
}

// keep adds a copy of v, and returns it in its box, or nil.
func (t *Table) keep(x uint64, v string) *string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agesLocked()
	p := t.strings.keepLocked(t.a, x, v, t.max/stringsShare)
	t.makeRoomLocked(0)
	return p
}
