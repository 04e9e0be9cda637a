package queues

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"fmt"
	"sync"
	"testing"
	"time"

	kw "k8s.io/client-go/util/workqueue"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func limitersRow() row {
	return row{
		ID: "rate limiters",
		Needs: []string{
			"NewItem*", "NewTypedItem*",
			"Default*",
		},
		Tests: []test{
			{Sentence: "exponential delays double for each item of its own, up to the longest", Run: limitersExponential},
			{Sentence: "exponential delays stay the longest however often an item fails", Run: limitersExponentialForever},
			{Sentence: "fast delays come first, then slow ones", Run: limitersFastSlow},
			{Sentence: "the default for controllers is exponential, and a bucket", Run: limitersController},
			{Sentence: "the default for items is exponential from 1 ms", Run: limitersItems},
			{Sentence: "a limiter may be used by many", Run: limitersStorm, Real: true},
		},
	}
}

func whens[T comparable](l kw.TypedRateLimiter[T], item T, n int) []time.Duration {
	var list []time.Duration
	for range n {
		list = append(list, l.When(item))
	}
	return list
}

// untyped is an untyped limiter as a limiter of strings.
type untyped struct{ kw.RateLimiter }

func (u untyped) When(item string) time.Duration { return u.RateLimiter.When(item) }
func (u untyped) Forget(item string)             { u.RateLimiter.Forget(item) }
func (u untyped) NumRequeues(item string) int    { return u.RateLimiter.NumRequeues(item) }

func limitersExponential(t *testing.T, im Implementation) {
	for _, l := range []kw.TypedRateLimiter[string]{
		im.NewTypedItemExponentialFailureRateLimiter(time.Millisecond, 10*time.Millisecond),
		untyped{im.NewItemExponentialFailureRateLimiter(time.Millisecond, 10*time.Millisecond)},
	} {
		same(t, "a", whens(l, "a", 6), 1e6, 2e6, 4e6, 8e6, 10e6, 10e6)
		same(t, "b", whens(l, "b", 2), 1e6, 2e6)
		equal(t, "requeues of a", l.NumRequeues("a"), 6)
		equal(t, "requeues of b", l.NumRequeues("b"), 2)
		l.Forget("a")
		equal(t, "requeues of a", l.NumRequeues("a"), 0)
		equal(t, "requeues of c", l.NumRequeues("c"), 0)
		same(t, "a", whens(l, "a", 1), 1e6)
		same(t, "b", whens(l, "b", 1), 4e6)
	}
}

func limitersExponentialForever(t *testing.T, im Implementation) {
	for _, base := range []time.Duration{3, 5 * time.Millisecond, time.Minute} {
		l := im.NewTypedItemExponentialFailureRateLimiter(base, 1000*time.Hour)
		last := time.Duration(0)
		for i, d := range whens(l, "a", 2000) {
			if d < last || d > 1000*time.Hour {
				t.Fatalf("base %v: delay %d is %v after %v", base, i, d, last)
			}
			last = d
		}
		equal(t, "the last", last, 1000*time.Hour)
	}
}

func limitersFastSlow(t *testing.T, im Implementation) {
	for _, l := range []kw.TypedRateLimiter[string]{
		im.NewTypedItemFastSlowRateLimiter(5*time.Millisecond, 10*time.Second, 3),
		untyped{im.NewItemFastSlowRateLimiter(5*time.Millisecond, 10*time.Second, 3)},
	} {
		same(t, "a", whens(l, "a", 5), 5e6, 5e6, 5e6, 10e9, 10e9)
		same(t, "b", whens(l, "b", 1), 5e6)
		equal(t, "requeues of a", l.NumRequeues("a"), 5)
		l.Forget("a")
		equal(t, "requeues of a", l.NumRequeues("a"), 0)
		same(t, "a", whens(l, "a", 1), 5e6)
	}
}

func limitersController(t *testing.T, im Implementation) {
	for _, l := range []kw.TypedRateLimiter[string]{
		im.DefaultTypedControllerRateLimiter(), untyped{im.DefaultControllerRateLimiter()},
	} {
		for i := range 100 {
			same(t, "one of the first hundred", whens(l, fmt.Sprint(i), 1), 5e6)
		}
		for i := range 50 {
			// The bucket counts in floating point.
			equal(t, "one of the others", l.When(fmt.Sprint("b", i)).Round(time.Microsecond), time.Duration(i+1)*100*time.Millisecond)
		}
		equal(t, "requeues", l.NumRequeues("7"), 1)
		testbubble.Elapse(time.Hour)
		same(t, "an item that failed before", whens(l, "b7", 3), 10e6, 20e6, 40e6)
		l.Forget("b7")
		same(t, "an item that was forgotten", whens(l, "b7", 2), 5e6, 10e6)
		testbubble.Elapse(time.Hour)
		list := whens(l, "b7", 30)
		equal(t, "the longest", list[len(list)-1], 1000*time.Second)
	}
}

func limitersItems(t *testing.T, im Implementation) {
	for _, l := range []kw.TypedRateLimiter[string]{
		im.DefaultTypedItemBasedRateLimiter(), untyped{im.DefaultItemBasedRateLimiter()},
	} {
		list := whens(l, "a", 30)
		same(t, "the first", list[:4], 1e6, 2e6, 4e6, 8e6)
		equal(t, "the longest", list[29], 1000*time.Second)
	}
}

func limitersStorm(t *testing.T, im Implementation) {
	for _, l := range []kw.TypedRateLimiter[string]{
		im.DefaultTypedControllerRateLimiter(),
		im.NewTypedItemFastSlowRateLimiter(time.Millisecond, time.Second, 5),
	} {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for i := range 500 {
					l.When(fmt.Sprint(i % 10))
					l.NumRequeues(fmt.Sprint(i % 10))
					l.Forget("other")
				}
			})
		}
		wg.Wait()
		for i := range 10 {
			equal(t, "requeues", l.NumRequeues(fmt.Sprint(i)), 400)
		}
	}
}
