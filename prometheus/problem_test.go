package prometheus

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
)

// clock sets the time of a collector.
func clock(c *Collector, now time.Time) *Collector {
	c.now = func() time.Time { return now }
	return c
}

func TestAProblemIsServedWithItsCauseAndWhenItBegan(t *testing.T) {
	stalled := healthy("pods")
	now := time.Now()
	first, second := start, start.Add(time.Minute)
	stalled.status.LastContact, stalled.status.LastEvent = now, now
	for _, since := range []time.Time{second, first} {
		stalled.status.Handlers = append(stalled.status.Handlers, status.Handler{Name: "handler", Synced: true, InFlight: 1, CallSince: since})
	}
	set := setOf(stalled, healthy("nodes"))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(clock(NewCollector(set, Options{}), start.Add(time.Hour)))
	// Two handlers that stand still are one series, which began with the first.
	want := `
# HELP kinglet_informer_problem_start_timestamp_seconds ` + help(t, "kinglet_informer_problem_start_timestamp_seconds") + `
# TYPE kinglet_informer_problem_start_timestamp_seconds gauge
kinglet_informer_problem_start_timestamp_seconds{cause="handler_stalled",group="",informer="pods",resource="pods",severity="` + severityOf(t, stalled, now) + `",version="v1"} 1.7e+09
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "kinglet_informer_problem_start_timestamp_seconds"); err != nil {
		t.Error(err)
	}
}

func severityOf(t *testing.T, inf *fixed, now time.Time) string {
	i := slices.IndexFunc(inf.status.Problems(now), func(p status.Problem) bool { return p.Cause == status.CauseHandlerStalled })
	if i < 0 {
		t.Fatalf("no such problem among %v", inf.status.Problems(now))
	}
	return inf.status.Problems(now)[i].Severity.String()
}

func help(t *testing.T, name string) string {
	families := NewCollector(nil, everything).served
	i := slices.IndexFunc(families, func(f *family) bool { return f.name == name })
	if i < 0 {
		t.Fatalf("no metric %s", name)
	}
	return families[i].help
}

// The label is made of constants, so that alerts can name them.
func TestEveryProblemOfAnyStatusHasACauseThatIsListed(t *testing.T) {
	set := kinglet.NewSet()
	set.Observe(full("all"))
	set.ObserveController(fullController("all"))
	seen := 0
	for _, f := range gather(t, NewCollector(set, Options{})) {
		if !strings.HasSuffix(f.GetName(), "_problem_start_timestamp_seconds") {
			continue
		}
		for _, m := range f.Metric {
			for _, l := range m.Label {
				if l.GetName() != "cause" {
					continue
				}
				seen++
				if !slices.Contains(status.Causes(), status.Cause(l.GetValue())) {
					t.Errorf("%s is not among the causes", l.GetValue())
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d causes were found: the statuses under test are not as bad as they should be", seen)
	}
}
