package share

import (
	"runtime"
	"time"
	"unsafe"
	"weak"
)

// A value that objects no longer ask for is not worth keeping alive, and may be one
// that should be gone, such as the data of a deleted Secret. So an entry that was not
// found for a while fades: it knows its value weakly from then on, finds it as long as
// objects have it, and goes once they do not.

const (
	// fadeEvery is how much time is between two passes over the entries, at least:
	// they follow collections, of which a Go program has one every two minutes even
	// if it does nothing. An entry fades in the second pass after it was last found.
	fadeEvery = time.Minute
	// forgetEvery is how long strings are remembered at most. A weak pointer takes
	// as much memory as most of them, so they are forgotten all at once, and known
	// again from their second sighting on.
	forgetEvery = time.Hour
	// fadeBatch is how many slots a pass looks at before it lets others change the
	// table.
	fadeBatch = 1 << 10

	// faded is a bit of entry.bytes, above those of any size.
	faded = 1 << 31
	// handleBytes is what a weak pointer takes: the pointer, what it points to, and
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

// size is what the entry keeps alive, itself included.
func (e *entry) size() int {
	if e.bytes&faded != 0 {
		return entryBytes + handleBytes
	}
	return entryBytes + int(e.bytes)
}

// fade returns an entry that knows the same value weakly.
func (e *entry) fade() *entry {
	w := weak.Make((*byte)(e.value.Ptr))
	return &entry{unit: e.unit, hash: e.hash, bytes: faded, value: Value{Ptr: unsafe.Pointer(&w), Len: e.value.Len}}
}

// agesLocked has what the table keeps age from now on.
func (t *Table) agesLocked() {
	if t.faded.IsZero() {
		t.faded = time.Now()
		t.forgot = t.faded
		afterCollection(t)
	}
}

// sentinel has a pointer, so that it shares its memory with nothing that lives on.
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

// age makes a pass if one is due, and forgets the strings if it is time.
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
		t.fade()
	}
}

// fade makes a pass over the entries: those that were not found since the last one
// fade, and those whose value is gone are removed. If the slots are replaced meanwhile,
// the rest is left to the next pass.
func (t *Table) fade() {
	s := t.slots.Load()
	if s == nil {
		return
	}
	for i := 0; i < len(s.entries) && s == t.slots.Load(); {
		i = t.fadeSome(s, i)
	}
}

// fadeSome makes a batch of a pass, from slot i on, and returns where the next begins.
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
