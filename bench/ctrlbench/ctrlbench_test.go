package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is the program itself when a test has started it as such.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && slices.Contains([]string{"-serve", "-serve-lagging", "-measure"}, os.Args[1]) {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// TestAQuickRunMeasuresEveryFigureOfBothSides does all rows from the command line's
// options to the file of figures. Each checks what it reads and counts.
func TestAQuickRunMeasuresEveryFigureOfBothSides(t *testing.T) {
	out := filepath.Join(t.TempDir(), "figures.json")
	if err := run(t.Context(), &options{quick: true, pods: 40_000, json: out}); err != nil {
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
	figures := 0
	for i := range rows {
		figures += len(rows[i].figures)
	}
	if len(r.Rows) != figures || !r.Quick || r.Runs != 1 {
		t.Fatalf("%d figures of %d: %s", len(r.Rows), figures, b)
	}
	for _, x := range r.Rows {
		if len(x.AllKinglet) != 1 || len(x.AllPeer) != 1 && x.What != "allocations" {
			t.Errorf("%s, %s: measured %d times, and %d times of controller-runtime", x.Row, x.What, len(x.AllKinglet), len(x.AllPeer))
		}
		if x.Row == "namespaces" && x.What == "watches" && (x.Kinglet != namespaces || x.Peer != namespaces) {
			t.Errorf("%v and %v watches", x.Kinglet, x.Peer)
		}
		if x.Target != "" && x.Met == "" {
			t.Errorf("%s, %s: no verdict", x.Row, x.What)
		}
	}
}

func TestRowsThatDoNotExistAreRefused(t *testing.T) {
	if err := run(t.Context(), &options{runs: 1, pods: namespaces, only: "no such row"}); err == nil {
		t.Error("a row that does not exist is measured")
	}
	if err := run(t.Context(), &options{runs: 1, pods: namespaces - 1}); err == nil {
		t.Error("a namespace is without pods")
	}
}
