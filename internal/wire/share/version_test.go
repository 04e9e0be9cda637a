package share

import (
	"testing"
	"unsafe"
)

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
