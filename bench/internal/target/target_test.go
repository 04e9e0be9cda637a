package target

import "testing"

// TestATargetIsNotMetByWhatWasNotMeasured tries zeros.
func TestATargetIsNotMetByWhatWasNotMeasured(t *testing.T) {
	for _, x := range []Target{{AtMost: 1}, {AtLeast: 1}, {Own: 1}} {
		if x.Met(0, 0) || x.Met(0, 1) {
			t.Errorf("%s is met by nothing", x)
		}
	}
	if (Target{None: true}).Met(1, 1) || !(Target{None: true}).Met(0.0004, 7) {
		t.Error("an allocation is none, or what is none is not")
	}
	if !(Target{AtMost: 1}).Met(1, 1) || !(Target{AtLeast: 2}).Met(4, 2) || !(Target{Own: 2}).Met(2, 0) {
		t.Error("a bound is not within itself")
	}
}
