package workqueue

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// A count is exact while an item fails at least once in keep, and gone after
// twice that.
func TestFailuresCountAsAMapWithTimesDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	synctest.Test(t, func(t *testing.T) {
		f := failures[int]{keep: 2 * time.Hour}
		type entry struct {
			n    int
			last time.Time
		}
		model := map[int]entry{}
		for range 20_000 {
			item := r.IntN(30)
			e := model[item]
			n := f.NumRequeues(item)
			switch age := time.Since(e.last); {
			case age < f.keep && n != e.n, age >= 2*f.keep && n != 0, n != 0 && n != e.n:
				t.Fatalf("count %d after %v, the model has %d", n, age, e.n)
			}
			switch op := r.IntN(10); {
			case op < 5:
				if before := f.add(item); before != n {
					t.Fatalf("add returns %d, count %d", before, n)
				}
				model[item] = entry{n + 1, time.Now()}
			case op < 6:
				f.Forget(item)
				delete(model, item)
			case op < 7:
				testbubble.Pass(time.Duration(r.IntN(int(90 * time.Minute))))
			}
		}
	})
}

func TestFailuresOfItemsThatAreNeverForgottenAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewTypedItemExponentialFailureRateLimiter[int](5*time.Millisecond, 1000*time.Second).(*TypedItemExponentialFailureRateLimiter[int])
		const every = 10 * time.Second
		bound := int(2 * l.failures.keep / every)
		for i := range 10 * bound {
			l.When(i)
			if n := len(l.failures.younger) + len(l.failures.older); n > bound+1 {
				t.Fatalf("%d failures are kept after %d items, want at most %d", n, i+1, bound+1)
			}
			testbubble.Pass(every)
		}
	})
}

func TestALimiterThatWasMadeWithoutItsConstructorCounts(t *testing.T) {
	l := &TypedItemFastSlowRateLimiter[string]{}
	l.When("a")
	l.When("a")
	if n := l.NumRequeues("a"); n != 2 {
		t.Errorf("%d requeues", n)
	}
}

// The bucket is compared with client-go's, with which each call takes a token.
func TestAnItemHasOneTokenToComeAndTheRateIsKept(t *testing.T) {
	r := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	synctest.Test(t, func(t *testing.T) {
		const perSecond, burst = 10, 5
		l := &tokens[string]{limiter: rate.NewLimiter(perSecond, burst)}
		theirs := &TypedBucketRateLimiter[string]{Limiter: rate.NewLimiter(perSecond, burst)}
		to := map[string]time.Time{} // each item's token to come
		var taken []time.Time        // the times of all tokens
		for range 5000 {
			item := fmt.Sprint(r.IntN(40))
			now := time.Now()
			d, other := l.When(item), theirs.When(item)
			if d > other {
				t.Fatalf("%s waits %v, and %v with client-go's", item, d, other)
			}
			at := now.Add(d)
			if before, ok := to[item]; ok && before.After(now) {
				if !at.Equal(before) {
					t.Fatalf("%s has a token in %v, and another one in %v", item, before.Sub(now), d)
				}
			} else {
				to[item] = at
				taken = append(taken, at)
			}
			// burst tokens at once, and then one every tenth of a second.
			if n := len(taken); n > burst {
				if span := taken[n-1].Sub(taken[n-1-burst]); span < time.Second/perSecond-time.Microsecond {
					t.Fatalf("%d tokens in %v", burst+1, span)
				}
			}
			if len(l.times) > 40 || len(l.order) != len(l.times) {
				t.Fatalf("%d and %d tokens to come of 40 items", len(l.times), len(l.order))
			}
			if r.IntN(3) == 0 {
				testbubble.Pass(time.Duration(r.IntN(int(300 * time.Millisecond))))
			}
		}
		testbubble.Pass(time.Hour)
		l.When("last")
		if len(l.times) != 0 || len(l.order) != 0 {
			t.Errorf("%d and %d tokens to come in an hour", len(l.times), len(l.order))
		}
	})
}
