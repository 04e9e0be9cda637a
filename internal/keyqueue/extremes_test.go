package keyqueue

import (
	"errors"
	"math"
	"testing"
	"time"
)

func newCore(retries float64, workers int) core[string] {
	return core[string]{table: newTable[string](), pace: newPace(retries), classes: newClasses[string](workers)}
}

func (c *core[K]) takeKey(now int64) (slot uint32, key K) {
	slot, _, _, ok := c.take(now)
	if !ok {
		return 0, key
	}
	return slot, c.records.at(slot).key
}

func TestAHeadStartOfAnySizeNeverOverflows(t *testing.T) {
	for _, now := range []int64{-int64(time.Hour), 0, 1, int64(time.Hour), 1 << 62} {
		for _, test := range []struct {
			head  time.Duration
			first string
		}{
			{math.MinInt64, "plain"}, {-math.MaxInt64, "plain"}, {-1 << 62, "plain"},
			{math.MaxInt64, "headed"}, {1 << 62, "headed"},
		} {
			c := newCore(0, 0)
			c.stamp = now - 1
			c.add(now, c.table.hash("headed"), "headed", AddOptions{Head: test.head})
			c.add(now, c.table.hash("plain"), "plain", AddOptions{})
			if _, key := c.takeKey(now); key != test.first {
				t.Errorf("at %d, beside a head start of %d: %q ran first, not %q", now, test.head, key, test.first)
			}
		}
	}
}

func TestARunThatIsAskedForWithTheLongestWaitCanBeCancelled(t *testing.T) {
	c := newCore(0, 0)
	c.add(0, c.table.hash("a"), "a", AddOptions{})
	c.takeKey(0)
	c.add(0, c.table.hash("a"), "a", AddOptions{Head: -math.MaxInt64})
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

func TestALimitOfNextToNoRetriesWaitsInsteadOfSpinning(t *testing.T) {
	for _, rate := range []float64{1e-6, 1e-10, 1e-20, math.SmallestNonzeroFloat64} {
		c := newCore(rate, 0)
		errFailed := errors.New("failed")
		for _, key := range []string{"a", "b"} { // the first has the token that there is
			c.add(1, c.table.hash(key), key, AddOptions{})
			slot, _ := c.takeKey(1)
			c.finish(1, c.table.hash(key), slot, 0, Result{Err: errFailed})
		}
		if at := c.next(); at <= int64(time.Hour) {
			t.Errorf("%v retries a second: the next is at %d", rate, at)
		}
	}
}
