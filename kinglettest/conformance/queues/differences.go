package queues

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// Differences lists the differences in the order in which Run tests them.
func Differences() []Difference {
	return []Difference{
		{
			ID:           "done-unasked",
			Situation:    "Done is called of an item that is queued and that nobody processes",
			Reference:    "it stands in the queue twice, and two workers process it at a time",
			Right:        "nothing happens",
			Outcome:      doneUnasked,
			WeakOutcome:  "length 2, handed out [a a] at a time",
			RightOutcome: "length 1, handed out [a] at a time",
		},
		{
			ID:           "two-drains",
			Situation:    "two goroutines wait in ShutDownWithDrain, and the last item is done",
			Reference:    "one of them waits for ever",
			Right:        "both return",
			Outcome:      twoDrains,
			WeakOutcome:  "1 returned",
			RightOutcome: "2 returned",
		},
		{
			ID:           "drain-after-shutdown",
			Situation:    "a delaying queue was shut down, is then drained, and ShutDown is to end the drain",
			Reference:    "only the first ShutDown counts: the drain goes on",
			Right:        "the drain ends",
			Outcome:      drainAfterShutdown,
			WeakOutcome:  "goes on",
			RightOutcome: "ends",
		},
		{
			ID:           "drained-lives-on",
			Situation:    "a delaying queue is shut down with ShutDownWithDrain",
			Reference:    "its goroutine lives on for up to 10 s, and its ticker for ever",
			Right:        "both end at once",
			Outcome:      drainedLivesOn,
			WeakOutcome:  "ticker of the clock true",
			RightOutcome: "ticker of the clock false",
		},
		{
			ID:           "add-after-blocks",
			Situation:    "the queue below a delaying queue stands still in Add",
			Reference:    "AddAfter blocks once 1,000 more are under way",
			Right:        "AddAfter never blocks",
			Outcome:      addAfterBlocks,
			WeakOutcome:  "blocks",
			RightOutcome: "does not block",
		},
		{
			ID:           "failures-kept",
			Situation:    "items fail, and Forget is never called",
			Reference:    "rate limiters count their failures for ever",
			Right:        "an item that has not failed for an hour, and for ten times the longest delay, starts anew within as long again",
			Source:       "https://github.com/kubernetes/kubernetes/issues/138743",
			Outcome:      failuresKept,
			WeakOutcome:  "exponential 1, fast and slow 1",
			RightOutcome: "exponential 0, fast and slow 0",
		},
		{
			ID:           "backoff-negative",
			Situation:    "an exponential delay would be 2^63 ns",
			Reference:    "it is negative on amd64, so that the item is retried at once",
			Right:        "it is the longest delay",
			Outcome:      backoffNegative,
			WeakOutcome:  "not the longest delay",
			RightOutcome: "the longest delay",
		},
		{
			ID:           "tokens-wasted",
			Situation:    "an item is added again and again to a queue with the default limiter for controllers, while it waits for its token",
			Reference:    "each time takes a token, and all other items wait for it: by a tenth of a second each",
			Right:        "an item has one token to come",
			Outcome:      tokensWasted,
			WeakOutcome:  "another item waits 1m40.1s",
			RightOutcome: "another item waits 200ms",
		},
		{
			ID:           "pieces-negative",
			Situation:    "ParallelizeUntil is given fewer than no pieces",
			Reference:    "it panics: makechan: size out of range",
			Right:        "there is nothing to do",
			Outcome:      piecesNegative,
			WeakOutcome:  "panics: makechan: size out of range",
			RightOutcome: "returns",
		},
	}
}

func doneUnasked(t *testing.T, im Implementation) string {
	q := im.NewTyped()
	q.Add("a")
	q.Done("a")
	n := q.Len()
	var items []string
	for q.Len() > 0 {
		items = append(items, next(t, q))
	}
	q.ShutDown()
	return fmt.Sprintf("length %d, handed out %v at a time", n, items)
}

func twoDrains(t *testing.T, im Implementation) string {
	q := im.NewTyped()
	q.Add("a")
	next(t, q)
	first, second := going(q.ShutDownWithDrain), going(q.ShutDownWithDrain)
	if first() || second() {
		t.Error("a drain does not wait")
	}
	q.Done("a")
	n := 0
	for _, returned := range []func() bool{first, second} {
		if returned() {
			n++
		}
	}
	q.ShutDown()
	return fmt.Sprintf("%d returned", n)
}

func drainAfterShutdown(t *testing.T, im Implementation) string {
	q := im.NewTypedDelayingQueue()
	q.Add("a")
	next(t, q)
	q.ShutDown()
	returned := going(q.ShutDownWithDrain)
	if returned() {
		t.Error("the drain does not wait")
	}
	q.ShutDown()
	outcome := "goes on"
	if returned() {
		outcome = "ends"
	}
	q.Done("a")
	return outcome
}

func drainedLivesOn(t *testing.T, im Implementation) string {
	clock := testingclock.NewFakeClock(time.Now())
	q := im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{Clock: clock})
	q.AddAfter("a", time.Hour)
	synctest.Wait()
	q.ShutDownWithDrain()
	synctest.Wait()
	// This ends the goroutine, if it has not ended.
	outcome := fmt.Sprint("ticker of the clock ", clock.HasWaiters())
	clock.Step(10 * time.Second)
	return outcome
}

// still is a queue whose Add blocks.
type still struct {
	kw.TypedInterface[string]
	release chan struct{}
}

func (s still) Add(item string) {
	<-s.release
	s.TypedInterface.Add(item)
}

func addAfterBlocks(t *testing.T, im Implementation) string {
	below := still{im.NewTyped(), make(chan struct{})}
	q := im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{Queue: below})
	q.AddAfter("first", time.Millisecond)
	testbubble.Elapse(time.Millisecond)
	returned := going(func() {
		for i := range 2000 {
			q.AddAfter(fmt.Sprint(i), time.Hour)
		}
	})
	outcome := "does not block"
	if !returned() {
		outcome = "blocks"
	}
	close(below.release)
	synctest.Wait()
	q.ShutDown()
	synctest.Wait()
	return outcome
}

func failuresKept(_ *testing.T, im Implementation) string {
	exponential := im.NewTypedItemExponentialFailureRateLimiter(time.Millisecond, 1000*time.Second)
	fastSlow := im.NewTypedItemFastSlowRateLimiter(time.Millisecond, time.Second, 3)
	exponential.When("a")
	fastSlow.When("a")
	testbubble.Elapse(20_000 * time.Second)
	return fmt.Sprintf("exponential %d, fast and slow %d", exponential.NumRequeues("a"), fastSlow.NumRequeues("a"))
}

// backoffNegative checks the only delay in question. With client-go it depends on the
// processor.
func backoffNegative(_ *testing.T, im Implementation) string {
	const most = 1<<63 - 1
	if list := whens(im.NewTypedItemExponentialFailureRateLimiter(1, most), "a", 64); list[63] == most {
		return "the longest delay"
	}
	return "not the longest delay"
}

func tokensWasted(_ *testing.T, im Implementation) string {
	l := im.DefaultTypedControllerRateLimiter()
	for i := range 100 {
		l.When(fmt.Sprint(i))
	}
	for range 1000 {
		l.When("again")
		l.Forget("again")
	}
	return fmt.Sprint("another item waits ", l.When("another"))
}

func piecesNegative(t *testing.T, im Implementation) (outcome string) {
	defer func() {
		if p := recover(); p != nil {
			outcome = fmt.Sprint("panics: ", p)
		}
	}()
	var done []int
	im.ParallelizeUntil(t.Context(), 1, -5, func(piece int) { done = append(done, piece) }, 0)
	if slices.Max(append(done, -1)) >= 0 {
		t.Errorf("done: %v", done)
	}
	return "returns"
}
