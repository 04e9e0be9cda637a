package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is the program itself when a test has started it as such.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{"-serve"}) || slices.Equal(os.Args[1:], []string{"-measure"}) {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// TestAQuickRunMeasuresInProcessesOfTheirOwn does one row from the command
// line's options to the file of figures.
func TestAQuickRunMeasuresInProcessesOfTheirOwn(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "figures.json")
	o := &options{quick: true, rows: "^protobuf TLS", pods: 10_000, out: out}
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
	found := 0
	for _, x := range r.Results {
		switch x.Figure {
		case checked:
			found++
			if x.Kinglet != 200 {
				t.Errorf("%v objects were found equal", x.Kinglet)
			}
		case burstCPU, burstRate:
			found++
			if x.ClientGo <= 0 || x.Kinglet <= 0 || x.Drain <= 0 || x.Ratio != x.Kinglet/x.ClientGo {
				t.Errorf("%+v", x)
			}
		}
	}
	if found != 3 || !r.Quick || !r.Partial || r.Runs != 1 {
		t.Errorf("figures are missing: %s", b)
	}
	if err := run(t.Context(), &options{rows: "no such row", runs: 1, pods: 200}); err == nil {
		t.Error("a row that does not exist is measured")
	}
}

// TestAnInterruptedRunWritesWhatItHas is about the case in which that is nothing
// yet; what was measured goes the same way.
func TestAnInterruptedRunWritesWhatItHas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := filepath.Join(t.TempDir(), "figures.json")
	if err := run(ctx, &options{quick: true, pods: 10_000, out: out}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(b, &r); err != nil || !r.Partial {
		t.Errorf("%v: a partial report was due, not %s", err, b)
	}
}
