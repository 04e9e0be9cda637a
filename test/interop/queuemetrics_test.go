package interop

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/workqueue"
)

// controller-runtime sets client-go's provider of metrics when it is imported. A queue
// of ours with a name has all of its metrics, with values.
func TestControllerRuntimesProviderGetsAllMetricsOfAQueue(t *testing.T) {
	const name = "measured"
	synctest.Test(t, func(t *testing.T) {
		q := workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: name},
		)
		defer func() {
			q.ShutDown()
			testbubble.Pass(time.Second)
		}()
		for _, item := range []string{"a", "b", "c"} {
			q.Add(item)
		}
		testbubble.Pass(time.Second)
		for range 2 { // one is done and fails, one goes on
			if _, stopped := q.Get(); stopped {
				t.Fatal("stopped")
			}
			testbubble.Pass(2 * time.Second)
		}
		q.Done("a")
		q.AddRateLimited("a")
		testbubble.Elapse(3 * time.Second)
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				for _, l := range m.GetLabel() {
					if l.GetName() != "name" || l.GetValue() != name {
						continue
					}
					v := m.GetGauge().GetValue() + m.GetCounter().GetValue()
					if h := m.GetHistogram(); h != nil {
						v = h.GetSampleSum()
					}
					got[strings.TrimPrefix(f.GetName(), "workqueue_")] += v
				}
			}
		}
		// a waited for 1 s, b for 3 s; a took 4 s; b has been at it for 5 s.
		for what, want := range map[string]float64{
			"depth": 2, "adds_total": 4, "retries_total": 1, "queue_duration_seconds": 4, "work_duration_seconds": 4,
			"unfinished_work_seconds": 5, "longest_running_processor_seconds": 5,
		} {
			if v, ok := got[what]; !ok || v < want-0.6 || v > want+0.1 {
				t.Errorf("%s is %v, want %v; all: %v", what, v, want, got)
			}
		}
	})
}
