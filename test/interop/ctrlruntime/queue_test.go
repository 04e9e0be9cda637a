package ctrlruntime

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// limiter returns the rate limiter that controller-runtime gives to a queue.
func limiter() workqueue.TypedRateLimiter[int] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[int](5*time.Millisecond, 1000*time.Second)
}

// twoQueues are ours and controller-runtime's, used alike.
type twoQueues struct {
	t            *testing.T
	ours, theirs priorityqueue.PriorityQueue[int]
	limiter      workqueue.TypedRateLimiter[int]
	// ready keys may be processed, due ones wait, running ones are being processed.
	ready, running map[int]bool
	due            map[int]time.Time
}

func newTwoQueues(t *testing.T, name string, o ctrlruntime.QueueOptions[int]) *twoQueues {
	q := &twoQueues{t: t, limiter: limiter(), ready: map[int]bool{}, running: map[int]bool{}, due: map[int]time.Time{}}
	ours := ""
	if name != "" {
		ours = name + ", kinglet's"
	}
	q.ours = o.NewQueue(ours, limiter()).(priorityqueue.PriorityQueue[int])
	q.theirs = priorityqueue.New(name, func(o *priorityqueue.Opts[int]) { o.RateLimiter = limiter() })
	return q
}

func (q *twoQueues) add(o priorityqueue.AddOpts, keys ...int) {
	q.ours.AddWithOpts(o, keys...)
	q.theirs.AddWithOpts(o, keys...)
	for _, key := range keys {
		after := o.After
		if o.RateLimited {
			after = q.limiter.When(key)
		}
		due := time.Now().Add(after)
		if had, waits := q.due[key]; waits && had.Before(due) {
			due = had
		}
		switch {
		case after <= 0:
			q.ready[key] = true
			delete(q.due, key)
		case !q.ready[key]:
			q.due[key] = due
		}
	}
	synctest.Wait()
}

// get takes a key from both, if there is one that is not processed.
func (q *twoQueues) get() {
	free := false
	for key := range q.ready {
		free = free || !q.running[key]
	}
	if !free {
		return
	}
	key, priority, shutdown := q.ours.GetWithPriority()
	wantKey, wantPriority, wantShutdown := q.theirs.GetWithPriority()
	if key != wantKey || priority != wantPriority || shutdown != wantShutdown {
		q.t.Fatalf("get: %d of priority %d, %v; controller-runtime's %d of priority %d, %v", key, priority, shutdown, wantKey, wantPriority, wantShutdown)
	}
	delete(q.ready, key)
	q.running[key] = true
	synctest.Wait()
}

func (q *twoQueues) done(key int) {
	q.ours.Done(key)
	q.theirs.Done(key)
	delete(q.running, key)
	synctest.Wait()
}

// pass lets time pass. Keys that are being processed and have a delay are done first:
// in our queue, a delay that ends during a run takes effect when the run ends.
func (q *twoQueues) pass(d time.Duration) {
	for _, key := range slices.Sorted(maps.Keys(q.running)) {
		if _, waits := q.due[key]; waits {
			q.done(key)
		}
	}
	testbubble.Pass(d)
	for key, due := range q.due {
		if !due.After(time.Now()) {
			q.ready[key] = true
			delete(q.due, key)
		}
	}
}

func (q *twoQueues) shutDown() {
	q.ours.ShutDown()
	q.theirs.ShutDown()
	testbubble.Pass(time.Second) // controller-runtime's goroutines end
}

// strict serves no request before one of a higher priority, for as long as a test
// takes.
func strict(priority int) time.Duration { return time.Duration(priority) * 1000 * time.Hour }

// TestTheQueueIsControllerRuntimes compares the two queues after each of many random
// operations. With long enough head starts, even the order is the same.
func TestTheQueueIsControllerRuntimes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	for range testkit.Trials(40) {
		synctest.Test(t, func(t *testing.T) { compareQueues(t, rnd) })
	}
}

func compareQueues(t *testing.T, rnd *rand.Rand) {
	q := newTwoQueues(t, "", ctrlruntime.QueueOptions[int]{HeadStart: strict})
	defer q.shutDown()
	keys := []int{1, 5, 40}[rnd.IntN(3)]
	for i := range 500 {
		var o priorityqueue.AddOpts
		if rnd.IntN(2) == 0 {
			o.Priority = new(rnd.IntN(5) - 2)
		}
		key := rnd.IntN(keys)
		running := slices.Sorted(maps.Keys(q.running))
		switch op := rnd.IntN(20); {
		case op < 5:
			if _, waits := q.due[key]; waits {
				// controller-runtime serves it in the order of the Add with the delay.
				o.Priority = new(3 + i)
			}
			q.add(o, key)
		case op < 8:
			o.After = time.Duration(rnd.IntN(100)+1)*time.Second + time.Duration(i)*time.Microsecond
			q.add(o, key)
		case op < 9:
			o.RateLimited = true
			q.add(o, key)
			q.pass(time.Microsecond) // no two keys are due at the same moment
		case op < 14:
			q.get()
		case op < 18 && len(running) > 0:
			q.done(running[rnd.IntN(len(running))])
		case op < 19:
			q.ours.Forget(key)
			q.theirs.Forget(key)
			q.limiter.Forget(key)
		default:
			q.pass(time.Duration(rnd.IntN(int(time.Minute))))
		}
		if got, want := q.ours.Len(), q.theirs.Len(); got != want || got != len(q.ready) {
			t.Fatalf("operation %d: %d are ready, controller-runtime has %d; they should be %d", i, got, want, len(q.ready))
		}
		if got, want := q.ours.NumRequeues(key), q.theirs.NumRequeues(key); got != want {
			t.Fatalf("operation %d: %d requeues, controller-runtime counts %d", i, got, want)
		}
	}
}

// The metrics of a queue have controller-runtime's names and values.
func TestTheQueuesMetricsAreControllerRuntimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newTwoQueues(t, "measured queue", ctrlruntime.QueueOptions[int]{})
		defer q.shutDown()
		for priority := range 30 { // more than have a label of their own
			q.add(priorityqueue.AddOpts{Priority: new(priority * 10)}, priority)
		}
		for range 4 {
			testbubble.Pass(2 * time.Second)
			q.get()
		}
		q.done(29)
		q.add(priorityqueue.AddOpts{RateLimited: true}, 28)
		q.done(28)
		q.add(priorityqueue.AddOpts{After: time.Second, Priority: new(3)}, 100)
		q.add(priorityqueue.AddOpts{Priority: new(20)}, 0)
		testbubble.Elapse(3*time.Second + 100*time.Millisecond) // between two counts of unfinished work
		ours, theirs := gathered(t, "measured queue, kinglet's"), gathered(t, "measured queue")
		for what, want := range theirs {
			if got, ok := ours[what]; !ok || got < want-0.6 || got > want+0.6 {
				t.Errorf("%s is %v, controller-runtime's %v", what, got, want)
			}
		}
		if len(ours) != len(theirs) || len(ours) < 7 {
			t.Errorf("ours %v, controller-runtime's %v", ours, theirs)
		}
	})
}

// gathered sums up the series of a queue by metric. Depths are not compared by
// priority: if there are many priorities, controller-runtime counts down others than it
// counted up.
func gathered(t *testing.T, name string) map[string]float64 {
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() != "controller" || l.GetValue() != name || !strings.HasPrefix(f.GetName(), "workqueue_") {
					continue
				}
				v := m.GetGauge().GetValue() + m.GetCounter().GetValue()
				if h := m.GetHistogram(); h != nil {
					v = h.GetSampleSum()
				}
				sums[f.GetName()] += v
			}
		}
	}
	return sums
}

// A priority beyond the bound shares a series with others, and leaves it again.
func TestDepthsByPriorityComeBackToZero(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := ctrlruntime.QueueOptions[int]{}.NewQueue("many priorities", limiter()).(priorityqueue.PriorityQueue[int])
		defer q.ShutDown()
		for i := range 100 {
			q.AddWithOpts(priorityqueue.AddOpts{Priority: new(i)}, i)
		}
		for range 100 {
			key, _, _ := q.GetWithPriority()
			q.Done(key)
		}
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		series := 0
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "workqueue_depth" && strings.Contains(m.String(), "many priorities") {
					if series++; m.GetGauge().GetValue() != 0 {
						t.Errorf("%v", m)
					}
				}
			}
		}
		if series != 26 {
			t.Errorf("%d series of depth, want 25 and one", series)
		}
	})
}

// A request of the lowest possible priority waits for as long as the difference of the
// head starts, and no longer.
func TestPrioritiesAreHeadStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := ctrlruntime.QueueOptions[int]{}.NewQueue("", limiter()).(priorityqueue.PriorityQueue[int])
		defer q.ShutDown()
		next := func(want int) {
			t.Helper()
			if key, _, _ := q.GetWithPriority(); key != want {
				t.Errorf("%d is served, not %d", key, want)
			}
			q.Done(want)
		}
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-100)}, 1)
		testbubble.Pass(29 * time.Second)
		q.Add(2)
		next(2)
		testbubble.Pass(2 * time.Second)
		q.Add(3)
		next(1)
		q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-1 << 62)}, 4)
		next(3)
		testbubble.Pass(time.Hour + time.Second)
		q.AddWithOpts(priorityqueue.AddOpts{}, 5)
		next(4)
		next(5)
	})
}

func TestShutDownEndsEveryGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := ctrlruntime.QueueOptions[int]{}.NewQueue("ended", limiter())
		var ended [3]bool
		for i := range ended {
			go func() {
				_, ended[i] = q.Get()
			}()
		}
		synctest.Wait()
		q.ShutDown()
		q.ShutDown()
		synctest.Wait()
		if ended != [3]bool{true, true, true} {
			t.Error(ended)
		}
		q.Add(1)
		q.AddRateLimited(1)
		if _, shutdown := q.Get(); !shutdown || q.Len() != 0 || q.NumRequeues(1) != 0 || !q.ShuttingDown() {
			t.Error("the queue takes requests after its end")
		}
	})
}

func TestADrainWaitsForWhatIsProcessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := ctrlruntime.QueueOptions[int]{}.NewQueue("", limiter())
		q.Add(1)
		q.Get()
		drained := false
		go func() {
			q.ShutDownWithDrain()
			drained = true
		}()
		synctest.Wait()
		if drained {
			t.Error("it did not wait")
		}
		q.Done(1)
		synctest.Wait()
		if !drained {
			t.Error("it still waits")
		}
	})
}

// A standby replica that warms up, or a kind whose first list takes long, is not broken.
func TestRequestsThatWaitBeforeAnyWorkerHasAskedAreNoProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := kinglet.NewSet()
		q := ctrlruntime.QueueOptions[int]{Set: set, Workers: 1}.NewQueue("warm", limiter())
		defer q.ShutDown()
		q.Add(1)
		q.Add(2)
		problems := func() (all string) {
			testbubble.Pass(10 * time.Minute)
			controllers, _ := set.Controllers()
			s := controllers[0].Status()
			for _, p := range s.Problems(time.Now()) {
				all += fmt.Sprintf("%v %v for %v; ", p.Severity, p.Cause, time.Since(p.Since).Round(time.Minute))
			}
			return all
		}
		if got := problems(); got != "note gate_closed for 10m0s; " {
			t.Errorf("before a worker asks: %s", got)
		}
		key, _ := q.Get()
		q.Forget(key)
		q.Done(key)
		if got := problems(); got != "broken queue_behind for 10m0s; " {
			t.Errorf("after the worker is gone: %s", got)
		}
	})
}

// A set shows what controller-runtime's controllers do, from their calls to their
// queues.
func TestASetShowsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := kinglet.NewSet()
		q := ctrlruntime.QueueOptions[int]{Set: set, Workers: 3}.NewQueue("shown", limiter())
		for i := range 6 {
			q.Add(i)
		}
		run := func(end func(key int)) {
			key, _ := q.Get()
			testbubble.Pass(time.Second)
			end(key)
			q.Done(key)
		}
		run(q.Forget)
		run(q.AddRateLimited)
		run(func(int) {}) // a terminal error
		run(func(key int) {
			q.Forget(key)
			q.AddAfter(key, time.Minute)
		})
		key, _ := q.Get()
		q.Add(key)
		testbubble.Pass(time.Second)
		all, _ := set.Controllers()
		if len(all) != 1 {
			t.Fatalf("%d controllers", len(all))
		}
		r, d := all[0].Status(), all[0].Inspect()
		got := fmt.Sprintf("%s, %d workers: queued %d, running %d for %v, again %d, waiting %d, failing %d, %d of them for good; succeeded %d, failed %d, terminal %d, adds %d, runs %d of %v",
			r.Name, r.Workers, r.Queued, r.Running, r.Unfinished, r.Again, r.Waiting, r.Failing, r.FailedForGood, r.Succeeded, r.Failed, r.Terminal, r.Adds, r.Runs.Count(), r.Runs.Sum)
		want := "shown, 3 workers: queued 2, running 1 for 1s, again 1, waiting 1, failing 2, 1 of them for good; succeeded 2, failed 2, terminal 1, adds 8, runs 4 of 4s"
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if len(d.Running) != 1 || d.Running[0].Key != fmt.Sprint(key) || !d.Running[0].Since.Equal(r.OldestRun) {
			t.Errorf("running: %+v", d.Running)
		}
		failing := ""
		for _, k := range d.Failing {
			failing += fmt.Sprintf("%s, %s after %d failures, by %s: %s\n", k.Key, k.State, k.Failures, k.Cause, k.Error)
		}
		if want := `1, queued after 1 failures, by retry: see the log of controller-runtime
2, failed for good after 1 failures, by add: see the log of controller-runtime
`; failing != want {
			t.Errorf("failing:\n%swant:\n%s", failing, want)
		}
		q.Done(key)
		for q.Add(2); q.Len() > 0; {
			run(q.Forget)
		}
		if r := all[0].Status(); r.Failing != 0 || r.FailedForGood != 0 {
			t.Errorf("failing %d, %d of them for good, after all have succeeded", r.Failing, r.FailedForGood)
		}
		q.ShutDown()
		if left, _ := set.Controllers(); len(left) != 0 {
			t.Errorf("%d controllers are shown after the end", len(left))
		}
	})
}
