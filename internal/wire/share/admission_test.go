package share

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// seeded returns random numbers that a failure can be repeated with.
func seeded(t testing.TB) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestAllButFewUnitsAreAdmittedByTheirThirdSighting(t *testing.T) {
	// Of 200 in 256 marks each pair that shares a place would once keep each
	// other out for dozens of sightings. Many collections, since one is luck.
	const units, sightings, collections = 200, 12, 500
	r := seeded(t)
	early, late, never := 0, 0, 0
	for range collections {
		var d doorkeeper
		var xs [units]uint64
		var admitted [units]int
		for i := range xs {
			xs[i] = r.Uint64()
		}
		for round := 1; round <= sightings; round++ {
			for i, x := range xs {
				if d.seen(x) && admitted[i] == 0 {
					admitted[i] = round
				}
			}
		}
		for _, round := range admitted {
			switch {
			case round == 0:
				never++
			case round == 1:
				early++
			case round > 3:
				late++
			}
		}
	}
	limit := collections * units / 500
	if early > limit || late > limit || never > limit/20 {
		t.Fatalf("of %d units %d were admitted at their first sighting and %d after their third, at most %d are expected; %d never", collections*units, early, late, limit, never)
	}
}

func TestValuesThatShareASetDoNotKeepEachOtherOut(t *testing.T) {
	// Six in a set of four, and nothing else that would end the generation.
	var d doorkeeper
	admitted := 0
	for range 40 {
		for i := range uint64(6) {
			if d.seen(i<<(64-markBits+4) | 5) {
				admitted |= 1 << i
			}
		}
	}
	if admitted != 1<<6-1 {
		t.Errorf("admitted in forty sightings: %06b", admitted)
	}
}

func TestASecondSightingThatFollowsTheFirstIsAlwaysAdmitted(t *testing.T) {
	// In sets that are full, more than a thousand fold, too.
	r := seeded(t)
	var d doorkeeper
	for i := range 100_000 {
		x := r.Uint64() &^ 0xff0
		d.seen(x)
		if !d.seen(x) {
			t.Fatalf("sighting %d was lost", i)
		}
	}
}

func TestWhatWasSeenAmongTheLatestSightingsIsRemembered(t *testing.T) {
	r := seeded(t)
	var d doorkeeper
	for range 3 * maxSets {
		d.seen(r.Uint64())
	}
	// As many as a generation has are what the past one alone still knows.
	const n = maxSets
	xs := make([]uint64, n)
	for i := range xs {
		xs[i] = r.Uint64()
		d.seen(xs[i])
	}
	forgotten := 0
	for _, x := range xs {
		if !d.seen(x) {
			forgotten++
		}
	}
	if limit := n / 100; forgotten > limit {
		t.Fatalf("%d of the %d latest sightings were forgotten, at most %d are expected", forgotten, n, limit)
	}
}

func TestTheDoorkeeperStaysWithinItsBytesAndLetsInNothingUnseen(t *testing.T) {
	r := seeded(t)
	var d doorkeeper
	if d.bytes() != 0 {
		t.Fatal("it takes memory before it has seen anything")
	}
	admitted := 0
	for range 8 * maxSets {
		if d.seen(r.Uint64()) {
			admitted++
		}
	}
	if limit := 8 * maxSets / 2048; admitted > limit {
		t.Errorf("%d values were admitted at their first sighting, at most %d are expected", admitted, limit)
	}
	if got := d.bytes(); got != maxDoorBytes {
		t.Errorf("it takes %d bytes; %d is what is promised", got, maxDoorBytes)
	}
}

func TestAForgottenValueIsUnseenAgain(t *testing.T) {
	r := seeded(t)
	var d doorkeeper
	xs := make([]uint64, 1_000)
	for i := range xs {
		xs[i] = r.Uint64()
		d.seen(xs[i])
	}
	for range 4 * maxSets {
		d.seen(r.Uint64())
	}
	remembered := 0
	for _, x := range xs {
		if d.seen(x) {
			remembered++
		}
	}
	if remembered > 10 {
		t.Fatalf("%d of %d values are remembered that were seen long ago", remembered, len(xs))
	}
}

func TestGoroutinesThatRaceLoseFewSightings(t *testing.T) {
	r := seeded(t)
	var d doorkeeper
	for range 3 * maxSets {
		d.seen(r.Uint64())
	}
	// A sighting counts as often as there are goroutines that race for it. So
	// few of them end one generation at most, and the past one is asked too.
	const goroutines = 4
	xs := make([]uint64, maxSets/goroutines-1)
	for i := range xs {
		xs[i] = r.Uint64()
	}
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for _, x := range xs {
				d.seen(x)
			}
		})
	}
	wg.Wait()
	lost := 0
	for _, x := range xs {
		if !d.seen(x) {
			lost++
		}
	}
	if limit := len(xs) / 100; lost > limit {
		t.Fatalf("%d of %d values that four goroutines saw are unseen, at most %d are expected", lost, len(xs), limit)
	}
}

// asked is how many of so many lookups a filter asks for, none of which finds
// anything.
func asked(s *Session, p Place, n int) int {
	asked := 0
	for range n {
		if s.Asks(p, &UnitWorth) {
			asked++
			s.found(p, &UnitWorth, false)
		}
	}
	return asked
}

func TestValuesThatAreNeverKnownAreLookedUpOnceInAWhile(t *testing.T) {
	s := NewSession(NewTable(0))
	unique, shared := PlaceOf(1, 0), PlaceOf(1, 1)
	if unique == shared {
		t.Fatal("two places are one")
	}
	if n := asked(s, unique, unfiltered+int(UnitWorth.patience)); n != unfiltered+int(UnitWorth.patience) {
		t.Errorf("only %d lookups before it is known that they fail", n)
	}
	const more = 160_000
	if n := asked(s, unique, more); n < more/sampled-1 || n > more/sampled+1 {
		t.Errorf("%d lookups of %d", n, more)
	}
	if !s.Asks(shared, &UnitWorth) {
		t.Error("another place is not looked up either")
	}
	if other := NewSession(NewTable(0)); !other.Asks(unique, &UnitWorth) {
		t.Error("another table is not asked either")
	}
	s.found(unique, &UnitWorth, true)
	if n := asked(s, unique, 1000); n != 1000 {
		t.Errorf("%d of 1000 lookups after one was known", n)
	}
}

func TestATableOfFewValuesHasNoCounters(t *testing.T) {
	table := NewTable(0)
	asked(NewSession(table), 1, unfiltered-1)
	if table.filter.counts.Load() != nil {
		t.Error("it counts")
	}
}
