package share

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"
	"weak"
)

// told is a value that says which unit and hash it was offered for.
type told struct {
	unit Unit
	hash Hash
}

func (v *told) value() Value { return Value{Ptr: unsafe.Pointer(v), Len: int(v.unit)} }

func (v *told) offer(t *Table, bytes int) { t.Offer(v.unit, v.hash, v.value(), bytes) }

// sight offers v until it must be in.
func (v *told) sight(t *Table, bytes int) {
	v.offer(t, bytes)
	v.offer(t, bytes)
}

// get fails if what is found was offered for something else.
func get(t *testing.T, table *Table, unit Unit, h Hash) (*told, bool) {
	v, ok := table.Get(unit, h)
	if !ok {
		if v != (Value{}) {
			t.Error("a value was returned where none was found")
		}
		return nil, false
	}
	got := (*told)(v.Ptr)
	if want := (told{unit, h}); *got != want || v.Len != int(unit) {
		t.Errorf("asked for %v, got the value of %v", want, *got)
	}
	return got, true
}

// check fails unless the table's books agree with what stands in it.
func check(t *testing.T, table *Table) {
	t.Helper()
	entries, texts, bytes := 0, 0, 0
	if s := table.slots.Load(); s != nil {
		bytes += len(s.entries) * int(unsafe.Sizeof(s.entries[0]))
		for i := range s.entries {
			e := s.entries[i].Load()
			if e == nil {
				continue
			}
			entries++
			bytes += e.size() - entryBytes + int(unsafe.Sizeof(*e))
			if _, found := s.find(e.unit, e.hash); found != e {
				t.Fatalf("the entry in slot %d of %d cannot be found", i, len(s.entries))
			}
		}
		if 2*entries > len(s.entries) {
			t.Fatalf("%d entries in %d slots", entries, len(s.entries))
		}
	}
	if c := table.strings.cache.Load(); c != nil {
		bytes += len(c.buckets) * int(unsafe.Sizeof(c.buckets[0]))
		for i := range c.buckets {
			for j := range c.buckets[i].boxes {
				if p := c.buckets[i].boxes[j].Load(); p != nil {
					texts++
					bytes += boxBytes(*p)
					if table.Known(*p) != p {
						t.Fatalf("%q cannot be found, or not as the one that is kept", *p)
					}
				}
			}
		}
	}
	st := table.Stats()
	st.Hits, st.Misses = 0, 0 // they are counted, and not held
	if want := (Stats{Entries: entries, Strings: texts, Bytes: bytes, MaxBytes: table.max}); st != want {
		t.Fatalf("Stats: %+v; there is %+v", st, want)
	}
	if st.Bytes > st.MaxBytes {
		t.Fatalf("%d bytes of at most %d", st.Bytes, st.MaxBytes)
	}
}

func TestAValueIsSharedFromItsSecondSightingOn(t *testing.T) {
	table, v := NewTable(0), &told{1, Hash{2, 3}}
	for sighting, want := range []bool{false, true, true} {
		v.offer(table, 100)
		if _, ok := get(t, table, v.unit, v.hash); ok != want {
			t.Errorf("after %d sightings: found is %v", sighting+1, ok)
		}
	}
	check(t, table)
}

func TestUnitsAndHashesThatDifferInAnyPartAreApart(t *testing.T) {
	table := NewTable(0)
	all := []*told{
		{1, Hash{2, 3}}, {2, Hash{2, 3}}, {1, Hash{2, 4}}, {1, Hash{3, 3}},
		// The same place and the same mark of the doorkeeper: 1^2 is 2^1.
		{2, Hash{1, 3}}, {0, Hash{3, 3}}, {3, Hash{0, 3}}, {0, Hash{0, 0}},
	}
	for _, v := range all {
		v.sight(table, 10)
	}
	for _, v := range all {
		if got, ok := get(t, table, v.unit, v.hash); !ok || got != v {
			t.Errorf("%v was offered, found %v", *v, got)
		}
	}
	check(t, table)
}

func TestGetAnswersWithWhatATwinHasOrNotAtAll(t *testing.T) {
	r := seeded(t)
	for _, size := range []int{0, 300, 2_000, 20_000, 200_000} {
		table := NewTable(size)
		// twin holds what was last seen to be in the table; a value changes
		// only after it was evicted, which a value of the twin's shows by
		// being offered again.
		twin := map[told]map[*told]bool{}
		for op := range 30_000 {
			k := told{Unit(r.Uint64N(3)), Hash{r.Uint64N(400) << (8 * r.Uint64N(4)), r.Uint32N(2)}}
			if r.IntN(2) == 0 {
				v := k
				if twin[k] == nil {
					twin[k] = map[*told]bool{}
				}
				twin[k][&v] = true
				v.offer(table, r.IntN(500))
			}
			if got, ok := get(t, table, k.unit, k.hash); ok && !twin[k][got] {
				t.Fatalf("operation %d: found %p for %v, which nobody offered", op, got, k)
			}
			if op%500 == 0 {
				check(t, table)
			}
		}
		check(t, table)
		if st := table.Stats(); size >= 20_000 && st.Entries == 0 || st.Bytes > st.MaxBytes {
			t.Errorf("%d bytes: %+v", size, st)
		}
	}
}

func TestAValueThatIsInATableWithRoomStays(t *testing.T) {
	table := NewTable(0)
	first := &told{9, Hash{9, 9}}
	first.sight(table, 100)
	for i := range uint64(3_000) {
		v := &told{1, Hash{i * 0x9e3779b97f4a7c15, 0}}
		v.sight(table, 100)
		if got, ok := get(t, table, first.unit, first.hash); !ok || got != first {
			t.Fatalf("lost with the %d. value after it", i)
		}
		again := *first
		again.offer(table, 100)
	}
	check(t, table)
	if n := table.Stats().Entries; n != 3_001 {
		t.Errorf("%d entries of 3,001", n)
	}
}

func TestWhatIsLookedUpOutlivesWhatIsNot(t *testing.T) {
	table := NewTable(100_000)
	wanted := &told{9, Hash{9, 9}}
	wanted.sight(table, 1_000)
	for i := range uint64(2_000) {
		if got, ok := get(t, table, wanted.unit, wanted.hash); !ok || got != wanted {
			t.Fatalf("what is looked up all the time was evicted by the %d. value", i)
		}
		v := &told{1, Hash{i * 0x9e3779b97f4a7c15, 0}}
		v.sight(table, 1_000)
	}
	check(t, table)
	if n := table.Stats().Entries; n < 60 || n > 100 {
		t.Errorf("%d entries of 1,048 bytes in 100,000", n)
	}
}

func TestWhatIsTooLargeForATableIsNotTakenIn(t *testing.T) {
	for _, c := range []struct {
		max, bytes int
		in         bool
	}{
		{0, DefaultBytes/maxValue - entryBytes, true},
		{0, DefaultBytes/maxValue - entryBytes + 1, false},
		{0, math.MaxInt, false},
		{0, -1, false},
		{0, math.MinInt, false},
		{math.MaxInt, math.MaxInt32, true},
		{math.MaxInt, math.MaxInt32 + 1, false},
		{math.MaxInt, 1 << 32, false},
		{8_000, 900, true},
		{8_000, 1_000, false},
		{400, 2, false}, // there is no room for slots
		{entryBytes, 1, false},
		{1, 0, false},
		{-1, 0, false},
		{math.MinInt, 0, false},
	} {
		table, v := NewTable(c.max), &told{1, Hash{2, 3}}
		v.sight(table, c.bytes)
		if _, ok := get(t, table, v.unit, v.hash); ok != c.in {
			t.Errorf("%d bytes in a table of %d: taken in is %v", c.bytes, c.max, ok)
		}
		check(t, table)
		table.String([]byte("a string"))
		table.String([]byte("a string"))
		check(t, table)
	}
}

func TestBytesAreExactWhereSizesAddUpBeyond32Bits(t *testing.T) {
	table := NewTable(20 << 30)
	for i := range uint64(64) {
		v := &told{1, Hash{i * 0x9e3779b97f4a7c15, 0}}
		v.sight(table, math.MaxInt32)
		check(t, table)
	}
	if n := table.Stats().Entries; n != 9 {
		t.Errorf("%d values of 2 GiB in 20 GiB", n)
	}
}

//go:noinline
func offerWeakly(table *Table, h Hash) weak.Pointer[told] {
	v := &told{1, h}
	v.sight(table, 1_000)
	return weak.Make(v)
}

func TestAValueThatWasEvictedIsCollectedAndOneThatIsKeptIsNot(t *testing.T) {
	table := NewTable(20_000)
	var all [100]weak.Pointer[told]
	for i := range all {
		all[i] = offerWeakly(table, Hash{uint64(i) << 40, uint32(i)})
	}
	runtime.GC()
	kept := 0
	for i := range all {
		_, in := get(t, table, 1, Hash{uint64(i) << 40, uint32(i)})
		if alive := all[i].Value() != nil; alive != in {
			t.Errorf("value %d: in the table is %v, alive is %v", i, in, alive)
		}
		if in {
			kept++
		}
	}
	if kept != table.Stats().Entries || kept == 0 || kept == len(all) {
		t.Errorf("%d values were kept, Stats: %+v", kept, table.Stats())
	}
	runtime.KeepAlive(table)
}

func TestATableTakesNextToNothingUntilThereIsMuchToShare(t *testing.T) {
	table := NewTable(0)
	doors := func() int { return table.door.bytes() + table.strings.door.bytes() }
	taken := func() int { return int(unsafe.Sizeof(*table)) + doors() + table.Stats().Bytes }
	if n := taken(); n > 1<<10 {
		t.Errorf("%d bytes before it is used", n)
	}
	for i := range uint64(100) {
		// A unit and two names of its own, two units and four names of a few.
		(&told{1, Hash{rand.Uint64(), 0}}).offer(table, 64)
		for j := range uint64(2) {
			(&told{2, Hash{(i%5*2 + j) * 0x9e3779b97f4a7c15, 0}}).offer(table, 64)
		}
		for j := range byte(4) {
			table.String([]byte{'n', 'a', 'm', 'e', byte(i % 3), j})
		}
		table.String([]byte{'u', 'i', 'd', byte(i)})
		table.String([]byte{'i', 'p', byte(i)})
	}
	if n := taken(); n > 16<<10 {
		t.Errorf("%d bytes for 100 small objects, %d of them doorkeepers, %+v", n, doors(), table.Stats())
	}
	if n := table.Stats().Entries; n < 10 {
		t.Errorf("%d of 10 units are shared", n)
	}
}

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
