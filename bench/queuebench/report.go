package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"github.com/kinglet-go/kinglet/bench/internal/stats"
)

// Report is what -json writes.
type Report struct {
	Go    string
	CPUs  int
	Runs  int
	Quick bool
	Rows  []Result
}

// Result is one figure of one row: medians by engine.
type Result struct {
	Row, What, Unit string
	Median          map[string]float64
	All             map[string][]float64
	// Targets are in words, of the drop-in or of the engine; Met is whether it keeps them all.
	Targets []string
	Met     bool
}

func (r row) judge(got map[string][]Measure) []Result {
	var list []Result
	for _, m := range r.metrics {
		res := Result{Row: r.name, What: m.what, Unit: m.unit, Median: map[string]float64{}, All: map[string][]float64{}, Met: true}
		for e, all := range got {
			for _, one := range all {
				res.All[e] = append(res.All[e], one[m.key])
			}
			res.Median[e] = stats.Median(res.All[e])
		}
		own := res.Median["workqueue"]
		if m.ofEngine {
			own = res.Median["engine"]
		}
		clientGo, ctrl := res.Median["client-go"], res.Median["controller-runtime"]
		target := func(text string, limit, of float64) {
			if limit > 0 {
				res.Targets = append(res.Targets, fmt.Sprintf(text, limit))
				res.Met = res.Met && own <= limit*of
			}
		}
		target("≤ %.2f × client-go", m.ofClientGo, clientGo)
		target("≤ %.2f × c-r", m.ofCtrl, ctrl)
		target("≤ %.2f × the smaller", m.ofSmaller, math.Min(clientGo, ctrl))
		if m.hasOwn {
			target("≤ %.1f", m.ownAtMost, 1)
		}
		list = append(list, res)
	}
	return list
}

func (r Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs; median of %d\n\n", r.Go, r.CPUs, r.Runs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "row\tfigure\t")
	for _, e := range engines {
		fmt.Fprint(t, e.name+"\t")
	}
	fmt.Fprintln(t, "unit\ttarget of kinglet\t\t")
	short := 0
	for _, x := range r.Rows {
		fmt.Fprintf(t, "%s\t%s\t", x.Row, x.What)
		for _, e := range engines {
			fmt.Fprintf(t, "%.1f\t", x.Median[e.name])
		}
		met := ""
		if len(x.Targets) > 0 {
			met = "pass"
			if !x.Met {
				met = "SHORT"
				short++
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t\n", x.Unit, strings.Join(x.Targets, ", "), met)
	}
	t.Flush()
	fmt.Fprintf(w, "\n%d targets short\n", short)
	if r.Quick {
		fmt.Fprintln(w, "-quick: too short for figures to be quoted")
	}
}
