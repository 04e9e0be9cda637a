package share

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"
)

// sightOne offers a value until it is in, and keeps nothing of it.
//
//go:noinline
func sightOne(table *Table, h Hash) {
	v := &told{1, h}
	v.sight(table, 1_000)
}

func hashN(i int) Hash { return Hash{uint64(i) * 0x9e3779b97f4a7c15, uint32(i)} }

func TestAValueThatNobodyAsksForLivesAsLongAsObjectsHaveIt(t *testing.T) {
	table := NewTable(0)
	var objects [50]*told
	for i := range 100 {
		if i%2 == 0 {
			objects[i/2] = &told{1, hashN(i)}
			objects[i/2].sight(table, 1_000)
		} else {
			sightOne(table, hashN(i))
		}
	}
	full := table.Stats().Bytes
	table.Fade() // each has one pass to be found
	table.Fade()
	check(t, table)
	if n := table.Stats(); n.Entries != 100 || n.Bytes >= full-100*900 {
		t.Errorf("after two passes: %+v; before: %d bytes", n, full)
	}
	runtime.GC()
	for i := range 100 {
		if _, ok := get(t, table, 1, hashN(i)); ok != (i%2 == 0) {
			t.Errorf("value %d: found is %v", i, ok)
		}
	}
	table.Fade()
	check(t, table)
	if n := table.Stats().Entries; n != 50 {
		t.Errorf("%d entries, and 50 values are alive", n)
	}
	// What is found may be had by nobody else a moment later.
	found, _ := get(t, table, 1, hashN(0))
	clear(objects[:])
	runtime.GC()
	if *found != (told{1, hashN(0)}) {
		t.Errorf("what was found became %v", *found)
	}
	runtime.KeepAlive(&objects)
}

func TestAValueThatIsAskedForBetweenPassesStays(t *testing.T) {
	table := NewTable(0)
	sightOne(table, hashN(1))
	for range 5 {
		if _, ok := get(t, table, 1, hashN(1)); !ok {
			t.Fatal("it is gone")
		}
		table.Fade()
		runtime.GC()
	}
	check(t, table)
}

func TestAValueThatWentCanComeAgain(t *testing.T) {
	table := NewTable(0)
	sightOne(table, hashN(1))
	table.Fade()
	table.Fade()
	runtime.GC()
	again := &told{1, hashN(1)}
	again.sight(table, 1_000)
	if got, ok := get(t, table, 1, hashN(1)); !ok || got != again {
		t.Errorf("found %p, want %p", got, again)
	}
	check(t, table)
	if n := table.Stats().Entries; n != 1 {
		t.Errorf("%d entries of one value", n)
	}
}

// fadedIn reports whether the table has an entry, and whether that has faded.
func fadedIn(table *Table, h Hash) (there, isFaded bool) {
	_, e := table.slots.Load().find(1, h)
	return e != nil, e != nil && e.is(faded)
}

func TestAFadedValueThatIsAskedForAgainIsKept(t *testing.T) {
	table := NewTable(0)
	object := &told{1, hashN(1)}
	object.sight(table, 1_000)
	before := table.Stats().Bytes
	table.Fade()
	table.Fade()
	if _, gone := fadedIn(table, hashN(1)); !gone {
		t.Fatal("it has not faded")
	}
	get(t, table, 1, hashN(1))
	table.Fade()
	check(t, table)
	if st := table.Stats(); st.Bytes != before {
		t.Errorf("%d bytes, want %d as before it faded", st.Bytes, before)
	}
	object = nil
	runtime.GC()
	if _, ok := get(t, table, 1, hashN(1)); !ok {
		t.Error("it is gone, although it was found since")
	}
	runtime.KeepAlive(object)
}

func TestAPassIsNotCountedThatComesRightAfterAValue(t *testing.T) {
	table := NewTable(0)
	sightOne(table, hashN(1))
	table.Fade()
	if there, gone := fadedIn(table, hashN(1)); !there || gone {
		t.Errorf("after one pass: there %v, faded %v", there, gone)
	}
}

// readOnly is in no memory that the runtime makes weak pointers to.
const readOnly = "the text of a constant is read-only data, and a pointer to it is not one to Go's heap"

func TestWhatIsNotOfGosHeapIsRemovedInsteadOfFading(t *testing.T) {
	session := NewSession(NewTable(0))
	session.Foreign = true
	v := Value{Ptr: unsafe.Pointer(unsafe.StringData(readOnly)), Len: len(readOnly)}
	small := &told{1, hashN(2)}
	for range 2 {
		session.offer(1, hashN(1), v, len(readOnly))
		small.offer(session.Table, handleBytes-1)
	}
	if got, ok := session.Table.Get(1, hashN(1)); !ok || got != v {
		t.Fatalf("found %v, %v", got, ok)
	}
	session.Table.Fade()
	if n := session.Table.Stats().Entries; n != 2 {
		t.Errorf("%d entries after one pass", n)
	}
	session.Table.Fade()
	check(t, session.Table)
	if n := session.Table.Stats().Entries; n != 0 {
		t.Errorf("%d entries of what cannot fade, or takes less than a weak pointer", n)
	}
}

func TestATableAgesWithTheGarbageCollector(t *testing.T) {
	table := NewTable(0)
	sightOne(table, hashN(1))
	table.String([]byte("a string"))
	table.String([]byte("a string"))
	early := func() {
		table.mu.Lock()
		defer table.mu.Unlock()
		table.faded, table.forgot = time.Time{}.Add(1), time.Time{}.Add(1)
	}
	for deadline := time.Now().Add(10 * time.Second); table.Stats().Entries > 0 || table.Stats().Strings > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%+v", table.Stats())
		}
		early()
		runtime.GC()
		// The table's cleanup runs on a goroutine of the runtime.
		runtime.Gosched()
	}
	check(t, table)
}

func TestPassesAreAsFarApartAsTheyShallBe(t *testing.T) {
	table := NewTable(0)
	kept := &told{1, hashN(1)}
	kept.sight(table, 1_000)
	get(t, table, 1, hashN(1))
	defer runtime.KeepAlive(kept)
	table.String([]byte("a string"))
	table.String([]byte("a string"))
	start := table.faded
	for _, step := range []struct {
		at            time.Duration
		faded, forgot bool
	}{
		{fadeEvery - 1, false, false},
		{fadeEvery, false, false}, // it was found before
		{2*fadeEvery - 1, false, false},
		{2 * fadeEvery, true, false},
		{forgetEvery - 1, true, false},
		{forgetEvery, true, true},
	} {
		table.age(start.Add(step.at))
		_, e := table.slots.Load().find(1, hashN(1))
		if e == nil {
			t.Fatalf("after %v: it is gone", step.at)
		}
		if got := e.is(faded); got != step.faded {
			t.Errorf("after %v: faded is %v", step.at, got)
		}
		if got := table.Stats().Strings == 0; got != step.forgot {
			t.Errorf("after %v: forgotten is %v", step.at, got)
		}
	}
	check(t, table)
}

func TestAnythingMayHappenWhileEntriesFade(t *testing.T) {
	r := seeded(t)
	for _, size := range []int{2_000, 20_000, 0} {
		table := NewTable(size)
		objects := map[told]*told{}
		for op := range 20_000 {
			k := told{Unit(r.Uint64N(3)), hashN(r.IntN(400))}
			switch n := r.IntN(100); {
			case n < 40:
				v := k
				v.offer(table, r.IntN(500))
			case n < 80:
				if v, ok := get(t, table, k.unit, k.hash); ok {
					objects[k] = v
				}
			case n < 95:
				delete(objects, k)
			case n < 97:
				table.Fade()
			case op%50 == 0:
				runtime.GC()
			}
			if op%500 == 0 {
				check(t, table)
			}
		}
		check(t, table)
	}
}

func TestReadersNeverGetAnotherValueWhileEntriesFade(t *testing.T) {
	r := seeded(t)
	table := NewTable(100_000)
	done := make(chan struct{})
	ended := make(chan int)
	for range 2 {
		r := rand.New(rand.NewPCG(r.Uint64(), 0))
		go func() {
			found := 0
			for {
				select {
				case <-done:
					ended <- found
					return
				default:
				}
				k := told{1, hashN(r.IntN(300))}
				if _, ok := get(t, table, k.unit, k.hash); ok {
					found++
				} else {
					k.sight(table, 100)
				}
			}
		}()
	}
	for range 200 {
		table.Fade()
		runtime.GC()
	}
	close(done)
	if a, b := <-ended, <-ended; a == 0 || b == 0 {
		t.Error(fmt.Sprint("found ", a, " and ", b, " times, so nothing was tested"))
	}
	check(t, table)
}
