package prometheus

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"

	"github.com/kinglet-go/kinglet"
	core "github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// everything has all options.
var everything = Options{Detailed: true}

// gather returns what a registry makes of c. It is a pedantic one: it compares each series
// with its description.
func gather(t testing.TB, c prometheus.Collector) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// served returns the text of what a registry makes of c.
func served(t testing.TB, c *Collector) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, f := range gather(t, c) {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func fullSet() *kinglet.Set {
	set := setOf(full("deployments"), healthy("pods"))
	set.ObserveController(fullController("rollout"))
	return set
}

func TestMetricsFollowTheConventions(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(fullSet(), everything))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestEveryMetricIsServedForAnInformerOfWhichEverythingIsKnown(t *testing.T) {
	c := NewCollector(fullSet(), everything)
	families := gather(t, c)
	for _, f := range c.served {
		// Problems are tested beside what they are made of.
		if !slices.ContainsFunc(families, func(got *dto.MetricFamily) bool { return got.GetName() == f.name }) {
			t.Errorf("%s is never served", f.name)
		}
	}
}

func TestOptionsDecideWhichMetricsAreServed(t *testing.T) {
	all := NewCollector(fullSet(), everything).served
	for _, opts := range []Options{{}, everything} {
		c := NewCollector(fullSet(), opts)
		var want, got []string
		for _, f := range all {
			if !f.detailed || opts.Detailed {
				want = append(want, f.name)
			}
		}
		for _, f := range gather(t, c) {
			got = append(got, f.GetName())
		}
		slices.Sort(want)
		for _, name := range slices.Concat(want, got) {
			if slices.Contains(want, name) != slices.Contains(got, name) {
				t.Errorf("%+v: %s is served: %v", opts, name, slices.Contains(got, name))
			}
		}
	}
}

func TestNoLabelHasANamespaceAKeyOrTheTextOfAnError(t *testing.T) {
	text := served(t, NewCollector(fullSet(), everything))
	if i := bytes.Index(text, []byte(forbidden)); i >= 0 {
		t.Errorf("…%s…", text[max(0, i-200):i+len(forbidden)])
	}
	if !bytes.Contains(text, []byte(`reason="intercept"`)) {
		t.Error("the informer under test is not the one that was meant")
	}
}

func TestInformersHandlersAndControllersOfOneNameAreNumbered(t *testing.T) {
	a, b, c, d := full("pods"), full("pods"), full("pods#2"), full("pods")
	a.status.Handlers[1].Name = "first"
	set := setOf(a, b, c, d)
	set.ObserveController(fullController("same"))
	set.ObserveController(fullController("same"))
	col := NewCollector(set, everything)
	text := string(served(t, col))
	for _, want := range []string{
		`kinglet_informer_objects{group="apps",informer="pods",`, `kinglet_informer_objects{group="apps",informer="pods#2",`,
		`kinglet_informer_objects{group="apps",informer="pods#2#2",`, `kinglet_informer_objects{group="apps",informer="pods#3",`,
		`handler="first#2",informer="pods"`, `{controller="same#2"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// Ten thousand informers of one name are numbered in time that grows with their number,
// not with its square.
func TestManyOfOneNameAreNumbered(t *testing.T) {
	var n names
	seen := map[string]bool{}
	for range 100_000 {
		seen[n.unique("same")] = true
	}
	if len(seen) != 100_000 {
		t.Errorf("%d names of 100000", len(seen))
	}
}

func FuzzNamesAndErrorsDoNotBreakTheExposition(f *testing.F) {
	f.Add("pods", "a\xffb", "quote\"back\\slash\nline", "x\x00y", "a\xfeb")
	f.Add("", "", "", "", "")
	f.Add("x#2", "x", "x", "x#2", "{le=\"1\"} 5\n# HELP")
	f.Fuzz(func(t *testing.T, a, b, c, d, e string) {
		i, j := healthy(a), healthy(b)
		i.status.Resource.Group, i.status.Resource.Version, i.status.Resource.Resource = c, d, e
		i.status.Handlers = append(i.status.Handlers, status.Handler{Name: a}, status.Handler{Name: d})
		i.status.ResourceVersion = c
		i.status.Phase, i.status.LastError = reflector.BackingOff, errors.New(e)
		i.status.ReadPath.Why = errors.New(b)
		i.details.Indexes = []status.Index{{Name: e}, {Name: c}}
		ctrl := &fixedController{status.Controller{Name: e, GateReason: a}}
		set := setOf(i, j)
		set.ObserveController(ctrl)
		set.ObserveController(&fixedController{status.Controller{Name: d}})
		served(t, NewCollector(set, everything))
		gather(t, NewClientGo(set))
	})
}

func TestAHistogramHasTheBucketsOfANaiveOne(t *testing.T) {
	var bounds []float64
	for i := range core.Buckets - 1 {
		bound, _ := core.Bound(i)
		bounds = append(bounds, bound.Seconds())
	}
	naive := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "naive", Buckets: bounds})
	var h core.Histogram
	for d := time.Duration(1); d < 1000*time.Second; d = d*5/4 + 1 {
		naive.Observe(d.Seconds())
		h.Observe(d)
	}
	s := h.Snapshot()
	out := make(chan prometheus.Metric, 1)
	scraped := &scrape{out: out}
	series{scraped, &family{desc: prometheus.NewDesc("ours", "", nil, nil)}, nil}.histogram(&s)
	var got, want dto.Metric
	if err := naive.Write(&want); err != nil {
		t.Fatal(err)
	}
	if err := (<-out).Write(&got); err != nil {
		t.Fatal(err)
	}
	want.Histogram.CreatedTimestamp = nil
	if d := got.Histogram.GetSampleSum() - want.Histogram.GetSampleSum(); d > 1e-6 || d < -1e-6 {
		t.Errorf("the sum is %v, want %v", got.Histogram.GetSampleSum(), want.Histogram.GetSampleSum())
	}
	got.Histogram.SampleSum, want.Histogram.SampleSum = nil, nil
	if !proto.Equal(got.Histogram, want.Histogram) {
		t.Errorf("%v\nwant %v", got.Histogram, want.Histogram)
	}
}
