package prometheus

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/status"
)

// compare compares what c serves under some names.
func compare(t *testing.T, c prometheus.Collector, want string, names ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestControllersAndInformersHaveTheNamesThatDashboardsQuery(t *testing.T) {
	set := setOf(full("pods"), full("pods"))
	set.ObserveController(fullController("rollout"))
	set.ObserveController(uncomparable{fullController("rollout"), nil})
	c := NewClientGo(set)
	// Two controllers of one name are one series, the sum.
	compare(t, c, `
# HELP workqueue_adds_total Total number of adds handled by workqueue.
# TYPE workqueue_adds_total counter
workqueue_adds_total{name="rollout"} 24
# HELP workqueue_depth Current depth of workqueue.
# TYPE workqueue_depth gauge
workqueue_depth{name="rollout"} 4
# HELP workqueue_unfinished_work_seconds How many seconds of work has been done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads.
# TYPE workqueue_unfinished_work_seconds gauge
workqueue_unfinished_work_seconds{name="rollout"} 180
# HELP informer_store_resource_version The 15 least significant digits of the resource version of the store.
# TYPE informer_store_resource_version gauge
informer_store_resource_version{group="apps",name="pods",resource="deployments",version="v1"} 12345
informer_store_resource_version{group="apps",name="pods#2",resource="deployments",version="v1"} 12345
`, "workqueue_adds_total", "workqueue_depth", "workqueue_unfinished_work_seconds", "informer_store_resource_version")
	// The names are those of k8s.io/component-base/metrics/prometheus and of
	// controller-runtime.
	want := []string{
		"informer_store_resource_version", "workqueue_adds_total", "workqueue_depth",
		"workqueue_longest_running_processor_seconds", "workqueue_queue_duration_seconds",
		"workqueue_retries_total", "workqueue_unfinished_work_seconds", "workqueue_work_duration_seconds",
	}
	var got []string
	for _, f := range gather(t, c) {
		got = append(got, f.GetName())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

type uncomparable struct {
	*fixedController
	_ []int
}

// Controllers of few names come, count and go; what is served of a name is all that was
// ever counted under it, and so never goes back, which a rate would take for a restart.
func TestCountersOfAControllersNameNeverGoBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	set := kinglet.NewSet()
	c := NewClientGo(set)
	counted := map[string]uint64{}
	type member struct {
		*fixedController
		remove func()
	}
	var in []member
	for range 300 {
		switch n := rng.IntN(4); {
		case n == 0:
			f := fullController(string(rune('a' + rng.IntN(3))))
			f.status.Adds, f.status.Runs = 0, status.Histogram{}
			in = append(in, member{f, set.ObserveController(f)})
		case n == 1 && len(in) > 0:
			i := rng.IntN(len(in))
			in[i].remove()
			in = slices.Delete(in, i, i+1)
		case len(in) > 0:
			f := in[rng.IntN(len(in))]
			f.status.Adds++
			f.status.Runs.Counts[3]++
			f.status.Runs.Sum += time.Second
			counted[f.status.Name]++
		}
		got := map[string]uint64{}
		for _, f := range gather(t, c) {
			for _, m := range f.Metric {
				switch f.GetName() {
				case "workqueue_adds_total":
					got[nameOf(m)] = uint64(m.Counter.GetValue())
				case "workqueue_work_duration_seconds":
					if n := m.Histogram.GetSampleCount(); n != counted[nameOf(m)] || m.Histogram.GetSampleSum() != float64(n) {
						t.Fatalf("%s: %d runs of %v s, want %d", nameOf(m), n, m.Histogram.GetSampleSum(), counted[nameOf(m)])
					}
				}
			}
		}
		for name, n := range counted {
			if got[name] != n {
				t.Fatalf("%s: %d, want %d", name, got[name], n)
			}
		}
	}
}

func nameOf(m *dto.Metric) string { return m.Label[0].GetValue() }
