package share

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// unitTree is a memo's naive twin.
type unitTree struct {
	field, size int
	hash        Hash
	open        bool
	mask        uint64
	kids        []*unitTree
}

func randomUnits(r *rand.Rand, depth int) []*unitTree {
	if depth == 0 {
		return nil
	}
	var units []*unitTree
	for _, field := range r.Perm(12)[:r.IntN(8)] {
		u := &unitTree{field: field * field * 500, kids: randomUnits(r, depth-1)}
		if u.open = r.IntN(3) == 0; u.open {
			u.mask = r.Uint64()
		} else {
			u.size, u.hash = int(r.Uint32()), Hash{r.Uint64(), r.Uint32()}
		}
		units = append(units, u)
	}
	return units
}

func note(s *Session, units []*unitTree) {
	for _, u := range units {
		m := s.Reserve()
		note(s, u.kids)
		u.close(s, m)
	}
}

func (u *unitTree) close(s *Session, m Mark) {
	if u.open {
		s.NoteOpen(m, u.field, u.mask)
	} else {
		s.Note(m, u.field, u.size, u.hash)
	}
}

func (u *unitTree) compare(t *testing.T, r *Record) {
	t.Helper()
	if r.Open() != u.open || r.Field() != u.field ||
		u.open && r.Mask() != u.mask || !u.open && (r.Size() != u.size || r.Hash() != u.hash) {
		t.Fatalf("noted %+v, found %+v", u, r)
	}
}

// read compares what a cursor finds with units, in some order, missing ones in
// between.
func read(t *testing.T, r *rand.Rand, c Cursor, units []*unitTree) {
	t.Helper()
	if c.Empty() != (len(units) == 0) {
		t.Fatalf("%d units were noted, Empty is %v", len(units), c.Empty())
	}
	units = slices.Clone(units)
	switch r.IntN(3) {
	case 0:
		r.Shuffle(len(units), func(i, j int) { units[i], units[j] = units[j], units[i] })
	case 1:
		units = slices.DeleteFunc(units, func(*unitTree) bool { return r.IntN(3) == 0 })
	}
	for _, u := range units {
		if r.IntN(2) == 0 {
			if rec, inside := c.Find(u.field + 1); rec != nil || !inside.Empty() {
				t.Fatalf("found %+v, which nobody noted", rec)
			}
		}
		rec, inside := c.Find(u.field)
		if rec == nil {
			t.Fatalf("unit %d was noted and is not found", u.field)
		}
		u.compare(t, rec)
		read(t, r, inside, u.kids)
	}
}

func TestAMemoHasWhatWasNotedInWhateverOrderItIsAskedFor(t *testing.T) {
	r := seeded(t)
	s := NewSession(nil)
	for range 2_000 {
		units := randomUnits(r, r.IntN(4))
		s.Begin()
		note(s, units)
		memo := s.memo()
		// The session's memory is used again.
		s.Begin()
		note(s, randomUnits(r, 3))
		read(t, r, memo.cursor(), units)
		if n := len(memo.records()); memo.Bytes() != 16+20*n {
			t.Fatalf("%d records take %d bytes", n, memo.Bytes())
		}
	}
}

// next notes another version of units beside old: some are kept, some dropped,
// some open, some new.
func next(r *rand.Rand, s *Session, c Cursor, units []*unitTree) []*unitTree {
	var out []*unitTree
	for _, u := range units {
		rec, inside := c.Find(u.field)
		switch r.IntN(4) {
		case 0:
			s.Keep(rec, inside)
			out = append(out, u)
		case 1:
			v := &unitTree{field: u.field, open: true, mask: r.Uint64()}
			m := s.Reserve()
			v.kids = next(r, s, inside, u.kids)
			v.close(s, m)
			out = append(out, v)
		case 2:
			m := s.Reserve()
			next(r, s, inside, u.kids)
			s.Drop(m)
		default:
			v := &unitTree{field: u.field, size: r.IntN(100), hash: Hash{r.Uint64(), r.Uint32()}, kids: randomUnits(r, 2)}
			m := s.Reserve()
			note(s, v.kids)
			v.close(s, m)
			out = append(out, v)
		}
	}
	return out
}

func TestWhatIsKeptFromAnOldMemoIsInTheNewOne(t *testing.T) {
	r := seeded(t)
	s := NewSession(nil)
	for range 200 {
		units := randomUnits(r, 4)
		note(s, units)
		memo := s.memo()
		for range 10 {
			s.Begin()
			units = next(r, s, memo.cursor(), units)
			memo = s.memo()
			read(t, r, memo.cursor(), units)
		}
		s.Begin()
	}
}

func TestARisingCursorFindsWhatItIsAskedForByRisingNumbers(t *testing.T) {
	r := seeded(t)
	s := NewSession(nil)
	for range 500 {
		s.Begin()
		noted := map[int]bool{}
		for field := range 60 {
			if noted[field] = r.IntN(2) == 0; noted[field] {
				m := s.Reserve()
				note(s, randomUnits(r, 1))
				s.Note(m, field, field, Hash{A: uint64(field)})
			}
		}
		c := s.memo().cursor()
		c.Rising()
		for field := range 70 {
			if r.IntN(4) == 0 {
				continue
			}
			rec, _ := c.Find(field)
			if (rec != nil) != noted[field] || rec != nil && rec.Size() != field {
				t.Fatalf("unit %d: noted is %v, found %+v", field, noted[field], rec)
			}
		}
	}
}

func TestAMissingUnitDoesNotMoveTheCursor(t *testing.T) {
	s := NewSession(nil)
	for field := range 10 {
		s.Note(s.Reserve(), field, 0, Hash{})
	}
	c := s.memo().cursor()
	c.Find(4)
	at := c.at
	if r, _ := c.Find(100); r != nil || c.at != at {
		t.Errorf("after a unit that is missing the cursor is at %d, before it was at %d", c.at, at)
	}
}

// Members that come in another order each time are decoded again before a search for each
// takes longer than that.
func TestASearchInAnyOrderIsBounded(t *testing.T) {
	const n = 20_000
	s := NewSession(nil)
	for field := range n {
		s.Note(s.Reserve(), field, 0, Hash{})
	}
	memo := s.memo()
	forward, backward := memo.cursor(), memo.cursor()
	for field := range n {
		if r, _ := forward.Find(field); r == nil {
			t.Fatalf("%d is not found in order", field)
		}
		backward.Find(n - 1 - field)
	}
	if backward.walked > 11*n {
		t.Errorf("%d records passed to find %d", backward.walked, n)
	}
}

func TestANilMemoRemembersNothing(t *testing.T) {
	var m *Memo
	c := m.cursor()
	if r, inside := c.Find(0); r != nil || !inside.Empty() || !c.Empty() || m.Bytes() != 0 {
		t.Error("something was found")
	}
	empty := NewSession(nil).memo()
	c = empty.cursor()
	if r, _ := c.Find(0); r != nil || !c.Empty() || empty.Bytes() != 16 {
		t.Error("something was found in a memo without records")
	}
}

func TestUnitsWhoseNumberCannotBeSaidAreNotRemembered(t *testing.T) {
	s := NewSession(nil)
	for _, field := range []int{MaxField, MaxField + 1, 1 << 20} {
		m := s.Reserve()
		s.Note(s.Reserve(), 1, 1, Hash{})
		s.Note(m, field, 5, Hash{A: 6})
		m = s.Reserve()
		s.Note(s.Reserve(), 1, 1, Hash{})
		s.NoteOpen(m, field+1, 7)
	}
	memo := s.memo()
	c := memo.cursor()
	if r, inside := c.Find(MaxField); r == nil || r.Size() != 5 || inside.Empty() {
		t.Errorf("the highest number: %+v", r)
	}
	if n := len(memo.records()); n != 2 {
		t.Errorf("%d records, want the unit's and that inside it", n)
	}
}

func TestAUnitWithMoreInsideThanCanBeCountedIsRememberedAloneOrNotAtAll(t *testing.T) {
	for _, inside := range []int{maxKids, maxKids + 1, 3 * maxKids} {
		for _, open := range []bool{false, true} {
			s := NewSession(nil)
			outer := s.Reserve()
			u := &unitTree{field: 3, open: open, mask: 9, size: 4, hash: Hash{5, 6}}
			if open {
				u.size, u.hash = 0, Hash{}
			}
			m := s.Reserve()
			for range inside {
				s.Note(s.Reserve(), 1, 2, Hash{})
			}
			u.close(s, m)
			s.Note(s.Reserve(), 8, 8, Hash{})
			s.Note(outer, 2, 1, Hash{})

			c := s.memo().cursor()
			if r, within := c.Find(2); r == nil {
				if inside > maxKids {
					t.Errorf("%d inside, open %v: the unit around is not found", inside, open)
				}
			} else {
				c = within
			}
			if inside == maxKids {
				// The unit around has two more, and so none.
				if !c.Empty() {
					t.Errorf("%d inside, open %v: they are remembered in the unit around", inside, open)
				}
				continue
			}
			r, within := c.Find(3)
			if (r != nil) == open || !within.Empty() {
				t.Errorf("%d inside, open %v: found %+v, with nothing inside is %v", inside, open, r, within.Empty())
			}
			if r != nil {
				u.compare(t, r)
			}
			if r, _ := c.Find(8); r == nil || r.Size() != 8 {
				t.Errorf("%d inside, open %v: the unit behind is not found", inside, open)
			}
		}
	}
}

func FuzzMemo(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(77))
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := NewSession(nil)
		units := randomUnits(r, 4)
		note(s, units)
		memo := s.memo()
		read(t, r, memo.cursor(), units)
		s.Begin()
		units = next(r, s, memo.cursor(), units)
		read(t, r, s.memo().cursor(), units)
	})
}

// The object that memos of these tests are of, and the plan that made them.
var (
	testObject [2]int
	testPlan   = NewPlanID()
)

func (s *Session) memo() *Memo { return s.Memo(testPlan, unsafe.Pointer(&testObject)) }

func (m *Memo) cursor() Cursor {
	_, c := VersionOf(unsafe.Pointer(&testObject), m).By(testPlan)
	return c
}

func TestALastVersionCountsOnlyWithAMemoOfThePlanForThisVeryObject(t *testing.T) {
	s := NewSession(nil)
	s.Note(s.Reserve(), 1, 2, Hash{})
	object, other := unsafe.Pointer(&testObject[0]), unsafe.Pointer(&testObject[1])
	memo := s.Memo(testPlan, object)
	for what, c := range map[string]struct {
		version Version
		plan    PlanID
		counts  bool
	}{
		"the memo of the object":         {VersionOf(object, memo), testPlan, true},
		"a copy of the memo for a copy":  {VersionOf(other, memo.Of(other)), testPlan, true},
		"nothing":                        {Version{}, testPlan, false},
		"no memo":                        {VersionOf(object, nil), testPlan, false},
		"no object":                      {VersionOf(nil, memo), testPlan, false},
		"the memo of another object":     {VersionOf(other, memo), testPlan, false},
		"the memo of another plan":       {VersionOf(object, memo), NewPlanID(), false},
		"no memo for a copy":             {VersionOf(other, (*Memo)(nil).Of(other)), testPlan, false},
		"a copy of the memo, the object": {VersionOf(object, memo.Of(other)), testPlan, false},
	} {
		got, records := c.version.By(c.plan)
		if (got != nil) != c.counts || records.Empty() == c.counts {
			t.Errorf("%s: %v, without records: %v", what, got, records.Empty())
		}
		if c.counts && got != c.version.object {
			t.Errorf("%s: another object", what)
		}
	}
	if one, other := NewPlanID(), NewPlanID(); one == other {
		t.Error("two plans have one identity")
	}
}
