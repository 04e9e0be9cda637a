package wallclock

import (
	"testing"
	"time"
	"unsafe"
)

func TestAtFollowsAWallClockThatWasSet(t *testing.T) {
	origin := time.Now()
	at := origin.Add(time.Minute)
	if got := At(origin, time.Minute); !got.Equal(at) || got.Round(0).Sub(at.Round(0)).Abs() > time.Second {
		t.Errorf("%v, want %v", got, at)
	}
	// The wall clock was six hours behind when origin was taken: its seconds are above 30 bits of
	// nanoseconds.
	*(*uint64)(unsafe.Pointer(&origin)) -= 6 * 3600 << 30
	if time.Since(origin) > time.Minute || time.Since(origin.Round(0)) < 6*time.Hour {
		t.Fatal("time.Time is made otherwise: set its wall clock in another way")
	}
	if got := At(origin, time.Minute); got.Round(0).Sub(at.Round(0)).Abs() > time.Second {
		t.Errorf("%v, want %v", got, at)
	}
}
