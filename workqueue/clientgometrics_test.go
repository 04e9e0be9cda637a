package workqueue

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	kw "k8s.io/client-go/util/workqueue"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// withoutProvider is set in a process in which client-go has no provider.
const withoutProvider = "KINGLET_WORKQUEUE_NO_PROVIDER"

// clientGos is the provider that client-go's package has in these tests.
var clientGos = newRecorder()

func TestMain(m *testing.M) {
	if os.Getenv(withoutProvider) == "" {
		kw.SetProvider(clientGos)
	}
	goleak.VerifyTestMain(m)
}

// recorder is a provider of metrics that records their changes.
type recorder struct {
	mu    sync.Mutex
	lines map[string][]string // guarded by mu; by queue
}

func newRecorder() *recorder { return &recorder{lines: map[string][]string{}} }

func (r *recorder) take(queue string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines[queue]
	delete(r.lines, queue)
	return lines
}

type recorded struct {
	r           *recorder
	queue, what string
}

func (m recorded) note(value any) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.lines[m.queue] = append(m.r.lines[m.queue], fmt.Sprint(m.what, " ", value))
}

func (m recorded) Inc()              { m.note("+1") }
func (m recorded) Dec()              { m.note("-1") }
func (m recorded) Set(f float64)     { m.note(f) }
func (m recorded) Observe(f float64) { m.note(f) }

func (r *recorder) NewDepthMetric(queue string) GaugeMetric     { return recorded{r, queue, "depth"} }
func (r *recorder) NewAddsMetric(queue string) CounterMetric    { return recorded{r, queue, "adds"} }
func (r *recorder) NewRetriesMetric(queue string) CounterMetric { return recorded{r, queue, "retries"} }
func (r *recorder) NewLatencyMetric(queue string) HistogramMetric {
	return recorded{r, queue, "latency"}
}

func (r *recorder) NewWorkDurationMetric(queue string) HistogramMetric {
	return recorded{r, queue, "work"}
}

func (r *recorder) NewUnfinishedWorkSecondsMetric(queue string) SettableGaugeMetric {
	return recorded{r, queue, "unfinished"}
}

func (r *recorder) NewLongestRunningProcessorSecondsMetric(queue string) SettableGaugeMetric {
	return recorded{r, queue, "longest"}
}

// withoutSetProvider runs f as in a process in which SetProvider was not called.
func withoutSetProvider(f func()) {
	defer provider.Store(provider.Swap(nil))
	f()
}

// processProvider returns the provider given to SetProvider, which can be set only
// once, while tests may run twice.
var processProvider = sync.OnceValue(func() *recorder {
	r := newRecorder()
	SetProvider(r)
	return r
})

func TestOnlyTheFirstProviderThatIsSetCountsAndClientGosDoesNot(t *testing.T) {
	first, second := processProvider(), newRecorder()
	SetProvider(second)
	q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{Name: "set"})
	q.AddAfter("a", 0)
	q.ShutDown()
	if got, want := first.take("set"), []string{"retries +1", "adds +1", "depth +1"}; !slices.Equal(got, want) {
		t.Errorf("the first was told %q, want %q", got, want)
	}
	if got := slices.Concat(second.take("set"), clientGos.take("set")); len(got) > 0 {
		t.Errorf("the others were told %q", got)
	}
}

func TestTheProviderOfClientGosPackageIsToldTheSameAsOneOfOurs(t *testing.T) {
	r := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	synctest.Test(t, func(t *testing.T) {
		own := newRecorder()
		var queues []TypedRateLimitingInterface[string]
		withoutSetProvider(func() {
			for _, p := range []MetricsProvider{nil, own} {
				queues = append(queues, NewTypedRateLimitingQueueWithConfig(
					NewTypedItemExponentialFailureRateLimiter[string](250*time.Millisecond, 4*time.Second),
					TypedRateLimitingQueueConfig[string]{Name: "same", MetricsProvider: p},
				))
			}
		})
		processing := map[string]bool{}
		for i := range 5000 {
			item := fmt.Sprint(r.IntN(10))
			op, d := r.IntN(100), time.Duration(r.IntN(8))*125*time.Millisecond
			for k, q := range queues {
				switch {
				case i > 4900:
					q.ShutDown()
					q.Done(item)
				case op < 30:
					q.Add(item)
				case op < 40:
					q.AddAfter(item, d)
				case op < 45:
					q.AddRateLimited(item)
				case op < 70 && q.Len() > 0:
					got, _ := q.Get()
					processing[got] = true
				case op < 90 && (processing[item] || k == 1):
					q.Done(item)
					delete(processing, item)
				case op >= 90 && k == 0:
					testbubble.Pass(d)
				}
				synctest.Wait()
			}
			got, want := clientGos.take("same"), own.take("same")
			// Items that are due at the same moment, and their metrics, have no order.
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("operation %d: client-go's provider was told %q, ours %q", i, got, want)
			}
		}
		// A queue of client-go 0.34 ends with its next tick.
		testbubble.Pass(time.Second)
	})
}

func TestWithoutAProviderAQueueMeasuresNothing(t *testing.T) {
	if os.Getenv(withoutProvider) != "" {
		q := NewTypedWithConfig(TypedQueueConfig[string]{Name: "named"})
		if q.metrics != nil {
			t.Errorf("its metrics are a %T", q.metrics)
		}
		if r := newRetries(nil, "named"); r == nil {
			t.Error("retries are not counted")
		} else {
			r.Inc()
		}
		q.ShutDown()
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=60s")
	child.Env = append(os.Environ(), withoutProvider+"=yes")
	if output, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
