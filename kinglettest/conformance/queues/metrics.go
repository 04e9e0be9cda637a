package queues

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func metricsRow() row {
	return row{
		ID:    "metrics",
		Needs: []string{"NewTypedWithConfig", "NewTypedDelayingQueueWithConfig", "NewTypedRateLimitingQueueWithConfig", "SetProvider"},
		Tests: []test{
			{Sentence: "a queue with a name asks for each once", Run: metricsMade},
			{Sentence: "a queue without a name asks for none", Run: metricsUnnamed},
			{Sentence: "random operations count as a model does", Run: metricsEqualModel},
			{Sentence: "unfinished work is no longer counted after a shutdown", Run: metricsShutdown},
			{Sentence: "every add after a delay is a retry", Run: metricsRetries},
			{Sentence: "they are by the clock that was given", Run: metricsClock},
			{Sentence: "the process has one provider, the first", Run: metricsProvider},
			{Sentence: "they come to the same when many use the queue", Run: metricsStorm, Real: true},
		},
	}
}

var (
	ofQueue    = []string{"adds", "depth", "latency", "longest", "unfinished", "work"}
	ofDelaying = []string{"adds", "depth", "latency", "longest", "retries", "unfinished", "work"}
)

func metricsMade(t *testing.T, im Implementation) {
	r := newRecorder()
	plain := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Name: "plain", MetricsProvider: r})
	delaying := im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{Name: "delaying", MetricsProvider: r})
	limiting := im.NewTypedRateLimitingQueueWithConfig(&script[string]{}, kw.TypedRateLimitingQueueConfig[string]{Name: "limiting", MetricsProvider: r})
	own := im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{Name: "own", MetricsProvider: r, Queue: im.NewTyped()})
	same(t, "of a queue", r.of("plain"), ofQueue...)
	same(t, "of a delaying queue", r.of("delaying"), ofDelaying...)
	same(t, "of a rate limiting queue", r.of("limiting"), ofDelaying...)
	same(t, "of a delaying queue over another", r.of("own"), "retries")
	for _, q := range []kw.TypedInterface[string]{plain, delaying, limiting, own} {
		q.ShutDown()
	}
}

func metricsUnnamed(t *testing.T, im Implementation) {
	r := newRecorder()
	for _, q := range []kw.TypedInterface[string]{
		im.NewTypedWithConfig(kw.TypedQueueConfig[string]{MetricsProvider: r}),
		im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{MetricsProvider: r}),
	} {
		q.Add("a")
		drained(t, q)
		q.ShutDown()
	}
	same(t, "made", r.made)
	same(t, "lines", r.take())
}

func metricsEqualModel(t *testing.T, im Implementation) {
	rnd := random(t)
	r := newRecorder()
	q := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Name: "q", MetricsProvider: r})
	m := newModel()
	added, begun := map[string]time.Time{}, map[string]time.Time{}
	for range 3000 {
		item := fmt.Sprint(rnd.IntN(12))
		var want []string
		switch op := rnd.IntN(100); {
		case op < 45:
			q.Add(item)
			if m.add(item) {
				want = []string{"adds +1", "depth +1"}
				added[item] = time.Now()
			}
		case op < 70 && len(m.queued) > 0:
			item = m.get()
			equal(t, "item", next(t, q), item)
			want = []string{"depth -1", fmt.Sprint("latency ", time.Since(added[item]).Seconds())}
			begun[item] = time.Now()
		case op < 90 && len(m.processing) > 0:
			item = m.oneProcessed(rnd)
			q.Done(item)
			m.done(item)
			want = []string{fmt.Sprint("work ", time.Since(begun[item]).Seconds())}
		default:
			// With multiples of 2^-3 s, sums are the same in any order.
			testbubble.Elapse(time.Duration(1+rnd.IntN(16)) * 125 * time.Millisecond)
			if time.Now().UnixNano()%int64(500*time.Millisecond) != 0 {
				continue
			}
			var total, longest float64
			for item := range m.processing {
				age := time.Since(begun[item]).Seconds()
				total, longest = total+age, max(longest, age)
			}
			unfinished, oldest, _ := r.gauges()
			equal(t, "unfinished work", unfinished, total)
			equal(t, "longest running", oldest, longest)
		}
		same(t, "lines", r.take(), want...)
		if t.Failed() {
			break
		}
	}
	q.ShutDown()
}

func metricsShutdown(t *testing.T, im Implementation) {
	r := newRecorder()
	q := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Name: "q", MetricsProvider: r})
	q.Add("a")
	next(t, q)
	testbubble.Elapse(500 * time.Millisecond)
	q.ShutDown()
	testbubble.Elapse(time.Hour)
	unfinished, longest, sets := r.gauges()
	equal(t, "unfinished work", unfinished, 0.5)
	equal(t, "longest running", longest, 0.5)
	equal(t, "times set", sets, 2)
}

func metricsRetries(t *testing.T, im Implementation) {
	r := newRecorder()
	q := im.NewTypedRateLimitingQueueWithConfig(&script[string]{}, kw.TypedRateLimitingQueueConfig[string]{Name: "q", MetricsProvider: r})
	q.AddAfter("a", time.Second)
	q.AddAfter("a", time.Minute)
	same(t, "two delays", r.take(), "retries +1", "retries +1")
	q.AddAfter("b", 0)
	same(t, "no delay", r.take(), "retries +1", "adds +1", "depth +1")
	q.AddRateLimited("c")
	same(t, "a rate limit", r.take(), "retries +1")
	testbubble.Elapse(time.Second)
	same(t, "a second later", r.take(), "adds +1", "depth +1", "adds +1", "depth +1")
	q.ShutDown()
	q.AddAfter("d", time.Second)
	q.AddAfter("d", 0)
	same(t, "after the shutdown", r.take())
}

func metricsClock(t *testing.T, im Implementation) {
	r, clock := newRecorder(), testingclock.NewFakeClock(time.Now())
	q := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Name: "q", MetricsProvider: r, Clock: clock})
	synctest.Wait()
	q.Add("a")
	clock.Step(250 * time.Millisecond)
	next(t, q)
	testbubble.Elapse(time.Hour)
	clock.Step(250 * time.Millisecond)
	synctest.Wait()
	unfinished, longest, _ := r.gauges()
	equal(t, "unfinished work", unfinished, 0.25)
	equal(t, "longest running", longest, 0.25)
	clock.Step(time.Second)
	q.Done("a")
	same(t, "lines", r.take(), "adds +1", "depth +1", "depth -1", "latency 0.25", "work 1.25")
	q.ShutDown()
}

// processProvider is the provider of the process. It can be set once, and the suite may
// run twice.
var processProvider = sync.OnceValue(newRecorder)

func metricsProvider(t *testing.T, im Implementation) {
	im.SetProvider(processProvider())
	im.SetProvider(newRecorder())
	processProvider().take()
	q := im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{Name: "after the provider"})
	q.AddAfter("a", 0)
	same(t, "of a queue made after", processProvider().take(), "retries +1", "adds +1", "depth +1")
	r := newRecorder()
	own := im.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[string]{Name: "own provider", MetricsProvider: r})
	own.AddAfter("a", 0)
	same(t, "of a queue with a provider of its own", r.take(), "retries +1", "adds +1", "depth +1")
	same(t, "of the process's", processProvider().take())
	for _, q := range []kw.TypedInterface[string]{q, own} {
		q.ShutDown()
	}
}

func metricsStorm(t *testing.T, im Implementation) {
	r := newRecorder()
	q := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Name: "q", MetricsProvider: r})
	storm(t, q, 50, 4, 4, 1000, q.Add)
	counts := map[string]int{}
	for _, line := range r.take() {
		var what string
		var value float64
		if _, err := fmt.Sscan(line, &what, &value); err != nil {
			t.Error(err)
		}
		if what == "latency" || what == "work" {
			if value < 0 || math.IsNaN(value) {
				t.Error(line)
			}
			line = what
		}
		counts[line]++
	}
	n := counts["adds +1"]
	for _, line := range []string{"depth +1", "depth -1", "latency", "work"} {
		equal(t, line, counts[line], n)
	}
}
