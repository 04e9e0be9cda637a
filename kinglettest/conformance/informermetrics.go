package conformance

import (
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kc "k8s.io/client-go/tools/cache"
)

// figures is a provider of an informer's metrics that keeps their values.
type figures struct {
	mu   sync.Mutex
	told map[string][]float64 // guarded by mu
}

// figure is one of its metrics.
type figure struct {
	of   *figures
	name string
}

func (f figure) Set(v float64) { f.Observe(v) }

func (f figure) Observe(v float64) {
	f.of.mu.Lock()
	defer f.of.mu.Unlock()
	f.of.told[f.name] = append(f.of.told[f.name], v)
}

// last returns the last value of a metric, and how often it was set.
func (f *figures) last(name string) (v float64, times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	told := f.told[name]
	if len(told) == 0 {
		return -1, 0
	}
	return told[len(told)-1], len(told)
}

func (f *figures) NewQueuedItemMetric(kc.InformerNameAndResource) kc.GaugeMetric {
	return figure{f, "queued"}
}

func (f *figures) NewProcessingLatencyMetric(kc.InformerNameAndResource) kc.HistogramMetric {
	return figure{f, "latency"}
}

func (f *figures) NewStoreResourceVersionMetric(kc.InformerNameAndResource) kc.GaugeMetric {
	return figure{f, "version"}
}

// measuredInformer makes an informer with a unique name and the metrics of f.
func measuredInformer(t *testing.T, im Implementation, lw kc.ListerWatcher, f *figures) kc.SharedIndexInformer {
	t.Helper()
	name := value(kc.NewInformerName("metrics of an informer"))(t)
	t.Cleanup(name.Release)
	return im.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, kc.SharedIndexInformerOptions{
		Identifier:              name.WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}),
		InformerMetricsProvider: f,
	})
}

func informerMetrics(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	o.put(pod("ns", "b"))
	f := &figures{told: map[string][]float64{}}
	informer := measuredInformer(t, im, o, f)
	handle(t, informer)
	running(t, informer.RunWithContext)
	listed := shows(t, f, 102)

	o.put(pod("ns", "c"))
	o.remove("ns", "a")
	synctest.Wait()
	if changed := shows(t, f, 104); changed <= listed {
		t.Errorf("%d latencies after a list, %d after two changes more", listed, changed)
	}
	must(t, informer.GetStore().Add(pod("ns", "own", at("90"))))
	if v, _ := f.last("version"); v != 90 {
		t.Errorf("version %v after a direct write of one of 90", v)
	}
}

// shows checks that f has this version of the store and an empty queue, and returns the
// number of latencies.
func shows(t *testing.T, f *figures, version float64) (latencies int) {
	t.Helper()
	if v, _ := f.last("version"); v != version {
		t.Errorf("version of the store is shown as %v, want %v", v, version)
	}
	if v, times := f.last("queued"); v != 0 || times == 0 {
		t.Errorf("%v are shown as queued, the last of %d times", v, times)
	}
	latency, times := f.last("latency")
	if times == 0 || latency < 0 {
		t.Errorf("latency is shown as %v, %d times", latency, times)
	}
	return times
}

func informerUnnamedMetrics(t *testing.T, im Implementation) {
	f := &figures{told: map[string][]float64{}}
	o := newOrigin(pod("ns", "a"))
	informer := im.NewSharedIndexInformerWithOptions(o, &corev1.Pod{}, kc.SharedIndexInformerOptions{InformerMetricsProvider: f})
	running(t, informer.RunWithContext)
	for _, name := range []string{"version", "queued", "latency"} {
		if _, times := f.last(name); times > 0 {
			t.Errorf("%s is shown, of an informer without a name", name)
		}
	}
}
