package share

import (
	"runtime"
	"time"
	"unsafe"
	"weak"
)

// A value that is no longer looked up is not worth keeping alive, and may be one that
// should be gone, such as the data of a deleted Secret. So an entry that was not found
// for a while fades: it then has only a weak pointer to its value. It is found as long
// as an object has the value, and removed afterwards.

const (
	// fadeEvery is the least time between two passes over the entries. Passes follow
	// garbage collections, of which a Go program has one every two minutes even if it
	// does nothing. An entry fades in the second pass after it was last found.
	fadeEvery = time.Minute
	// forgetEvery is the longest that strings are remembered. A weak pointer takes as
	// much memory as most of them, so they are forgotten all at once, and known again
	// from their second sighting on.
	forgetEvery = time.Hour
	// fadeBatch is how many slots a pass looks at before it releases the table's
	// mutex.
	fadeBatch = 1 << 10

	// faded is a bit of entry.bytes, above those of any size.
	faded = 1 << 31
	// handleBytes is the size of a weak pointer: the pointer, what it points to, and
	// the runtime's record of it.
	handleBytes = 64
)

// get returns the entry's value, unless that has faded and is gone.
func (e *entry) get() (Value, bool) {
	if e.bytes&faded == 0 {
		return e.value, true
	}
	p := (*weak.Pointer[byte])(e.value.Ptr).Value()
	if p == nil {
		return Value{}, false
	}
	return Value{Ptr: unsafe.Pointer(p), Len: e.value.Len}, true
}

// size returns how many bytes the entry keeps alive, itself included.
func (e *entry) size() int {
	if e.bytes&faded != 0 {
		return entryBytes + handleBytes
	}
	return entryBytes + int(e.bytes)
}

// fade returns an entry with a weak pointer to the same value.
func (e *entry) fade() *entry {
	w := weak.Make((*byte)(e.value.Ptr))
	return &entry{unit: e.unit, hash: e.hash, bytes: faded, value: Value{Ptr: unsafe.Pointer(&w), Len: e.value.Len}}
}

// agesLocked starts the passes of age, if they have not started.
func (t *Table) agesLocked() {
	if t.faded.IsZero() {
		t.faded = time.Now()
		t.forgot = t.faded
		afterCollection(t)
	}
}

// sentinel has a pointer, so that Go does not allocate it together with other objects.
type sentinel struct{ _ *byte }

// afterCollection calls age after the next collection, again and again, as long as
// the table is in use.
func afterCollection(t *Table) {
	runtime.AddCleanup(new(sentinel), func(w weak.Pointer[Table]) {
		if t := w.Value(); t != nil {
			t.age(time.Now())
			afterCollection(t)
		}
	}, weak.Make(t))
}

// age makes a pass if one is due, and forgets the strings if that is due.
func (t *Table) age(now time.Time) {
	t.mu.Lock()
	due := now.Sub(t.faded) >= fadeEvery
	if due {
		t.faded = now
	}
	if now.Sub(t.forgot) >= forgetEvery {
		t.forgot = now
		t.strings.forgetLocked()
	}
	t.mu.Unlock()
	if due {
		t.Fade()
	}
}

// Fade makes a pass over the entries: those that were not found since the last one
// fade, and those whose value is gone are removed. If the slots are replaced meanwhile,
// the rest is left to the next pass.
func (t *Table) Fade() {
	s := t.slots.Load()
	if s == nil {
		return
	}
	for i := 0; i < len(s.entries) && s == t.slots.Load(); {
		i = t.fadeSome(s, i)
	}
}

// fadeSome makes one batch of a pass, from slot i on, and returns where the next begins.
func (t *Table) fadeSome(s *slots, i int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s != t.slots.Load() {
		return i
	}
	for end := min(i+fadeBatch, len(s.entries)); i < end; {
		e := s.entries[i].Load()
		if e == nil {
			i++
			continue
		}
		if _, ok := e.get(); !ok {
			// Another entry may be moved to this slot.
			t.dropLocked(s, i)
			continue
		}
		if !e.used.Swap(false) && e.bytes&faded == 0 && e.value.Ptr != nil {
			weakly := e.fade()
			t.bytes += weakly.size() - e.size()
			s.entries[i].Store(weakly)
		}
		i++
	}
	t.makeRoomLocked(0)
	return i
}
