package share

import (
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"
)

// together returns sessions of one table that have their recent values in
// common.
func together(n int) []*Session {
	table, recent := NewTable(0), &Recent{}
	all := make([]*Session, n)
	for i := range all {
		all[i] = NewSession(table)
		all[i].Recent = recent
	}
	return all
}

// seek is get for a session.
func seek(t *testing.T, s *Session, unit Unit, h Hash) (*told, bool) {
	t.Helper()
	v, ok := s.get(unit, h)
	if !ok {
		return nil, false
	}
	got := (*told)(v.Ptr)
	if want := (told{unit, h}); *got != want || v.Len != int(unit) {
		t.Errorf("asked for %v, got the value of %v", want, *got)
	}
	return got, true
}

func (v *told) offerBy(s *Session, bytes int) { s.offer(v.unit, v.hash, v.value(), bytes) }

func TestTheSecondObjectHasWhatTheFirstHadAndTheTableLearnsOfIt(t *testing.T) {
	s := together(2)
	for i := range uint64(50) {
		v := &told{1, Hash{i * 0x9e3779b97f4a7c15, 7}}
		s[i%2].Begin()
		v.offerBy(s[i%2], 100)
		if n := s[0].Table.Stats().Entries; n != int(i) {
			t.Fatalf("after one sighting the table has %d values, not %d", n, i)
		}
		other := s[(i+1)%2]
		other.Begin()
		if got, ok := seek(t, other, v.unit, v.hash); !ok || got != v {
			t.Fatal("what the object before had was not found")
		}
		if got, ok := get(t, other.Table, v.unit, v.hash); !ok || got != v {
			t.Fatal("what two objects have is not in the table")
		}
	}
	check(t, s[0].Table)
}

func TestWhatOnlyOneObjectHasTwiceIsSharedAndTheTableDoesNotLearnOfIt(t *testing.T) {
	s := together(1)[0]
	s.Begin()
	v := &told{1, Hash{2, 3}}
	v.offerBy(s, 100)
	for range 3 {
		if got, ok := seek(t, s, v.unit, v.hash); !ok || got != v {
			t.Fatal("what the same object has was not found")
		}
	}
	if n := s.Table.Stats().Entries; n != 0 {
		t.Errorf("the table has %d values", n)
	}
}

func TestWithoutRecentNothingIsFoundBeforeItsSecondSighting(t *testing.T) {
	s := NewSession(NewTable(0))
	v := &told{1, Hash{2, 3}}
	for sighting, want := range []bool{false, true} {
		s.Begin()
		v.offerBy(s, 100)
		if _, ok := seek(t, s, v.unit, v.hash); ok != want {
			t.Errorf("after %d sightings: found is %v", sighting+1, ok)
		}
	}
}

func TestUnitsAndHashesThatDifferInAnyPartAreApartWhenRecent(t *testing.T) {
	s := together(1)[0]
	s.Begin()
	(&told{1, Hash{2, 3}}).offerBy(s, 10)
	for _, v := range []told{{2, Hash{2, 3}}, {1, Hash{2, 4}}, {1, Hash{3, 3}}, {2, Hash{1, 3}}, {0, Hash{0, 0}}} {
		if _, ok := seek(t, s, v.unit, v.hash); ok {
			t.Errorf("%v was found, which nobody offered", v)
		}
	}
}

func TestWhatIsTooLargeForTheTableIsNotRecentEither(t *testing.T) {
	s := NewSession(NewTable(10_000))
	s.Recent = &Recent{}
	for _, bytes := range []int{-1, 10_000/maxValue + 1, recentBytes + 1, 1 << 40} {
		v := &told{1, Hash{uint64(bytes), 0}}
		s.Begin()
		v.offerBy(s, bytes)
		if _, ok := seek(t, s, v.unit, v.hash); ok {
			t.Errorf("a value of %d bytes was kept", bytes)
		}
	}
	if n := alive(s.Recent); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
}

// alive sums up what a Recent keeps, and fails if its books say otherwise.
func alive(r *Recent) int {
	sum := 0
	for i := range r.shards {
		s := r.shards[i].Load()
		if s == nil {
			continue
		}
		bytes := 0
		for _, c := range s.slots {
			bytes += int(c.bytes)
		}
		if bytes != s.bytes {
			return -1
		}
		sum += bytes
	}
	return sum
}

func TestRecentStaysWithinItsBytesWhateverIsOffered(t *testing.T) {
	if size := unsafe.Sizeof(recentShard{}); size > 3<<10+64 {
		t.Errorf("a shard takes %d bytes", size)
	}
	r := seeded(t)
	s := together(1)[0]
	most := 0
	for range 50_000 {
		s.Begin()
		v := &told{Unit(r.Uint64N(4)), Hash{r.Uint64N(30_000) * 0x9e3779b97f4a7c15, 0}}
		if _, ok := seek(t, s, v.unit, v.hash); !ok {
			v.offerBy(s, r.IntN(1<<r.IntN(18)))
		}
		n := alive(s.Recent)
		if n < 0 || n > recentShards*recentBytes {
			t.Fatalf("%d bytes", n)
		}
		most = max(most, n)
	}
	if most < recentBytes {
		t.Errorf("never more than %d bytes, so nothing was tested", most)
	}
	check(t, s.Table)
}

func TestSessionsThatDecodeTogetherNeverGetAnotherValue(t *testing.T) {
	r := seeded(t)
	all := together(4)
	found := make([]int, len(all))
	var wg sync.WaitGroup
	for i, s := range all {
		r := rand.New(rand.NewPCG(r.Uint64(), 0))
		wg.Go(func() {
			for range 20_000 {
				s.Begin()
				v := &told{Unit(r.Uint64N(3)), Hash{r.Uint64N(5_000) * 0x9e3779b97f4a7c15, r.Uint32N(2)}}
				if _, ok := seek(t, s, v.unit, v.hash); ok {
					found[i]++
				} else {
					v.offerBy(s, r.IntN(2_000))
				}
			}
		})
	}
	wg.Wait()
	for i, n := range found {
		if n == 0 {
			t.Errorf("session %d found nothing", i)
		}
	}
	if alive(all[0].Recent) < 0 {
		t.Error("the bytes are not the sum of what is kept")
	}
	check(t, all[0].Table)
}
