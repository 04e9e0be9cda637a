package workqueue

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// engine has the constructors of one side.
type engine struct {
	queue       func() kw.TypedInterface[string]
	numbers     func() kw.TypedInterface[float64]
	over        func(kw.Queue[string]) kw.TypedInterface[string]
	delaying    func(kw.TypedDelayingQueueConfig[string]) kw.TypedDelayingInterface[string]
	controllers func() kw.TypedRateLimiter[string]
	exponential func(base, most time.Duration) kw.TypedRateLimiter[string]
	fastSlow    func(fast, slow time.Duration, attempts int) kw.TypedRateLimiter[string]
	parallelize func(pieces int)
}

var (
	ours = engine{
		queue:   func() kw.TypedInterface[string] { return NewTyped[string]() },
		numbers: func() kw.TypedInterface[float64] { return NewTyped[float64]() },
		over: func(q kw.Queue[string]) kw.TypedInterface[string] {
			return NewTypedWithConfig(TypedQueueConfig[string]{Queue: q})
		},
		delaying:    NewTypedDelayingQueueWithConfig[string],
		controllers: DefaultTypedControllerRateLimiter[string],
		exponential: NewTypedItemExponentialFailureRateLimiter[string],
		fastSlow:    NewTypedItemFastSlowRateLimiter[string],
		parallelize: func(pieces int) { ParallelizeUntil(context.Background(), 1, pieces, func(int) {}) },
	}
	theirs = engine{
		queue:   func() kw.TypedInterface[string] { return kw.NewTyped[string]() },
		numbers: func() kw.TypedInterface[float64] { return kw.NewTyped[float64]() },
		over: func(q kw.Queue[string]) kw.TypedInterface[string] {
			return kw.NewTypedWithConfig(kw.TypedQueueConfig[string]{Queue: q})
		},
		delaying:    kw.NewTypedDelayingQueueWithConfig[string],
		controllers: kw.DefaultTypedControllerRateLimiter[string],
		exponential: kw.NewTypedItemExponentialFailureRateLimiter[string],
		fastSlow:    kw.NewTypedItemFastSlowRateLimiter[string],
		parallelize: func(pieces int) { kw.ParallelizeUntil(context.Background(), 1, pieces, func(int) {}) },
	}
)

// differences are the places where client-go is wrong or weak, by the words of doc.go, with
// what comes of each here and there.
var differences = []struct {
	when       string
	do         func(engine) string
	here, then string
}{
	{"Done is called of an item that is queued and that nobody processes", func(e engine) string {
		q := e.queue()
		q.Add("a")
		q.Done("a")
		defer q.ShutDown()
		return fmt.Sprint("length ", q.Len())
	}, "length 1", "length 2"},
	{"two goroutines wait in ShutDownWithDrain, and the last item is done", func(e engine) string {
		q := e.queue()
		begin(q)
		var returned atomic.Int32
		for range 2 {
			go func() { q.ShutDownWithDrain(); returned.Add(1) }()
		}
		synctest.Wait()
		q.Done("a")
		synctest.Wait()
		defer q.ShutDown()
		return fmt.Sprint(returned.Load(), " returned")
	}, "2 returned", "1 returned"},
	{"a delaying queue was shut down, is then drained, and ShutDown is to end the drain", func(e engine) string {
		q := e.delaying(kw.TypedDelayingQueueConfig[string]{})
		begin(q)
		q.ShutDown()
		var returned atomic.Bool
		go func() { q.ShutDownWithDrain(); returned.Store(true) }()
		synctest.Wait()
		q.ShutDown()
		synctest.Wait()
		defer q.Done("a")
		return fmt.Sprint("ended: ", returned.Load())
	}, "ended: true", "ended: false"},
	{"a delaying queue is shut down with ShutDownWithDrain", func(e engine) string {
		clock := testingclock.NewFakeClock(time.Now())
		q := e.delaying(kw.TypedDelayingQueueConfig[string]{Clock: clock})
		q.AddAfter("a", time.Hour)
		synctest.Wait()
		q.ShutDownWithDrain()
		synctest.Wait()
		defer clock.Step(10 * time.Second) // which ends the goroutine, if it has not ended
		return fmt.Sprint("ticker: ", clock.HasWaiters())
	}, "ticker: false", "ticker: true"},
	{"the queue below a delaying queue stands still in Add", func(e engine) string {
		below := still{e.queue(), make(chan struct{})}
		q := e.delaying(kw.TypedDelayingQueueConfig[string]{Queue: below})
		q.AddAfter("first", time.Millisecond)
		testbubble.Elapse(time.Millisecond)
		var returned atomic.Bool
		go func() {
			for i := range 2000 {
				q.AddAfter(fmt.Sprint(i), time.Hour)
			}
			returned.Store(true)
		}()
		synctest.Wait()
		outcome := fmt.Sprint("returned: ", returned.Load())
		close(below.release)
		synctest.Wait()
		q.ShutDown()
		return outcome
	}, "returned: true", "returned: false"},
	{"items fail, and Forget is never called", func(e engine) string {
		exponential, fastSlow := e.exponential(time.Millisecond, 1000*time.Second), e.fastSlow(time.Millisecond, time.Second, 3)
		exponential.When("a")
		fastSlow.When("a")
		testbubble.Pass(20_000 * time.Second)
		return fmt.Sprint("failures: ", exponential.NumRequeues("a"), fastSlow.NumRequeues("a"))
	}, "failures: 0 0", "failures: 1 1"},
	{"an exponential delay would be 2^63 ns", func(e engine) string {
		const most = 1<<63 - 1
		l := e.exponential(1, most)
		for range 63 {
			l.When("a")
		}
		return fmt.Sprint("the longest: ", l.When("a") == most) // what else it is depends on the processor
	}, "the longest: true", "the longest: false"},
	{"an item is added again and again to a queue with the default limiter", func(e engine) string {
		l := e.controllers()
		for i := range 100 {
			l.When(fmt.Sprint(i))
		}
		for range 1000 {
			l.When("again")
			l.Forget("again")
		}
		return fmt.Sprint("another waits ", l.When("another"))
	}, "another waits 200ms", "another waits 1m40.1s"},
	{"ParallelizeUntil is given fewer than no pieces", func(e engine) string {
		return panicked(func() { e.parallelize(-5) })
	}, "", "makechan: size out of range"},
	{"an item does not equal itself", func(e engine) string {
		q := e.numbers()
		q.Add(math.NaN())
		q.ShutDown()
		_, ended := q.Get()
		return fmt.Sprint("handed out: ", !ended)
	}, "handed out: false", "handed out: true"},
	{"the Queue of a configuration holds items already", func(e engine) string {
		held := kw.DefaultQueue[string]()
		held.Push("a")
		q := e.over(held)
		q.ShutDown()
		_, ended := q.Get()
		return fmt.Sprint("handed out: ", !ended)
	}, "handed out: false", "handed out: true"},
}

// begin has an item processed.
func begin(q kw.TypedInterface[string]) {
	q.Add("a")
	q.Get()
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

func TestTheDocumentedDifferencesAreAsDocumented(t *testing.T) {
	file, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.Join(strings.Fields(strings.ReplaceAll(string(file), "//", "")), " ")
	if n := strings.Count(doc, "- When "); n != len(differences) {
		t.Errorf("doc.go lists %d differences, here are %d", n, len(differences))
	}
	for _, d := range differences {
		if !strings.Contains(doc, "- When "+d.when) {
			t.Errorf("doc.go does not say: When %s", d.when)
		}
		for _, side := range []struct {
			name string
			engine
			want string
		}{{"here", ours, d.here}, {"with client-go, which may have been mended", theirs, d.then}} {
			synctest.Test(t, func(t *testing.T) {
				if got := d.do(side.engine); got != side.want {
					t.Errorf("When %s, %s: %q, want %q", d.when, side.name, got, side.want)
				}
			})
		}
	}
}
