package main

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/stats"
)

// Report is what -out writes.
type Report struct {
	Go    string
	CPUs  int
	Runs  int
	Quick bool
	// Partial says that there are rows which nobody asked for, or which an
	// interrupt came before.
	Partial bool
	Seconds float64
	Results []Result
	// Skipped says of rows that were not measured why.
	Skipped map[string]string
}

// Result is one figure of one row: medians over the runs.
type Result struct {
	Row    string
	Pods   int
	Figure figure
	Unit   string
	// ClientGo, Kinglet and Drain are 0 where that was not measured.
	ClientGo, Kinglet, Drain float64
	// Ratio is Kinglet over ClientGo.
	Ratio float64
	// Target is in words, Met "pass" or "SHORT"; Target is empty where there
	// is none, Met also where client-go's figure was not measured.
	Target, Met string
	// Base is client-go's figure that Target is held against, which is that of
	// the row Against if that is not empty.
	Base    float64
	Against string
	// All holds each run's figure, by engine.
	All map[string][]float64
}

func newReport(o *options, all []*measured, took time.Duration) *Report {
	r := &Report{
		Go: runtime.Version(), CPUs: runtime.NumCPU(), Runs: o.runs, Quick: o.quick, Partial: o.rows != "", Seconds: took.Seconds(),
		Skipped: map[string]string{},
	}
	byName := map[string]*measured{}
	for _, m := range all {
		byName[m.row.name] = m
	}
	for _, m := range all {
		if m.skipped != "" {
			r.Skipped[m.row.name] = m.skipped
			continue
		}
		r.Results = append(r.Results, m.results(byName)...)
	}
	return r
}

// of is the median of a figure of an engine; 0 of no row, or one without it.
func (m *measured) of(engine string, f figure) float64 {
	if m == nil {
		return 0
	}
	return stats.Median(m.values(engine, f))
}

func (m *measured) values(engine string, f figure) (out []float64) {
	for _, one := range m.engines[engine] {
		if v, ok := one[f]; ok {
			out = append(out, v)
		}
	}
	return out
}

// results are the figures that any engine has. What another row is held
// against is found by name.
func (m *measured) results(byName map[string]*measured) []Result {
	var out []Result
	for _, f := range printed {
		x := Result{Row: m.row.name, Pods: m.row.setup.Pods.Pods, Figure: f, Unit: units[f], All: map[string][]float64{}}
		for engine := range m.engines {
			if v := m.values(engine, f); len(v) > 0 {
				x.All[engine] = v
			}
		}
		if len(x.All) == 0 {
			continue
		}
		x.ClientGo, x.Kinglet, x.Drain = m.of(clientGo, f), m.of(kinglets, f), m.of(drain, f)
		x.Base = x.ClientGo
		if x.ClientGo > 0 {
			x.Ratio = x.Kinglet / x.ClientGo
		}
		if t, ok := m.row.targets[f]; ok {
			x.Target = t.String()
			if m.row.against != "" {
				x.Against, x.Base = m.row.against, byName[m.row.against].of(clientGo, f)
				x.Target += " of row " + x.Against
			}
			x.Met = t.Verdict(x.Kinglet, x.Base)
		}
		out = append(out, x)
	}
	return out
}

func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs; two indexes; medians of so many runs; %.0f s in all\n\n", r.Go, r.CPUs, r.Seconds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\tpods\truns\tfigure\tclient-go\tkinglet\tunit\tratio\ttarget\t\treading only\t")
	short, last := 0, ""
	for _, x := range r.Results {
		name, pods, runs := "", "", ""
		if x.Row != last {
			name, pods, runs = x.Row, fmt.Sprint(x.Pods), fmt.Sprint(len(x.All[kinglets]))
		}
		last = x.Row
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, pods, runs, x.Figure, number(x.ClientGo), number(x.Kinglet), x.Unit,
			number(x.Ratio), x.Target, x.Met, number(x.Drain))
		if x.Met == "SHORT" {
			short++
		}
	}
	t.Flush()
	fmt.Fprintf(w, "\n%d targets short\n", short)
	r.summary(w)
	for name, why := range r.Skipped {
		fmt.Fprintf(w, "%s was not measured: %s\n", name, why)
	}
	if r.Quick {
		fmt.Fprintln(w, "-quick: too short and too small for figures to be quoted")
	}
}

// number writes x with three digits or so, and nothing for 0.
func number(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 10:
		return fmt.Sprintf("%.3g", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
