package testclock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTimePassesInABubbleOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		Pass(time.Hour)
		if d := time.Since(began); d != time.Hour {
			t.Errorf("%v passed", d)
		}
	})
	defer func() {
		if recover() == nil {
			t.Error("outside of a bubble nothing is said")
		}
	}()
	Pass(time.Nanosecond)
}
