package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// Report is what -out writes.
type Report struct {
	Go      string
	CPUs    int
	Runs    int
	Quick   bool
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
	// Target is in words, Met "pass" or "SHORT"; both empty where there is
	// none.
	Target, Met string
	// All holds each run's figure, by engine.
	All map[string][]float64
}

func newReport(o *options, all []*measured, took time.Duration) *Report {
	r := &Report{
		Go: runtime.Version(), CPUs: runtime.NumCPU(), Runs: o.runs, Quick: o.quick, Seconds: took.Seconds(),
		Skipped: map[string]string{},
	}
	for _, m := range all {
		if m.skipped != "" {
			r.Skipped[m.row.name] = m.skipped
			continue
		}
		r.Results = append(r.Results, m.results()...)
	}
	return r
}

// results are the figures that any engine has.
func (m *measured) results() []Result {
	var out []Result
	for _, f := range printed {
		x := Result{Row: m.row.name, Pods: m.row.setup.Pods.Pods, Figure: f, Unit: units[f], All: map[string][]float64{}}
		for engine, runs := range m.engines {
			for _, one := range runs {
				if v, ok := one[f]; ok {
					x.All[engine] = append(x.All[engine], v)
				}
			}
		}
		if len(x.All) == 0 {
			continue
		}
		x.ClientGo, x.Kinglet, x.Drain = median(x.All[clientGo]), median(x.All[kinglets]), median(x.All[drain])
		if x.ClientGo > 0 {
			x.Ratio = x.Kinglet / x.ClientGo
		}
		if t, ok := m.row.targets[f]; ok {
			x.Target, x.Met = t.String(), "SHORT"
			if t.met(x.Kinglet, x.ClientGo) {
				x.Met = "pass"
			}
		}
		out = append(out, x)
	}
	return out
}

func median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	xs = slices.Sorted(slices.Values(xs))
	return xs[len(xs)/2]
}

func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs; two indexes; median of %d; %.0f s in all\n\n", r.Go, r.CPUs, r.Runs, r.Seconds)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\tpods\tfigure\tclient-go\tkinglet\tunit\tratio\ttarget\t\treading only\t")
	short, last := 0, ""
	for _, x := range r.Results {
		name, pods := "", ""
		if x.Row != last {
			name, pods = x.Row, fmt.Sprint(x.Pods)
		}
		last = x.Row
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, pods, x.Figure, number(x.ClientGo), number(x.Kinglet), x.Unit,
			number(x.Ratio), x.Target, x.Met, number(x.Drain))
		if x.Met == "SHORT" {
			short++
		}
	}
	t.Flush()
	fmt.Fprintf(w, "\n%d targets short\n", short)
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
