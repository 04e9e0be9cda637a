package keyqueue

import (
	"math"
	"testing"
	"time"
)

func TestAHeadStartOfAnySizeNeverOverflows(t *testing.T) {
	for _, now := range []int64{-int64(time.Hour), 0, 1, int64(time.Hour), 1 << 62} {
		for _, test := range []struct {
			head  time.Duration
			first string
		}{
			{math.MinInt64, "plain"}, {-math.MaxInt64, "plain"}, {-1 << 62, "plain"},
			{math.MaxInt64, "headed"}, {1 << 62, "headed"},
		} {
			c := core[string]{}
			c.stamp = now - 1
			c.add(now, "headed", AddOptions{Head: test.head})
			c.add(now, "plain", AddOptions{})
			if r, _, _ := c.take(now); r.key != test.first {
				t.Errorf("at %d, beside a head start of %d: %q ran first, not %q", now, test.head, r.key, test.first)
			}
		}
	}
}

func TestARunThatIsAskedForWithTheLongestWaitCanBeCancelled(t *testing.T) {
	c := core[string]{}
	c.add(0, "a", AddOptions{})
	c.take(0)
	c.add(0, "a", AddOptions{Head: -math.MaxInt64})
	if !c.cancel("a") {
		t.Error("the run after the one under way was not there to be cancelled")
	}
}

func TestADelayOfAnyLengthNeverOverflows(t *testing.T) {
	for _, now := range []int64{math.MinInt64, -int64(time.Hour), 0, int64(time.Hour), never - 2} {
		for _, d := range []time.Duration{1, time.Second, math.MaxInt64 - 1, math.MaxInt64} {
			at := later(now, d)
			if at <= now || at >= never || now <= 0 && at-now != int64(d) && at != never-1 {
				t.Errorf("%d and %d: %d", now, d, at)
			}
			if now < 0 && at == never-1 && d < time.Hour {
				t.Errorf("%v after %d is at the end of time", d, now)
			}
		}
	}
}
