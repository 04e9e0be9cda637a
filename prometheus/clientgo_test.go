package prometheus

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/status"
)

func newQueue(c *ClientGo, name string) workqueue.TypedRateLimitingInterface[string] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(workqueue.DefaultTypedControllerRateLimiter[string](),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: name, MetricsProvider: c})
}

// compare compares what c serves under some names.
func compare(t *testing.T, c prometheus.Collector, want string, names ...string) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
}

func TestWorkQueuesReportUnderTheNamesThatDashboardsQuery(t *testing.T) {
	synctest.Test(t, workQueuesReport)
}

func workQueuesReport(t *testing.T) {
	c := NewClientGo(nil)
	q, other := newQueue(c, "pods"), newQueue(c, "pods")
	defer func() {
		q.ShutDown()
		other.ShutDown()
		testclock.Pass(time.Second) // a goroutine of client-go 0.34's looks twice a second
	}()
	for _, key := range []string{"a", "b", "c"} {
		q.Add(key)
		other.Add(key)
	}
	key, _ := q.Get()
	q.AddRateLimited("d")
	// Two queues of one name are one series, the sum.
	compare(t, c, `
# HELP workqueue_adds_total Total number of adds handled by workqueue.
# TYPE workqueue_adds_total counter
workqueue_adds_total{name="pods"} 6
# HELP workqueue_depth Current depth of workqueue.
# TYPE workqueue_depth gauge
workqueue_depth{name="pods"} 5
`, "workqueue_adds_total", "workqueue_depth")
	testclock.Pass(time.Millisecond) // d waits for longer
	q.Done(key)
	for _, f := range gather(t, c) {
		h := f.Metric[0].Histogram
		if f.GetName() == "workqueue_work_duration_seconds" && (h.GetSampleCount() != 1 || h.GetSampleSum() <= 0) {
			t.Errorf("%v", h)
		}
		if f.GetName() == "workqueue_retries_total" && f.Metric[0].Counter.GetValue() != 1 {
			t.Errorf("%v", f)
		}
	}
}

// The names in k8s.io/component-base/metrics/prometheus and in controller-runtime.
func TestNamesAreThoseOfComponentBase(t *testing.T) {
	want := map[string][]string{
		"workqueue_": {"depth", "adds_total", "queue_duration_seconds", "work_duration_seconds",
			"unfinished_work_seconds", "longest_running_processor_seconds", "retries_total"},
		"reflector_": {"lists_total", "list_duration_seconds", "items_per_list", "watches_total",
			"short_watches_total", "watch_duration_seconds", "items_per_watch", "last_resource_version"},
		"informer_": {"queued_items", "processing_latency_seconds", "store_resource_version"},
	}
	var names, got []string
	for prefix, of := range want {
		for _, name := range of {
			names = append(names, prefix+name)
		}
	}
	for _, f := range newClientGoFamilies().served {
		got = append(got, f.name)
	}
	slices.Sort(names)
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("%q\nwant %q", got, names)
	}
}

func TestReflectorsReport(t *testing.T) {
	var p cache.MetricsProvider = NewClientGo(nil)
	lists, took, version := p.NewListsMetric("pods"), p.NewListDurationMetric("pods"), p.NewLastResourceVersionMetric("pods")
	again := p.NewLastResourceVersionMetric("pods")
	lists.Inc()
	took.Observe(2)
	took.Observe(3)
	version.Set(7)
	again.Set(5)
	compare(t, p.(*ClientGo), `
# HELP reflector_last_resource_version Last resource version seen for the reflectors.
# TYPE reflector_last_resource_version gauge
reflector_last_resource_version{name="pods"} 7
# HELP reflector_list_duration_seconds How long an API list takes to return and decode for the reflectors.
# TYPE reflector_list_duration_seconds summary
reflector_list_duration_seconds_sum{name="pods"} 5
reflector_list_duration_seconds_count{name="pods"} 2
# HELP reflector_lists_total Total number of API lists done by the reflectors.
# TYPE reflector_lists_total counter
reflector_lists_total{name="pods"} 1
`, "reflector_lists_total", "reflector_list_duration_seconds", "reflector_last_resource_version")
	runtime.KeepAlive([]any{lists, took, version, again})
}

// id is an InformerID.
type id struct{ reserved bool }

func (*id) Name() string { return "shared" }
func (*id) GroupVersionResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}
func (i *id) Reserved() bool { return i.reserved }

func TestAnInformerReportsAsLongAsItsNameIsReserved(t *testing.T) {
	c := NewClientGo(nil)
	p := InformerMetrics[*id, Observer](c)
	name := &id{reserved: true}
	queued, latency, version := p.NewQueuedItemMetric(name), p.NewProcessingLatencyMetric(name), p.NewStoreResourceVersionMetric(name)
	queued.Set(3)
	latency.Observe(0.1)
	version.Set(12)
	compare(t, c, `
# HELP informer_queued_items Number of items currently queued in the FIFO.
# TYPE informer_queued_items gauge
informer_queued_items{group="apps",name="shared",resource="deployments",version="v1"} 3
`, "informer_queued_items")
	if n := len(gather(t, c)); n != 3 {
		t.Errorf("%d families", n)
	}
	name.reserved = false
	if families := gather(t, c); len(families) != 0 {
		t.Errorf("still there: %v", families)
	}
	runtime.KeepAlive([]any{queued, latency, version})
}

func TestAQueueThatHasEndedHasNoSeries(t *testing.T) {
	c := NewClientGo(nil)
	kept := newQueue(c, "kept")
	defer kept.ShutDown()
	for range 1000 {
		q := newQueue(c, "ends")
		q.Add("key")
		q.ShutDown()
	}
	// Goroutines of client-go's queues end some time after ShutDown.
	gone := func() bool {
		runtime.GC()
		for _, f := range gather(t, c) {
			if len(f.Metric) != 1 || f.Metric[0].Label[0].GetValue() != "kept" {
				return false
			}
		}
		return true
	}
	deadline := time.Now().Add(time.Minute)
	for !gone() {
		if time.Now().After(deadline) {
			t.Fatal("series are left")
		}
		runtime.Gosched()
	}
	c.queueDepth.mu.Lock()
	defer c.queueDepth.mu.Unlock()
	if n := len(c.queueDepth.series); n != 1 {
		t.Errorf("%d series are kept", n)
	}
}

func TestWithoutScrapesNothingGrows(t *testing.T) {
	var l live[value]
	key := seriesKey{"ends"}
	most := 0
	for i := range 100_000 {
		l.add(key, nil)
		if i%1000 == 0 {
			runtime.GC() // of what was added before, nothing is left
		}
		most = max(most, len(l.series[key]))
	}
	// Those since the last collection of garbage, and as many again until they are
	// looked at.
	if most > 2*1000+100 {
		t.Errorf("%d metrics were kept", most)
	}
}

func TestControllersAndInformersOfASetAreServedUnderTheseNamesToo(t *testing.T) {
	set := kinglet.NewSet()
	set.ObserveController(fullController("rollout"))
	set.ObserveController(fullController("reported"))
	inf := healthy("pods")
	inf.status.ResourceVersion = "1234567890123456789"
	set.Observe(inf)
	c := NewClientGo(set)
	q := newQueue(c, "reported")
	defer q.ShutDown()
	compare(t, c, `
# HELP informer_store_resource_version The 15 least significant digits of the resource version of the store.
# TYPE informer_store_resource_version gauge
informer_store_resource_version{group="",name="pods",resource="pods",version="v1"} 567890123456789
# HELP workqueue_depth Current depth of workqueue.
# TYPE workqueue_depth gauge
workqueue_depth{name="reported"} 0
workqueue_depth{name="rollout"} 1
# HELP workqueue_retries_total Total number of retries handled by workqueue.
# TYPE workqueue_retries_total counter
workqueue_retries_total{name="reported"} 0
workqueue_retries_total{name="rollout"} 13
`, "informer_store_resource_version", "workqueue_depth", "workqueue_retries_total")
}

func TestUnfinishedWorkIsThatOfTheKeysThatRun(t *testing.T) {
	all, longest := running(start.Add(10*time.Second), status.ControllerDetails{Running: []status.KeyStatus{
		{Since: start}, {Since: start.Add(7 * time.Second)}, {Since: start.Add(time.Minute)},
	}})
	if all != 13 || longest != 10 {
		t.Errorf("%v and %v", all, longest)
	}
}
