package queues

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"fmt"
	"strings"
	"testing"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

func rateLimitsRow() row {
	return row{
		ID:    "rate limits",
		Needs: []string{"NewRateLimiting*", "NewTypedRateLimiting*", "NewNamedRateLimitingQueue", "NewTypedDelayingQueue"},
		Tests: []test{
			{Sentence: "an item waits for as long as its limiter says", Run: limitsSimple},
			{Sentence: "every constructor makes a rate limiting queue", Run: limitsConstructors},
			{Sentence: "requeues are the limiter's, and forget is", Run: limitsForget},
			{Sentence: "the delaying queue below may be the program's", Run: limitsOwnQueue},
			{Sentence: "delays are by the clock that was given", Run: limitsFakeClock},
		},
	}
}

// script is a limiter that returns seconds and records its calls.
type script[T comparable] struct{ calls []string }

func (s *script[T]) note(what string, item T) { s.calls = append(s.calls, fmt.Sprint(what, " ", item)) }

func (s *script[T]) When(item T) time.Duration {
	s.note("when", item)
	return time.Duration(len(s.calls)) * time.Second
}

func (s *script[T]) Forget(item T) { s.note("forget", item) }

func (s *script[T]) NumRequeues(item T) int {
	s.note("requeues", item)
	return len(s.calls)
}

func limitsSimple(t *testing.T, im Implementation) {
	q := im.NewTypedRateLimitingQueue(&script[string]{})
	q.AddRateLimited("a")
	q.AddRateLimited("b")
	q.AddRateLimited("c")
	for _, want := range strings.Split("abc", "") {
		testclock.Elapse(time.Second - 1)
		equal(t, "length", q.Len(), 0)
		testclock.Elapse(1)
		same(t, "items", drained(t, q), want)
	}
	q.ShutDown()
}

func limitsConstructors(t *testing.T, im Implementation) {
	limiter := func() kw.RateLimiter { return &script[any]{} }
	for name, q := range map[string]kw.RateLimitingInterface{
		"NewNamedRateLimitingQueue":                 im.NewNamedRateLimitingQueue(limiter(), "limitsConstructors"),
		"NewRateLimitingQueue":                      im.NewRateLimitingQueue(limiter()),
		"NewRateLimitingQueueWithConfig":            im.NewRateLimitingQueueWithConfig(limiter(), kw.RateLimitingQueueConfig{}),
		"NewRateLimitingQueueWithDelayingInterface": im.NewRateLimitingQueueWithDelayingInterface(im.NewDelayingQueue(), limiter()),
	} {
		q.AddRateLimited("a")
		equal(t, name, q.Len(), 0)
		testclock.Elapse(time.Second)
		same(t, name, drained(t, q), any("a"))
		q.ShutDown()
	}
	q := im.NewTypedRateLimitingQueueWithConfig(&script[string]{}, kw.TypedRateLimitingQueueConfig[string]{})
	q.AddRateLimited("a")
	testclock.Elapse(time.Second)
	same(t, "NewTypedRateLimitingQueueWithConfig", drained(t, q), "a")
	q.ShutDown()
}

func limitsForget(t *testing.T, im Implementation) {
	l := &script[string]{}
	q := im.NewTypedRateLimitingQueue(l)
	q.AddRateLimited("a")
	equal(t, "requeues", q.NumRequeues("a"), 2)
	q.Forget("b")
	q.Add("c")
	q.AddAfter("d", time.Second)
	same(t, "calls", l.calls, "when a", "requeues a", "forget b")
	q.ShutDown()
}

func limitsOwnQueue(t *testing.T, im Implementation) {
	below := im.NewTypedDelayingQueue()
	q := im.NewTypedRateLimitingQueueWithConfig(&script[string]{}, kw.TypedRateLimitingQueueConfig[string]{DelayingQueue: below})
	q.AddRateLimited("a")
	testclock.Elapse(time.Second)
	equal(t, "length below", below.Len(), 1)
	same(t, "items", drained(t, below), "a")
	q.ShutDown()
	equal(t, "shutting down below", below.ShuttingDown(), true)
}

func limitsFakeClock(t *testing.T, im Implementation) {
	clock := testingclock.NewFakeClock(time.Now())
	q := im.NewTypedRateLimitingQueueWithConfig(&script[string]{}, kw.TypedRateLimitingQueueConfig[string]{Clock: clock})
	q.AddRateLimited("a")
	testclock.Elapse(time.Hour)
	equal(t, "length", q.Len(), 0)
	clock.Step(time.Second)
	testclock.Elapse(0)
	same(t, "items", drained(t, q), "a")
	q.ShutDown()
}
