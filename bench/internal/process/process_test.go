package process

import (
	"runtime"
	"testing"
)

// TestAPeakIsThatOfThePhaseSinceItWasCleared grows, shrinks, and looks.
func TestAPeakIsThatOfThePhaseSinceItWasCleared(t *testing.T) {
	if err := ClearPeak(); err != nil {
		t.Fatal(err)
	}
	before, _, err := Resident()
	if err != nil {
		t.Fatal(err)
	}
	if before == 0 {
		t.Log("this system does not say")
		return
	}
	const grown = 64 << 20
	b := make([]byte, grown)
	for i := 0; i < len(b); i += 512 {
		b[i] = 1
	}
	now, peak, err := Resident()
	if err != nil {
		t.Fatal(err)
	}
	if peak < now || peak < grown || now < grown {
		t.Errorf("%d are resident and the peak is %d, with %d touched", now, peak, grown)
	}
	runtime.KeepAlive(b)
}

// TestProcessorTimeGrowsWithWork spins until it has.
func TestProcessorTimeGrowsWithWork(t *testing.T) {
	start, err := CPU()
	if err != nil {
		t.Fatal(err)
	}
	if start == 0 {
		t.Log("this system does not say")
		return
	}
	for now := start; now <= start; {
		if now, err = CPU(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWhatIsAvailableIsLessThanTheMachineCouldHave reads the real file.
func TestWhatIsAvailableIsLessThanTheMachineCouldHave(t *testing.T) {
	n, err := Available()
	if err != nil || n > 1<<50 {
		t.Errorf("%d bytes are available, %v", n, err)
	}
}
