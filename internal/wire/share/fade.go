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
	// does nothing, unless GOGC is off. An entry fades in the second pass after it was last found, or
	// rarely in the first: a removal may move it to where the pass comes again.
	fadeEvery = time.Minute
	// forgetEvery is the longest that strings are remembered. A weak pointer takes as
	// much memory as most of them, so they are forgotten all at once, and known again
	// from their second sighting on.
	forgetEvery = time.Hour
	// fadeBatch is how many slots a pass looks at before it releases the table's
	// mutex. Each may take some microseconds.
	fadeBatch = 1 << 7

	// handleBytes is the size of a weak pointer: the pointer, what it points to, and
	// the runtime's record of it. A smaller value is removed instead of fading.
	handleBytes = 64
)

// The bits of entry.state. The last two do not change.
const (
	// used: the entry was found since the clock's hand or a pass came by.
	used = 1 << iota
	// fresh: no pass has come by.
	fresh
	// faded: value.Ptr points to a weak.Pointer[byte] to the value.
	faded
	// foreign: the value is memory of the program's, which need not be Go's: of a
	// mapped file, or read-only data. The runtime ends a program that makes a weak
	// pointer to that, so the entry is removed instead of fading.
	foreign
)

// get returns the entry's value, unless that has faded and is gone.
func (e *entry) get() (Value, bool) {
	if !e.is(faded) {
		return e.value, true
	}
	p := (*weak.Pointer[byte])(e.value.Ptr).Value()
	if p == nil {
		return Value{}, false
	}
	return Value{Ptr: unsafe.Pointer(p), Len: e.value.Len}, true
}

func (e *entry) is(bits uint32) bool { return e.state.Load()&bits != 0 }

// size returns how many bytes the entry keeps alive, itself included.
func (e *entry) size() int {
	if e.is(faded) {
		return entryBytes + handleBytes
	}
	return entryBytes + int(e.bytes)
}

// fade returns an entry with a weak pointer to the same value.
func (e *entry) fade() *entry {
	w := weak.Make((*byte)(e.value.Ptr))
	return e.with(Value{Ptr: unsafe.Pointer(&w), Len: e.value.Len}, faded)
}

// with returns an entry for the same bytes.
func (e *entry) with(v Value, state uint32) *entry {
	n := &entry{unit: e.unit, hash: e.hash, bytes: e.bytes, value: v}
	n.state.Store(state)
	return n
}

// age returns what a pass replaces an entry of the value v by: itself if nothing
// changes, nil if it is to be removed.
func (e *entry) age(v Value) *entry {
	found := e.state.And(^uint32(used|fresh))&(used|fresh) != 0
	switch {
	case found && e.is(faded):
		return e.with(v, 0)
	case found || e.is(faded):
		return e
	case e.is(foreign) || e.bytes < handleBytes || v.Ptr == nil:
		return nil
	}
	return e.fade()
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
			// A long pass must not hold up other cleanups of the program.
			go func() {
				t.age(time.Now())
				afterCollection(t)
			}()
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
		// Another entry may be moved to the slot of one that is removed.
		v, ok := e.get()
		if !ok {
			t.dropLocked(s, i)
			continue
		}
		if next := e.age(v); next == nil {
			t.dropLocked(s, i)
			continue
		} else if next != e {
			t.bytes += next.size() - e.size()
			s.entries[i].Store(next)
		}
		i++
	}
	t.makeRoomLocked(0)
	return i
}
