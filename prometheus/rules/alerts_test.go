package rules

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

// rule is one of docs/alerts.yaml. promtool checks the file as a whole.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Annotations map[string]string `json:"annotations"`
}

func readRules(t *testing.T) []rule {
	t.Helper()
	text, err := os.ReadFile("../../docs/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) == 0 {
		t.Fatalf("%d groups", len(file.Groups))
	}
	return file.Groups[0].Rules
}

func newEngine(t *testing.T) *promql.Engine {
	e := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		Parser: parser.NewParser(parser.Options{}),
	})
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// over returns a query's result for each interval of what was scraped.
func (s *samples) over(t *testing.T, e *promql.Engine, query string) promql.Matrix {
	t.Helper()
	q, err := e.NewRangeQuery(context.Background(), s, nil, query, s.first, s.last, interval)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer q.Close()
	res := q.Exec(context.Background())
	if len(res.Warnings) > 0 {
		t.Errorf("%s: %v", query, res.Warnings)
	}
	m, err := res.Matrix()
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	// The engine reuses its memory after Close.
	out := slices.Clone(m)
	for i := range out {
		out[i].Floats = slices.Clone(out[i].Floats)
	}
	return out
}

// firing returns when, in a scenario, the rule fired first and last; zero if never.
func (r *rule) firing(t *testing.T, e *promql.Engine, s *samples) (first, last time.Time) {
	t.Helper()
	pending := time.Duration(0)
	if r.For != "" {
		var err error
		if pending, err = time.ParseDuration(r.For); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range s.over(t, e, r.Expr) {
		var since, before time.Time
		for _, p := range one.Floats {
			at := time.UnixMilli(p.T)
			if before.IsZero() || at.Sub(before) > interval {
				since = at
			}
			before = at
			if at.Sub(since) < pending {
				continue
			}
			if first.IsZero() || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
		}
	}
	return first, last
}

// Each alert fires because of what it is about, on samples of a real informer; no other
// does; and it ends when that has ended.
func TestAlertsFireForWhatTheyAreAbout(t *testing.T) {
	rules, engine := readRules(t), newEngine(t)
	fired := map[string]bool{}
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			s := live(t, sc.name, sc.opts, sc.script, sc.body)
			for _, r := range rules {
				first, last := r.firing(t, engine, s)
				if want := slices.Contains(sc.alerts, r.Alert); want == first.IsZero() {
					t.Errorf("%s fires: %v", r.Alert, !want)
				}
				if first.IsZero() {
					continue
				}
				fired[r.Alert] = true
				t.Logf("%s fires from %v to %v of %v", r.Alert, first.Sub(s.first), last.Sub(s.first), s.last.Sub(s.first))
				if last.Equal(s.last) != sc.lasting {
					t.Errorf("%s fires at the end: %v", r.Alert, !sc.lasting)
				}
				if len(sc.script) == 0 && first.Sub(s.first) < 10*time.Minute {
					t.Errorf("%s fires while all is well", r.Alert)
				}
			}
		})
	}
	for _, r := range rules {
		if !fired[r.Alert] {
			t.Errorf("%s never fired", r.Alert)
		}
	}
	if len(rules) > 8 {
		t.Errorf("%d rules: nobody reads so many", len(rules))
	}
}
