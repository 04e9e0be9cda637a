package share

import "testing"

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
