package workqueue_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/workqueue"
)

// drained gets all queued items, and finishes each at once.
func drained(q workqueue.TypedInterface[string]) string {
	var items []string
	for q.Len() > 0 {
		item, _ := q.Get()
		items = append(items, item)
		q.Done(item)
	}
	return strings.Join(items, " ")
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestAFakeClockMayBeSteppedWithoutWaitingForAnybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := testingclock.NewFakeClock(time.Now())
		q := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Clock: fake})
		for round := range 100 {
			q.AddAfter("a", 50*time.Millisecond)
			q.AddAfter("b", 80*time.Millisecond)
			for range round % 7 {
				fake.Step(10 * time.Millisecond)
			}
			fake.Step(50 * time.Millisecond)
			fake.Step(50 * time.Millisecond)
			synctest.Wait()
			if got := drained(q); got != "a b" {
				t.Fatalf("round %d: %q", round, got)
			}
		}
		q.ShutDown()
	})
}

// A fake clock may be moved farther than a Duration reaches.
func TestAFakeClockMayBeSetToAnyTime(t *testing.T) {
	for _, from := range []time.Time{{}, time.Unix(0, 0), time.Now(), time.Now().AddDate(400, 0, 0)} {
		for _, to := range []time.Time{from, from.Add(time.Minute), time.Now(), from.AddDate(1000, 0, 0), from.AddDate(-1000, 0, 0)} {
			synctest.Test(t, func(t *testing.T) {
				fake := testingclock.NewFakeClock(from)
				q := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Clock: fake})
				defer q.ShutDown()
				q.AddAfter("a", time.Minute)
				fake.SetTime(to)
				synctest.Wait()
				want := ""
				if to.Sub(from) >= time.Minute {
					want = "a"
				}
				equal(t, fmt.Sprintf("from %v to %v", from, to), drained(q), want)
			})
		}
	}
}

// leapingClock is stepped once while a timer is being made: before it is made, and
// after.
type leapingClock struct {
	*testingclock.FakeClock
	before, after time.Duration
}

func (c *leapingClock) NewTimer(d time.Duration) clock.Timer {
	before, after := c.before, c.after
	c.before, c.after = 0, 0
	c.Step(before)
	timer := c.FakeClock.NewTimer(d)
	c.Step(after)
	return timer
}

func TestAStepThatComesWhileATimerIsMadeDelaysNothing(t *testing.T) {
	for _, c := range []struct{ before, after, rest time.Duration }{
		{0, 0, 50}, {50, 0, 0}, {0, 50, 0}, {200, 0, 0}, {30, 0, 20}, {0, 30, 20}, {30, 20, 0}, {10, 10, 30},
	} {
		synctest.Test(t, func(t *testing.T) {
			leaping := &leapingClock{FakeClock: testingclock.NewFakeClock(time.Now())}
			q := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Clock: leaping})
			leaping.before, leaping.after = c.before*time.Millisecond, c.after*time.Millisecond
			q.AddAfter("a", 50*time.Millisecond)
			synctest.Wait()
			if c.rest > 0 {
				leaping.Step(c.rest*time.Millisecond - 1)
				synctest.Wait()
				equal(t, fmt.Sprintf("%v: items before the time", c), q.Len(), 0)
				leaping.Step(1)
				synctest.Wait()
			}
			equal(t, fmt.Sprintf("%v: items", c), drained(q), "a")
			q.ShutDown()
		})
	}
}

// A bubble ends only when its goroutines have ended.
func TestNoGoroutineStaysWhenTheQueueBelowIsShutDownDirectly(t *testing.T) {
	for _, shutDown := range []func(workqueue.TypedInterface[string]){
		workqueue.TypedInterface[string].ShutDown, workqueue.TypedInterface[string].ShutDownWithDrain,
	} {
		synctest.Test(t, func(t *testing.T) {
			below := workqueue.NewTyped[string]()
			q := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Queue: below})
			q.AddAfter("a", time.Hour)
			shutDown(below)
			testbubble.Pass(10 * time.Second)
			synctest.Wait()
			q.AddAfter("b", time.Second)
		})
	}
}
