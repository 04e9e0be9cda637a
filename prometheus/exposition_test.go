package prometheus

import (
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"reflect"
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

// served returns what c answers to an HTTP request.
func served(c *Collector) []byte {
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.Bytes()
}

// read parses the text format.
func read(t testing.TB, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	decoder := expfmt.NewDecoder(bytes.NewReader(text), expfmt.NewFormat(expfmt.TypeTextPlain))
	out := map[string]*dto.MetricFamily{}
	for {
		f := &dto.MetricFamily{}
		if err := decoder.Decode(f); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		out[f.GetName()] = f
	}
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
	for _, f := range c.families.served {
		// Problems are tested beside what they are made of.
		if !slices.ContainsFunc(families, func(got *dto.MetricFamily) bool { return got.GetName() == f.name }) {
			t.Errorf("%s is never served", f.name)
		}
	}
}

func TestOptionsDecideWhichMetricsAreServed(t *testing.T) {
	all := NewCollector(fullSet(), everything).families.served
	for _, opts := range []Options{{}, everything} {
		c := NewCollector(fullSet(), opts)
		var want, got []string
		for _, f := range all {
			if f.tier == base || f.tier == detailed && opts.Detailed {
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

// The registry's exposition is the naive twin of ServeHTTP's.
func TestTheHandlerServesWhatARegistryServes(t *testing.T) {
	for _, opts := range []Options{{}, everything} {
		c := NewCollector(fullSet(), opts)
		sameExposition(t, c)
	}
}

func sameExposition(t *testing.T, c *Collector) {
	t.Helper()
	got := read(t, served(c))
	want := gather(t, c)
	if len(got) != len(want) {
		t.Errorf("%d families, want %d", len(got), len(want))
	}
	for _, w := range want {
		g := got[w.GetName()]
		if g.GetHelp() != w.GetHelp() || g.GetType() != w.GetType() {
			t.Errorf("%s: %q, %v", w.GetName(), g.GetHelp(), g.GetType())
		}
		if diff := difference(g.GetMetric(), w.GetMetric()); diff != "" {
			t.Errorf("%s: %s", w.GetName(), diff)
		}
	}
}

// difference compares series in any order; labels are in any order, too.
func difference(a, b []*dto.Metric) string {
	text := func(ms []*dto.Metric) []string {
		var out []string
		for _, m := range ms {
			m := proto.Clone(m).(*dto.Metric)
			slices.SortFunc(m.Label, func(x, y *dto.LabelPair) int { return strings.Compare(x.GetName(), y.GetName()) })
			if h := m.Histogram; h != nil {
				// The text format has the bucket without a bound as well.
				h.Bucket = slices.DeleteFunc(h.Bucket, func(b *dto.Bucket) bool { return b.GetUpperBound() > 1e300 })
			}
			out = append(out, strings.ReplaceAll(m.String(), "  ", " "))
		}
		slices.Sort(out)
		return out
	}
	if x, y := text(a), text(b); !reflect.DeepEqual(x, y) {
		return strings.Join(x, "\n") + "\n  beside\n" + strings.Join(y, "\n")
	}
	return ""
}

func TestNoLabelHasANamespaceAKeyOrTheTextOfAnError(t *testing.T) {
	text := served(NewCollector(fullSet(), everything))
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
	sameExposition(t, col)
	text := string(served(col))
	for _, want := range []string{
		`kinglet_informer_objects{informer="pods",`, `kinglet_informer_objects{informer="pods#2",`,
		`kinglet_informer_objects{informer="pods#2#2",`, `kinglet_informer_objects{informer="pods#3",`,
		`resource="deployments",handler="first#2"}`, `{controller="same#2"}`,
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
		sameExposition(t, NewCollector(set, everything))
	})
}

func TestAHistogramHasTheBucketsOfANaiveOne(t *testing.T) {
	naive := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "naive", Buckets: bounds[:]})
	var h core.Histogram
	for d := time.Duration(1); d < 1000*time.Second; d = d*5/4 + 1 {
		naive.Observe(d.Seconds())
		h.Observe(d)
	}
	s := h.Snapshot()
	var want dto.Metric
	if err := naive.Write(&want); err != nil {
		t.Fatal(err)
	}
	got := constHistogram(&s)
	want.Histogram.CreatedTimestamp = nil
	if d := got.GetSampleSum() - want.Histogram.GetSampleSum(); d > 1e-6 || d < -1e-6 {
		t.Errorf("the sum is %v, want %v", got.GetSampleSum(), want.Histogram.GetSampleSum())
	}
	got.SampleSum, want.Histogram.SampleSum = nil, nil
	if !proto.Equal(got, want.Histogram) {
		t.Errorf("%v\nwant %v", got, want.Histogram)
	}
}
