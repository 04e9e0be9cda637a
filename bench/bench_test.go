package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// TestMain is the program itself when a test has started it as such.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "-serve" || os.Args[1] == "-measure") {
		main()
		return
	}
	// client-go's informers leave a filtered watch behind if they stop while it has an event.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
}

// serveHere serves until the test ends.
func serveHere(t *testing.T, r *row) *replay.Control {
	t.Helper()
	c := testpods.NewCollection(*r.server)
	s, err := replay.NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &replay.Control{Endpoint: s.Endpoint()}
}

// TestEveryRowIsMeasuredOfEachEngineAndStoresEqualTheServer does the jobs of all rows, with
// few pods and at the same time: what is measured of the process is nobody's then, and only
// has to be there.
func TestEveryRowIsMeasuredOfEachEngineAndStoresEqualTheServer(t *testing.T) {
	size := size{Pods: 50, Quick: true}
	for _, r := range allRows(size) {
		if r.plane {
			continue
		}
		for _, engine := range r.engines {
			t.Run(r.name+"/"+engine, func(t *testing.T) {
				t.Parallel()
				j := &job{Row: r.name, Engine: engine, Size: size, Check: true}
				if r.server != nil {
					control := serveHere(t, &r)
					var err error
					if j.Prepared, err = control.Prepare(t.Context(), r.encoding, r.rounds); err != nil {
						t.Fatal(err)
					}
					j.Endpoint = control.Endpoint
				}
				got, err := j.measure(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range r.figures {
					if _, ok := f.targets[engine]; ok && !slices.Contains(keysOf(got), f.key) {
						t.Errorf("%q has a target and was not measured: %v", f.key, got)
					}
				}
				for key := range got {
					if strings.HasPrefix(key, "lone ") || slices.ContainsFunc(r.figures, func(f figure) bool { return f.key == key }) {
						continue
					}
					if !slices.Contains([]string{"ns", "ms", "max", "p99", "bytes", "lists", "writes", "allocs", "view bytes", "fields bytes", "cpu", "switches"}, key) {
						t.Errorf("%q is measured and no figure of the row", key)
					}
				}
			})
		}
	}
}

func keysOf(m measure) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// TestAQuickRunMeasuresInProcessesOfTheirOwn goes from the command line's options to the
// file of figures.
func TestAQuickRunMeasuresInProcessesOfTheirOwn(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "figures.json")
	o := &options{rows: "^wire/protobuf TLS", json: out, size: size{Pods: 10_000, Quick: true}}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Results, func(x Result) bool { return x.What == "CPU an event of a burst" })
	if i < 0 || len(r.Results[i].Engines) != 4 || !r.Quick || r.Runs != 1 {
		t.Fatalf("figures are missing: %s", b)
	}
	peer := r.Results[i].Engines[0].Median
	for _, e := range r.Results[i].Engines[1:] {
		if e.Median <= 0 || e.Ratio != e.Median/peer {
			t.Errorf("%+v of %v", e, peer)
		}
	}
	if err := run(t.Context(), &options{rows: "no such row", runs: 1, size: size{Pods: 200}}); err == nil {
		t.Error("a row that does not exist is measured")
	}
}

func TestAReportHasMediansRatiosAndWhatFallsShort(t *testing.T) {
	r := newReport(3, size{})
	r.add(&row{name: "a row", engines: []string{clientGo, kinglets, dropIn}, figures: []figure{
		{key: "ns", what: "a figure", unit: "ns", targets: below(4, 1)},
		{key: "own", what: "another", targets: map[string]target{kinglets: {own: 2}}},
		{key: "view", what: "against", targets: below(10, 0), against: "ns"},
		{key: "nobody's", what: "left out"},
	}}, map[string][]measure{
		clientGo: {{"ns": 8}, {"ns": 7}, {"ns": 90}},
		kinglets: {{"ns": 4, "own": 2, "view": .5}, {"ns": 1, "own": 1, "view": .5}, {"ns": 4, "own": 9, "view": .5}},
		dropIn:   {{"ns": 4}},
	})
	var b strings.Builder
	r.print(&b)
	for _, want := range []string{"a row a figure ns 8.00 4.00 1/2 SHORT of ≤ 1/4 4.00 1/2", "another 2.00", "against 0.50 1/16", "1 targets short"} {
		if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "left out") {
		t.Errorf("a figure that no engine has is in the report:\n%s", b.String())
	}
}

func TestAChildThatGetsNoJobSaysSo(t *testing.T) {
	if err := measureChild(t.Context(), strings.NewReader("{"), &bytes.Buffer{}); err == nil {
		t.Error("half a job was done")
	}
	if err := measureChild(t.Context(), strings.NewReader(`{"Row":"no such"}`), &bytes.Buffer{}); err == nil {
		t.Error("a job of no row was done")
	}
}
