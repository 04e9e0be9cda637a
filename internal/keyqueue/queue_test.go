package keyqueue

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// TestNoKeyRunsTwiceAtOnceAndNoAddIsLost has goroutines that count a key up and
// add it, and workers that note the count when their run begins.
func TestNoKeyRunsTwiceAtOnceAndNoAddIsLost(t *testing.T) {
	seed := testkit.Seed(t)
	q := New[int](Options[int]{})
	const keys, adders, adds = 20, 4, 3000
	var wanted, seen, running [keys]atomic.Int64
	var adding, working sync.WaitGroup
	for i := range adders {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		adding.Go(func() {
			for range adds {
				key := r.IntN(keys)
				wanted[key].Add(1)
				o := AddOptions{}
				if r.IntN(4) == 0 {
					o.After = time.Duration(r.IntN(100)) * time.Microsecond
				}
				q.Add(key, o)
			}
		})
	}
	for range 3 {
		working.Go(func() {
			for {
				run, ok := q.Take()
				if !ok {
					return
				}
				if n := running[run.Key].Add(1); n != 1 {
					t.Errorf("%d runs of key %d", n, run.Key)
				}
				seen[run.Key].Store(wanted[run.Key].Load())
				running[run.Key].Add(-1)
				q.Finish(run, Result{})
			}
		})
	}
	adding.Wait()
	for key := range keys { // ends the delays
		wanted[key].Add(1)
		q.Add(key, AddOptions{})
	}
	q.Close()
	working.Wait()
	for key := range keys {
		if wanted[key].Load() != seen[key].Load() {
			t.Errorf("key %d: the last run began at %d, it was added at %d", key, seen[key].Load(), wanted[key].Load())
		}
	}
}

// taken returns the keys that run until nobody waits any more, each of which
// ends at once.
func taken[K comparable](q *Queue[K]) []K {
	var keys []K
	for q.Counts().Queued > 0 {
		run, ok := q.Take()
		if !ok {
			break
		}
		keys = append(keys, run.Key)
		q.Finish(run, Result{})
	}
	return keys
}

func TestAnImmediateAddEndsAWaitAndARunEndsTheDelaysBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options[string]{})
		defer q.Stop()
		q.Add("a", AddOptions{After: time.Minute})
		q.Add("a", AddOptions{})
		if got := taken(q); !slices.Equal(got, []string{"a"}) {
			t.Fatalf("ran %v", got)
		}
		if _, ok := q.Get("a"); ok {
			t.Error("the delay is left after the run")
		}
		testbubble.Pass(2 * time.Minute)
		if n := q.Counts(); n != (Counts{}) {
			t.Errorf("after the delay: %+v", n)
		}
	})
}

func TestTheEarlierOfTwoDelaysCountsAndResultsCanMoveOrEndThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options[string]{})
		defer q.Stop()
		q.Add("a", AddOptions{After: time.Minute})
		q.Add("a", AddOptions{After: time.Second})
		q.Add("a", AddOptions{After: time.Hour})
		began := time.Now()
		run, _ := q.Take()
		if d := time.Since(began); d != time.Second {
			t.Errorf("ran after %v, not a second", d)
		}
		q.Add("a", AddOptions{After: time.Hour})
		q.Finish(run, Result{After: time.Minute})
		if s, _ := q.Get("a"); s.State != Waiting || time.Until(s.Next) != time.Minute {
			t.Errorf("%+v, not waiting for a minute", s)
		}
		if !q.Cancel("a") || q.Cancel("a") {
			t.Error("one wait is not cancelled once")
		}
	})
}

func TestAQueueThatIsStoppedSaysSoAndKeepsWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options[string]{})
		q.Add("queued", AddOptions{})
		q.Add("waiting", AddOptions{After: time.Hour})
		q.Stop()
		if _, ok := q.Take(); ok {
			t.Error("a stopped queue gives a key away")
		}
		if q.Add("late", AddOptions{}) {
			t.Error("a stopped queue takes a key")
		}
		states := map[string]State{}
		for key, s := range q.All() {
			states[key] = s.State
		}
		if len(states) != 2 || states["queued"] != Queued || states["waiting"] != Waiting {
			t.Errorf("%v", states)
		}
	})
}

func TestADrainWaitsForRunsAndACloseEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options[string]{})
		q.Add("a", AddOptions{})
		run, _ := q.Take()
		drained := make(chan struct{})
		go func() { q.CloseAndDrain(); close(drained) }()
		synctest.Wait()
		select {
		case <-drained:
			t.Fatal("drained while a key runs")
		default:
		}
		q.Finish(run, Result{After: time.Second})
		<-drained

		q = New[string](Options[string]{})
		q.Add("a", AddOptions{})
		run, _ = q.Take()
		drained = make(chan struct{})
		go func() { q.CloseAndDrain(); close(drained) }()
		synctest.Wait()
		q.Close()
		<-drained
		q.Finish(run, Result{})
	})
}

func TestAHeldQueueGivesNothingAwayUntilItIsLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[string](Options[string]{})
		q.Hold(true)
		q.Add("a", AddOptions{})
		var ran atomic.Bool
		go func() {
			run, _ := q.Take()
			if run.Waited > time.Second {
				t.Errorf("what was held has waited for a worker for %v", run.Waited)
			}
			ran.Store(true)
			q.Finish(run, Result{})
		}()
		testbubble.Pass(time.Hour)
		if ran.Load() {
			t.Error("ran while held")
		}
		q.Add("b", AddOptions{})
		q.Hold(false)
		if at := q.Report(0).Oldest; time.Since(at) > time.Second {
			t.Errorf("the oldest has waited since %v", at)
		}
		synctest.Wait()
		if !ran.Load() {
			t.Error("did not run when let go")
		}
	})
}

func TestAKeyThatDoesNotEqualItselfIsRefused(t *testing.T) {
	q := New[float64](Options[float64]{})
	if q.Add(math.NaN(), AddOptions{}) {
		t.Error("NaN is taken")
	}
	if !q.Add(1, AddOptions{}) || q.Counts().Queued != 1 {
		t.Errorf("%+v", q.Counts())
	}
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

// TestMemoryIsThatOfTheKeysThatAreThere has keys that run, fail and wait, and then
// succeed, and counts what the queue holds with few of them left, and with none.
func TestMemoryIsThatOfTheKeysThatAreThere(t *testing.T) {
	c := core[int]{}
	errFailed := errors.New("failed")
	const keys, few = 200_000, 100
	empty := heapBytes()
	for i := range keys {
		c.add(0, i, AddOptions{})
	}
	for range keys {
		r, _, _ := c.take(0)
		c.finish(0, r, Result{Err: errFailed, After: time.Second, Head: time.Second})
	}
	full := heapBytes() - empty
	now := int64(time.Minute)
	c.advance(now)
	for left := keys; left > 0; left-- {
		r, _, _ := c.take(now)
		c.finish(now, r, Result{})
		if left == few || left == 1 {
			if held := int64(heapBytes() - empty); held > 1<<20 {
				t.Errorf("of %d KB the queue holds %d KB for %d keys", full>>10, held>>10, left)
			}
		}
	}
	runtime.KeepAlive(&c)
}

func TestNoMoreThanTheLastKeysThatFailedForGoodAreRemembered(t *testing.T) {
	c := core[int]{}
	for i := range 2 * mostFailed {
		c.add(int64(i), i, AddOptions{})
		r, _, _ := c.take(int64(i))
		c.finish(int64(i), r, Result{Err: errors.New("failed"), Terminal: true})
	}
	for i := range 2 * mostFailed {
		if _, ok := c.records.entries[i]; ok != (i >= mostFailed) {
			t.Fatalf("key %d of %d is remembered: %v", i, 2*mostFailed, ok)
		}
	}
	if n := len(c.failures.entries); n != mostFailed {
		t.Errorf("%d failures of %d keys are remembered", n, mostFailed)
	}
}

func TestMostFailuresHasThoseThatFailedMostOften(t *testing.T) {
	q := New[int](Options[int]{})
	for key := range 100 {
		for range 1 + key {
			q.Add(key, AddOptions{})
			run, _ := q.Take()
			q.Finish(run, Result{Err: errors.New("failed"), After: 1e18})
		}
	}
	var keys []int
	for _, k := range q.Report(3).MostFailures {
		keys = append(keys, k.Key)
	}
	if !slices.Equal(keys, []int{99, 98, 97}) {
		t.Errorf("%v", keys)
	}
	if most := q.Report(1000).MostFailures; len(most) != 100 || most[0].Failure.Count != 100 || most[0].State != Waiting {
		t.Errorf("%d of 100 keys, %+v", len(most), most[0])
	}
	q.Stop()
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A program's clock may stand still: the queue of package workqueue has none.
func TestKeysThatHaveLeftTheQueueAreForgottenTogetherAlthoughNoTimePasses(t *testing.T) {
	const keys, rounds = 1000, 20
	var c core[int]
	for key := range keys {
		c.add(0, key, AddOptions{})
	}
	trims := 0
	for range keys * rounds {
		before := len(c.queued.arrivals)
		r, _, _ := c.take(0)
		if len(c.queued.arrivals) < before {
			trims++
		}
		key := r.key
		c.finish(0, r, Result{})
		c.add(0, key, AddOptions{})
	}
	if trims > rounds {
		t.Errorf("arrivals were trimmed %d times in %d runs, with %d keys queued", trims, keys*rounds, keys)
	}
}
