package share

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"
)

const (
	unitOfText Unit  = 7
	placeOfAll Place = 3
)

// decide decides about a unit as a reader does, and returns how it was found.
func decide(t *testing.T, s *Session, raw []byte, build func(u *Decision) *string) (got *string, found bool) {
	t.Helper()
	var u Decision
	if v, ok := s.Lookup(&u, unitOfText, placeOfAll, &UnitWorth, raw); ok {
		return (*string)(v.Ptr), true
	}
	s.Build(&u, false)
	p := build(&u)
	if !u.Ends(len(raw)) {
		t.Fatal("it does not end where it ends")
	}
	s.Offer(&u, Value{Ptr: unsafe.Pointer(p)})
	return p, false
}

func textOf(raw []byte) func(*Decision) *string {
	return func(*Decision) *string {
		p := new(string)
		*p = string(raw)
		return p
	}
}

func TestAUnitIsBuiltTwiceAndFoundFromThenOn(t *testing.T) {
	s := NewSession(NewTable(0))
	raw := []byte("the bytes of a unit")
	var all []*string
	for i, want := range []bool{false, false, true, true} {
		p, found := decide(t, s, raw, textOf(raw))
		if found != want || *p != string(raw) {
			t.Fatalf("sighting %d: found is %v, of %q", i+1, found, *p)
		}
		all = append(all, p)
	}
	if all[2] != all[1] || all[3] != all[1] {
		t.Error("what was found is not what was offered")
	}
}

func TestWhatHasStateThatSomebodyMayWriteIsNeverOffered(t *testing.T) {
	s := NewSession(NewTable(0))
	s.Recent = &Recent{}
	raw := []byte("the bytes of a unit")
	for range 5 {
		s.Begin()
		_, found := decide(t, s, raw, func(u *Decision) *string {
			if s.Own(u) {
				t.Fatal("nothing was built yet")
			}
			s.Private++
			if !s.Own(u) {
				t.Fatal("what was built is not the object's alone")
			}
			return textOf(raw)(u)
		})
		if found {
			t.Fatal("another object was given it")
		}
	}
}

// A unit that contains a private value is private; its neighbours are not.
func TestWhatStandsBesideAPrivateValueIsOffered(t *testing.T) {
	s := NewSession(NewTable(0))
	outer, private, plain := []byte("outer"), []byte("private"), []byte("plain")
	var of [3]bool
	for range 4 {
		_, of[0] = decide(t, s, outer, func(u *Decision) *string {
			_, of[1] = decide(t, s, private, func(u *Decision) *string {
				s.Private++
				return textOf(private)(u)
			})
			_, of[2] = decide(t, s, plain, textOf(plain))
			return textOf(outer)(u)
		})
	}
	if of != [3]bool{false, false, true} {
		t.Errorf("outer, private and plain were found: %v", of)
	}
}

func TestWhatIsNotLookedUpIsNotOffered(t *testing.T) {
	s := NewSession(NewTable(0))
	raw := []byte("the bytes of a unit")
	for range 3 {
		var u Decision
		s.Build(&u, false)
		if !u.Ends(1) {
			t.Fatal("what was not cut out ends where it ends")
		}
		s.Offer(&u, Value{Ptr: unsafe.Pointer(new(string))})
	}
	if _, found := decide(t, s, raw, textOf(raw)); found || s.Table.Stats().Entries != 0 {
		t.Error("the table has learnt something")
	}
}

func TestAnOfferCostsWhatWasAllocatedSinceTheUnitBegan(t *testing.T) {
	s := NewSession(NewTable(0))
	s.Allocated = 1000
	raw := []byte("the bytes of a unit")
	for range 2 {
		decide(t, s, raw, func(u *Decision) *string {
			s.Allocated += 300
			return textOf(raw)(u)
		})
	}
	if got := s.Table.Stats().Bytes; got != 300+entryBytes+minSlots*slotBytes {
		t.Errorf("the table counts %d bytes", got)
	}
}

func TestAValueThatEndsElsewhereThanItsExtentIsNotTheUnits(t *testing.T) {
	s := NewSession(NewTable(0))
	var u Decision
	s.Lookup(&u, unitOfText, placeOfAll, &UnitWorth, []byte("5x"))
	if u.Ends(1) || !u.Ends(2) {
		t.Error("5 is taken for the value of 5x")
	}
}

// Recall finds a unit that NoteBuilt noted, if its bytes are the same, and does
// not if they differ.
func TestRecallKnowsWhatWasNotedOfAUnit(t *testing.T) {
	const field = 5
	raw, other := []byte("these are the bytes"), []byte("these are no bytes!")
	name := Hash{A: 1 << 40, B: 9}
	for _, c := range []struct {
		what           string
		asked, private bool
		compared, same bool
		record, open   bool
	}{
		{what: "built, not compared", record: true},
		{what: "built after a lookup", asked: true, record: true},
		{what: "compared and the same", compared: true, same: true, record: true},
		{what: "compared and the same, after a lookup", asked: true, compared: true, same: true, record: true},
		{what: "changed", compared: true, record: true, open: true},
		{what: "changed and private", private: true, compared: true, record: true, open: true},
		{what: "private, not compared", private: true},
	} {
		s := NewSession(NewTable(0))
		s.Begin()
		var u Decision
		if c.asked {
			s.Lookup(&u, unitOfText, placeOfAll, &UnitWorth, raw)
		}
		s.Build(&u, true)
		if c.private {
			s.Private++
		}
		s.Note(s.Reserve(), 1, 4, Hash{A: 77}) // inside
		s.NoteBuilt(&u, field, name, raw, c.compared, c.same)
		object := unsafe.Pointer(&anObject)
		memo := s.Memo(1, object)

		recall := func(name Hash, rest []byte) (int, bool, Cursor, *Memo) {
			s.Begin()
			_, records := VersionOf(object, memo).By(1)
			size, open, inside := s.Recall(&records, field, name, rest)
			return size, open, inside, s.Memo(1, object)
		}
		size, open, inside, again := recall(name, append(bytes.Clone(raw), "and more"...))
		switch {
		case !c.record:
			if size != 0 || open || !inside.Empty() || memo.n != 0 {
				t.Errorf("%s: there is a record", c.what)
			}
		case c.open:
			if size != 0 || !open || inside.Empty() {
				t.Errorf("%s: not an open record", c.what)
			}
		default:
			if size != len(raw) || open || !bytes.Equal(contentOf(again), contentOf(memo)) {
				t.Errorf("%s: %d bytes were recalled, and %d records noted again", c.what, size, again.n)
			}
		}
		for _, rest := range [][]byte{other, raw[:len(raw)-1], nil} {
			if size, _, _, _ := recall(name, rest); size != 0 {
				t.Errorf("%s: %q was recalled", c.what, rest)
			}
		}
		size, open, inside, _ = recall(Hash{}, raw)
		if size != 0 || open || c.open && !inside.Empty() {
			t.Errorf("%s: the record of another name was recalled", c.what)
		}
	}
}

// anObject is where it stays, as a stored object does.
var anObject int

func contentOf(m *Memo) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(m)), m.Bytes())
}

func TestDropBuiltTakesBackTheRecordAndAllInside(t *testing.T) {
	s := NewSession(NewTable(0))
	s.Begin()
	s.Note(s.Reserve(), 1, 4, Hash{A: 77})
	for _, note := range []bool{true, false} {
		var u Decision
		s.Build(&u, note)
		if note {
			s.Note(s.Reserve(), 2, 4, Hash{A: 78})
		}
		s.DropBuilt(&u)
		if n := s.Mark(); n != 1 {
			t.Errorf("%d records are left", n)
		}
	}
}

// A unit is recalled by its bytes alone, however they are disturbed.
func TestNoOtherBytesMatchARecord(t *testing.T) {
	r := seeded(t)
	s := NewSession(NewTable(0))
	for range 20_000 {
		raw := make([]byte, 1+r.IntN(300))
		for i := range raw {
			raw[i] = byte(r.Uint32())
		}
		rec := Record{size: uint32(len(raw))}
		h := s.Table.Sum(raw)
		rec.a0, rec.a1, rec.b = uint32(h.A), uint32(h.A>>32), h.B
		if !s.Matches(&rec, Hash{}, raw) || !s.Matches(&rec, Hash{}, append(bytes.Clone(raw), 1)) {
			t.Fatal("its own bytes do not match")
		}
		disturb(r, raw)
		if s.Matches(&rec, Hash{}, raw) || s.Matches(&rec, Hash{}, raw[1:]) {
			t.Fatal("other bytes match")
		}
	}
}

func disturb(r *rand.Rand, raw []byte) { raw[r.IntN(len(raw))] ^= byte(1 + r.IntN(255)) }
