package cache

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
)

// figures is every provider of metrics: it keeps what it is told by the name
// of the metric and of who has it.
type figures struct {
	mu   sync.Mutex
	told map[string][]float64 // guarded by mu
}

type figure struct {
	of   *figures
	name string
}

func (f figure) Inc()              { f.Observe(1) }
func (f figure) Set(v float64)     { f.Observe(v) }
func (f figure) Observe(v float64) { f.of.add(f.name, v) }

func (f *figures) add(name string, v float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told == nil {
		f.told = map[string][]float64{}
	}
	f.told[name] = append(f.told[name], v)
}

func (f *figures) of(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprint(f.told[name])
}

func (f *figures) NewListsMetric(n string) CounterMetric { return figure{f, n + " lists"} }
func (f *figures) NewListDurationMetric(n string) SummaryMetric {
	return figure{f, n + " list duration"}
}
func (f *figures) NewItemsInListMetric(n string) SummaryMetric {
	return figure{f, n + " items in list"}
}
func (f *figures) NewWatchesMetric(n string) CounterMetric { return figure{f, n + " watches"} }
func (f *figures) NewShortWatchesMetric(n string) CounterMetric {
	return figure{f, n + " short watches"}
}
func (f *figures) NewWatchDurationMetric(n string) SummaryMetric {
	return figure{f, n + " watch duration"}
}
func (f *figures) NewItemsInWatchMetric(n string) SummaryMetric {
	return figure{f, n + " items in watch"}
}
func (f *figures) NewLastResourceVersionMetric(n string) GaugeMetric {
	return figure{f, n + " version"}
}

func (f *figures) NewQueuedItemMetric(InformerNameAndResource) GaugeMetric {
	return figure{f, "queued"}
}
func (f *figures) NewProcessingLatencyMetric(InformerNameAndResource) HistogramMetric {
	return figure{f, "latency"}
}
func (f *figures) NewStoreResourceVersionMetric(InformerNameAndResource) GaugeMetric {
	return figure{f, "store version"}
}

// The provider is the process's, so there is this one test of it.
func TestReflectorsTellTheirMetrics(t *testing.T) {
	silenced(t)
	f := &figures{}
	SetReflectorMetricsProvider(f)
	SetReflectorMetricsProvider(&figures{}) // does not count
	synctest.Test(t, func(t *testing.T) {
		s := &script{lists: []func() (runtime.Object, error){listFails(errBoom), lists("5", pod("a", "3"), pod("b", "4")), lists("6", pod("a", "3"), pod("b", "4"), pod("c", "6"))}}
		r := NewNamedReflector("me", s, &corev1.Pod{}, &taker{}, 0)
		stop := start(r.RunWithContext)
		testbubble.Elapse(time.Minute)
		s.watched().Add(pod("c", "6"))
		testbubble.Elapse(10 * time.Second)
		s.watched().Stop()
		synctest.Wait()
		s.watched().Stop() // at once
		testbubble.Elapse(time.Minute)
		for name, figures := range map[string]string{
			"lists": "[1 1 1]", "list duration": "[0 0]", "items in list": "[2 3]",
			"watches": "[1 1 1]", "items in watch": "[1 0]", "short watches": "[1]", "version": "[5 6]",
		} {
			want(t, name, f.of("me "+name), figures)
		}
		stop()
	})
	synctest.Test(t, func(t *testing.T) {
		s := &script{lists: []func() (runtime.Object, error){lists("7", pod("a", "3"))}}
		informer := NewSharedIndexInformer(s, &corev1.Pod{}, 0, Indexers{})
		stop := start(informer.RunWithContext)
		testbubble.Elapse(time.Second)
		s.watched().Add(pod("c", "8"))
		testbubble.Elapse(time.Second)
		name := informer.(*sharedInformer).name
		want(t, "version of an informer", f.of(name+" version"), "[7 8]")
		want(t, "lists of an informer", f.of(name+" lists"), "[1]")
		stop()
	})
}

func TestAnInformerTellsWhatItIsBroughtAndItsStoresVersion(t *testing.T) {
	silenced(t)
	for name, run := range map[string]func(ListerWatcher, InformerNameAndResource, *figures) func(context.Context){
		"with a controller": func(lw ListerWatcher, id InformerNameAndResource, f *figures) func(context.Context) {
			_, c := NewInformerWithOptions(InformerOptions{
				ListerWatcher: lw, ObjectType: &corev1.Pod{}, Handler: ResourceEventHandlerFuncs{}, Identifier: id, InformerMetricsProvider: f,
			})
			return c.RunWithContext
		},
		"shared": func(lw ListerWatcher, id InformerNameAndResource, f *figures) func(context.Context) {
			return NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, SharedIndexInformerOptions{Identifier: id, InformerMetricsProvider: f}).RunWithContext
		},
	} {
		t.Run(name, func(t *testing.T) { informerTells(t, run) })
	}
}

// informerTells has an informer that run makes tell its metrics, and nothing without a name.
func informerTells(t *testing.T, run func(ListerWatcher, InformerNameAndResource, *figures) func(context.Context)) {
	synctest.Test(t, func(t *testing.T) {
		n, err := NewInformerName("metrics of an informer")
		if err != nil {
			t.Fatal(err)
		}
		defer n.Release()
		f := &figures{}
		s := &script{lists: []func() (runtime.Object, error){listFails(errBoom), lists("5", pod("a", "3"), pod("b", "4")), lists("6", pod("a", "3"), pod("b", "4"), pod("c", "6"))}}
		named := run(s, n.WithResource(schema.GroupVersionResource{Resource: "pods"}), f)
		unnamed := &figures{}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { named(ctx) })
		running.Go(func() {
			run(&script{lists: []func() (runtime.Object, error){lists("5", pod("a", "3"))}}, InformerNameAndResource{}, unnamed)(ctx)
		})
		testbubble.Elapse(time.Minute)
		want(t, "queued by a list", f.of("queued"), "[2 0]")
		want(t, "version of a list", f.of("store version"), "[5]")
		s.watched().Add(pod("c", "6"))
		testbubble.Elapse(time.Second)
		want(t, "queued by an event", f.of("queued"), "[2 0 1 0]")
		want(t, "version of an event", f.of("store version"), "[5 6]")
		want(t, "latencies, in which no time passes here", f.of("latency"), "[0 0]")
		want(t, "what one without a name tells", fmt.Sprint(unnamed.told), "map[]")
		cancel()
		running.Wait()
	})
}

// sampled is a source that brings nothing but samples.
type sampled struct{ source.Source[any] }

func (sampled) List(_ context.Context, _ source.ListRequest[any], yield func(source.Page[any]) error) error {
	return yield(source.Page[any]{ResourceVersion: "7"})
}

func TestASampleIsBroughtThroughWhatMeasuresAndIsNoneOfIt(t *testing.T) {
	f := &figures{}
	m := &meter{queue: queueMetrics{queued: figure{f, "queued"}, latency: figure{f, "latency"}}}
	got := ""
	src := &itemSource{Source: sampled{}, meter: m}
	err := src.List(t.Context(), source.ListRequest[any]{Exact: true}, func(p source.Page[any]) error {
		got = p.ResourceVersion
		return nil
	})
	if err != nil || got != "7" {
		t.Errorf("a sample of version %q, %v", got, err)
	}
	want(t, "queued", f.of("queued"), "[]")
}

func TestARealFIFOTellsItsMetrics(t *testing.T) {
	n, err := NewInformerName("metrics of a queue")
	if err != nil {
		t.Fatal(err)
	}
	defer n.Release()
	f := &figures{}
	q := NewRealFIFOWithOptions(RealFIFOOptions{
		AtomicEvents: true, MetricsProvider: f, KeyFunction: thingKey,
		Identifier: n.WithResource(schema.GroupVersionResource{Resource: "things"}),
	})
	want(t, "name", q.Name(), "metrics of a queue")
	_ = q.Add(thing{"a", 1})
	_ = q.Add(thing{"b", 2})
	_ = Pop(q)
	want(t, "queued", f.of("queued"), "[1 2 1]")
	if f.of("latency") == "[]" {
		t.Error("no latency")
	}
	other := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, MetricsProvider: f, KeyFunction: thingKey})
	_ = other.Add(thing{"a", 1})
	want(t, "queued where nobody is named", f.of("queued"), "[1 2 1]")
}
