package queues

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func delaysRow() row {
	return row{
		ID: "delays",
		Needs: []string{
			"NewDelaying*", "NewTypedDelaying*", "NewNamedDelayingQueue", "TypedNewDelayingQueue", "New", "NewTypedWithConfig",
			"NewRateLimiting*", "NewTypedRateLimiting*", "NewNamedRateLimitingQueue",
		},
		Tests: []test{
			{Sentence: "every constructor makes a delaying queue", Run: delaysConstructors},
			{Sentence: "a shutdown drops what waits, and what is added later", Run: delaysShutdown},
			{Sentence: "a drain does not wait for delays", Run: delaysDrain},
			{Sentence: "time is that of the clock that was given", Run: delaysFakeClock},
			{Sentence: "the longest delay there is does no harm", Run: delaysLongest},
			{Sentence: "it hands on to the queue below it", Run: delaysOwnQueue},
			{Sentence: "random operations hand out what a model does", Run: delaysEqualModel},
			{Sentence: "no add is lost when many add with delays", Run: delaysStorm, Real: true},
			{Sentence: "every constructor makes a rate limiting queue", Run: limitsConstructors},
			{Sentence: "requeues are the limiter's, and forget is", Run: limitsForget},
			{Sentence: "the delaying queue below a rate limiting one may be the program's", Run: limitsOwnQueue},
			{Sentence: "delays of a rate limiting queue are by the clock that was given", Run: limitsFakeClock},
		},
	}
}

func delaysConstructors(t *testing.T, im Implementation) {
	clock := testingclock.NewFakeClock(time.Now())
	for name, q := range map[string]kw.DelayingInterface{
		"NewDelayingQueue":                im.NewDelayingQueue(),
		"NewDelayingQueueWithConfig":      im.NewDelayingQueueWithConfig(kw.DelayingQueueConfig{}),
		"NewDelayingQueueWithCustomClock": im.NewDelayingQueueWithCustomClock(clock, "delaysConstructors/clock"),
		"NewDelayingQueueWithCustomQueue": im.NewDelayingQueueWithCustomQueue(im.New(), "delaysConstructors/queue"),
		"NewNamedDelayingQueue":           im.NewNamedDelayingQueue("delaysConstructors/named"),
	} {
		q.AddAfter("a", time.Second)
		testbubble.Elapse(time.Second)
		clock.Step(time.Second)
		synctest.Wait()
		same(t, name, drained(t, q), any("a"))
		q.ShutDown()
	}
	for name, q := range map[string]kw.TypedDelayingInterface[string]{
		"NewTypedDelayingQueueWithConfig": im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{}),
		"TypedNewDelayingQueue":           im.TypedNewDelayingQueue(),
	} {
		q.AddAfter("a", time.Second)
		testbubble.Elapse(time.Second)
		same(t, name, drained(t, q), "a")
		q.ShutDown()
	}
}

func delaysShutdown(t *testing.T, im Implementation) {
	q := im.NewTypedDelayingQueue()
	q.AddAfter("a", time.Second)
	q.Add("b")
	q.ShutDown()
	q.AddAfter("c", time.Second)
	q.AddAfter("d", 0)
	testbubble.Elapse(time.Minute)
	same(t, "items", drained(t, q), "b")
	over(t, q)
	q.ShutDown()
}

func delaysDrain(t *testing.T, im Implementation) {
	q := im.NewTypedDelayingQueue()
	q.AddAfter("a", time.Second)
	q.Add("b")
	next(t, q)
	returned := going(q.ShutDownWithDrain)
	equal(t, "returned", returned(), false)
	q.Done("b")
	equal(t, "returned", returned(), true)
	testbubble.Elapse(time.Minute)
	over(t, q)
}

func delaysFakeClock(t *testing.T, im Implementation) {
	clock := testingclock.NewFakeClock(time.Now())
	q := im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{Clock: clock})
	step := func(d time.Duration) {
		synctest.Wait()
		clock.Step(d)
		synctest.Wait()
	}
	q.AddAfter("a", time.Second)
	q.AddAfter("b", 50*time.Millisecond)
	testbubble.Elapse(time.Hour)
	equal(t, "length before the clock moves", q.Len(), 0)
	step(60 * time.Millisecond)
	same(t, "items", drained(t, q), "b")
	q.AddAfter("c", 2*time.Second)
	step(time.Second)
	same(t, "items", drained(t, q), "a")
	step(2 * time.Second)
	same(t, "items", drained(t, q), "c")
	q.AddAfter("d", 50*time.Millisecond)
	q.AddAfter("d", 30*time.Millisecond)
	step(40 * time.Millisecond)
	same(t, "items", drained(t, q), "d")
	step(20 * time.Millisecond)
	equal(t, "length", q.Len(), 0)
	q.ShutDown()
}

func delaysLongest(t *testing.T, im Implementation) {
	q := im.NewTypedDelayingQueue()
	q.AddAfter("never", 1<<63-1)
	q.AddAfter("b", time.Second)
	testbubble.Elapse(time.Second)
	same(t, "items", drained(t, q), "b")
	q.AddAfter("never", 2*time.Second)
	testbubble.Elapse(time.Second)
	equal(t, "length", q.Len(), 0)
	testbubble.Elapse(time.Second)
	same(t, "items", drained(t, q), "never")
	q.ShutDown()
}

func delaysOwnQueue(t *testing.T, im Implementation) {
	below := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Queue: &stack{}})
	q := im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{Queue: below})
	q.AddAfter("a", time.Second)
	q.AddAfter("b", 2*time.Second)
	q.Add("c")
	equal(t, "length below", below.Len(), 1)
	testbubble.Elapse(2 * time.Second)
	same(t, "items", drained(t, q), "b", "a", "c")
	q.ShutDown()
	equal(t, "shutting down below", below.ShuttingDown(), true)
}

// delaysEqualModel gives every delay a different nanosecond, since the order of items that
// are due at the same one is not specified.
func delaysEqualModel(t *testing.T, im Implementation) {
	r := random(t)
	for range 5 {
		q, m := im.NewTypedDelayingQueue(), newModel()
		for i := range 2000 {
			item := fmt.Sprint(r.IntN(12))
			switch op := r.IntN(100); {
			case op < 20:
				q.Add(item)
				m.add(item)
			case op < 50:
				d := time.Duration(r.IntN(1000))*time.Millisecond + time.Duration(i+1)
				q.AddAfter(item, d)
				m.addAfter(item, time.Now().Add(d))
				synctest.Wait()
			case op < 70 && len(m.queued) > 0:
				equal(t, "item", next(t, q), m.get())
			case op < 85 && len(m.processing) > 0:
				item = m.oneProcessed(r)
				q.Done(item)
				m.done(item)
			default:
				testbubble.Elapse(time.Duration(r.IntN(300)) * time.Millisecond)
				m.until(time.Now())
			}
			if got, want := q.Len(), len(m.queued); got != want {
				t.Fatalf("length %d, want %d", got, want)
			}
		}
		q.ShutDown()
	}
}

func delaysStorm(t *testing.T, im Implementation) {
	q := im.NewTypedDelayingQueue()
	// All adds with a delay are made before the shutdown, which would drop them. The
	// last one of each item is immediate.
	var delayed sync.WaitGroup
	for p := range 4 {
		delayed.Go(func() {
			for i := range 1000 {
				q.AddAfter(fmt.Sprint(i%50), time.Duration(1+(i*p)%1000)*time.Microsecond)
			}
		})
	}
	storm(t, q, 50, 4, 4, 1000, q.Add)
	delayed.Wait()
	q.ShutDown() // which ends client-go's goroutine at once
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
		testbubble.Elapse(time.Second)
		same(t, name, drained(t, q), any("a"))
		q.ShutDown()
	}
	q := im.NewTypedRateLimitingQueueWithConfig(&script[string]{}, kw.TypedRateLimitingQueueConfig[string]{})
	q.AddRateLimited("a")
	testbubble.Elapse(time.Second)
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
	testbubble.Elapse(time.Second)
	equal(t, "length below", below.Len(), 1)
	same(t, "items", drained(t, below), "a")
	q.ShutDown()
	equal(t, "shutting down below", below.ShuttingDown(), true)
}

func limitsFakeClock(t *testing.T, im Implementation) {
	clock := testingclock.NewFakeClock(time.Now())
	q := im.NewTypedRateLimitingQueueWithConfig(&script[string]{}, kw.TypedRateLimitingQueueConfig[string]{Clock: clock})
	q.AddRateLimited("a")
	testbubble.Elapse(time.Hour)
	equal(t, "length", q.Len(), 0)
	clock.Step(time.Second)
	testbubble.Elapse(0)
	same(t, "items", drained(t, q), "a")
	q.ShutDown()
}
