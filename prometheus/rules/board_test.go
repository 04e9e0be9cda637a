package rules

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// board is what Grafana reads of docs/grafana/kinglet.json.
type board struct {
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name  string          `json:"name"`
			Type  string          `json:"type"`
			Query json.RawMessage `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID          int    `json:"id"`
		Type        string `json:"type"`
		Title       string `json:"title"`
		Description string `json:"description"`
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct {
			RefID string `json:"refId"`
			Expr  string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

func readBoard(t *testing.T) (b board) {
	t.Helper()
	text, err := os.ReadFile("../../docs/grafana/kinglet.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// variables are set as Grafana sets them when all is selected.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$job", ".*", "$instance", ".*", "$informer", ".*", "$controller", ".*")

// eventful is an informer to which everything happens that the dashboard shows.
func eventful(t *testing.T) *samples {
	return live(t, "eventful", kinglet.Options[configMap]{
		ConsistencyCheck: kinglet.ConsistencyCheck{Every: time.Minute},
		Indexers: map[string]store.IndexFunc[configMap]{
			"value": func(o configMap) ([]string, error) { return []string{o.Data["value"]}, nil },
		},
	}, nil, func(w *world) {
		w.showing(func(st *status.Informer) {
		})
		w.pass(10 * time.Minute)
		w.script(always(apiserver.Fault{Damage: func(key types.NamespacedName) bool { return key.Name == "o7" }}))
		w.server.Disconnect()
		w.pass(time.Minute)
		w.put(7, "damaged")
		w.must(w.inf.Wrote(w.written(3)))
		handler, runs := w.hold(&w.holdHandler), w.hold(&w.holdRuns)
		w.pass(5 * time.Minute)
		handler()
		w.pass(5 * time.Minute)
		runs()
		w.script(always(apiserver.Fault{Answer: forbidden()}))
		w.server.Disconnect()
		w.pass(10 * time.Minute)
		w.script(nil)
		w.pass(5 * time.Minute)
	})
}

func TestEachQueryOfTheBoardFindsDataAndNoError(t *testing.T) {
	s, engine := eventful(t), newEngine(t)
	queries := 0
	for _, p := range readBoard(t).Panels {
		for _, target := range p.Targets {
			queries++
			query := variables.Replace(target.Expr)
			if strings.Contains(query, "$") {
				t.Errorf("%s: a variable is not known: %s", p.Title, query)
			}
			// Where several expressions are one query, each has to find something.
			for _, part := range alternatives(t, query) {
				found := slices.ContainsFunc(s.over(t, engine, part), func(one promql.Series) bool {
					return slices.ContainsFunc(one.Floats, func(p promql.FPoint) bool { return !math.IsNaN(p.F) })
				})
				if !found {
					t.Errorf("%s: nothing is found by %s", p.Title, part)
				}
			}
		}
	}
	if queries < 30 {
		t.Errorf("only %d queries", queries)
	}
}

// alternatives parts "a or b".
func alternatives(t *testing.T, query string) []string {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if b, ok := expr.(*parser.BinaryExpr); ok && b.Op == parser.LOR && b.RHS.String() != "vector(0)" {
		return append(alternatives(t, b.LHS.String()), alternatives(t, b.RHS.String())...)
	}
	return []string{query}
}

func TestTheBoardsVariablesHaveValues(t *testing.T) {
	s := eventful(t)
	labelValues := regexp.MustCompile(`^label_values\((\w+)(?:\{.*\})?, (\w+)\)$`)
	for _, v := range readBoard(t).Templating.List {
		if v.Type != "query" {
			continue
		}
		var query struct{ Query string }
		if err := json.Unmarshal(v.Query, &query); err != nil {
			t.Fatal(err)
		}
		m := labelValues.FindStringSubmatch(query.Query)
		if m == nil {
			t.Errorf("%s: %s", v.Name, query.Query)
			continue
		}
		found := false
		for _, one := range s.series {
			found = found || one.labels.Get("__name__") == m[1] && one.labels.Get(m[2]) != ""
		}
		if !found {
			t.Errorf("%s has no values: %s", v.Name, query.Query)
		}
	}
}

func TestPanelsHaveTitlesAndDoNotOverlap(t *testing.T) {
	type cell struct{ x, y int }
	at, ids := map[cell]string{}, map[int]bool{}
	for _, p := range readBoard(t).Panels {
		if p.Title == "" || ids[p.ID] {
			t.Errorf("panel %d %q", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := at[cell{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s and %s overlap", p.Title, other)
				}
				at[cell{x, y}] = p.Title
			}
		}
	}
}

// written is an object as the server answers a write of it.
func (w *world) written(i int) configMap {
	w.Helper()
	w.put(i, "own")
	objs, _ := w.storage.List(apiserver.ConfigMaps.GroupResource())
	for _, obj := range objs {
		if c := obj.(*corev1.ConfigMap); c.Data["value"] == "own" {
			return c
		}
	}
	w.Fatal("it was not written")
	return nil
}
