package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/kinglet-go/kinglet/bench/internal/stats"
)

// Report is what -json writes.
type Report struct {
	Go           string
	CPUs         int
	Runs         int
	Quick        bool
	Objects      int
	ObjectsLarge int
	Rows         []Result
}

// Result is one metric of one row: medians over the runs.
type Result struct {
	Row      string
	What     string
	Unit     string
	ClientGo float64
	Kinglet  float64
	// Ratio is Kinglet over ClientGo; 0 where only one was measured.
	Ratio float64
	// Target is in words, Met whether it is; both empty where there is none.
	Target string
	Met    string
	// All holds each run's figure.
	AllClientGo, AllKinglet []float64
}

// metric is one figure of a row and what it must show.
type metric struct {
	key, what, unit string
	// Exactly one of these, or none, is set.
	atMost   float64 // ratio
	atLeast  float64 // ratio
	ceiling  float64 // kinglet's own figure, at most
	hasLimit bool    // ceiling applies
}

func (r *row) judge(got map[string][]Measure) []Result {
	var out []Result
	for _, m := range r.metrics {
		res := Result{Row: r.name, What: m.what, Unit: m.unit}
		for e, all := range got {
			var xs []float64
			for _, one := range all {
				if x, ok := one[m.key]; ok {
					xs = append(xs, x)
				}
			}
			if e == "kinglet" {
				res.AllKinglet, res.Kinglet = xs, stats.Median(xs)
			} else {
				res.AllClientGo, res.ClientGo = xs, stats.Median(xs)
			}
		}
		if res.ClientGo > 0 {
			res.Ratio = res.Kinglet / res.ClientGo
		}
		met := true
		switch {
		case m.atMost > 0:
			res.Target, met = fmt.Sprintf("≤ %.4g ×", m.atMost), res.Ratio <= m.atMost
		case m.atLeast > 0:
			res.Target, met = fmt.Sprintf("≥ %.4g ×", m.atLeast), res.Ratio >= m.atLeast
		case m.hasLimit:
			res.Target, met = fmt.Sprintf("≤ %.4g", m.ceiling), res.Kinglet <= m.ceiling
		}
		if res.Target != "" {
			res.Met = "pass"
			if !met {
				res.Met = "SHORT"
			}
		}
		out = append(out, res)
	}
	return out
}

func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs; %d and %d objects, two indexes; median of %d\n\n", r.Go, r.CPUs, r.Objects, r.ObjectsLarge, r.Runs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\tfigure\tclient-go\tkinglet\tunit\tratio\ttarget\t\t")
	short := 0
	for _, x := range r.Rows {
		ratio := ""
		if x.Ratio > 0 {
			ratio = number(x.Ratio)
		}
		other := "-"
		if x.AllClientGo != nil {
			other = number(x.ClientGo)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", x.Row, x.What, other, number(x.Kinglet), x.Unit, ratio, x.Target, x.Met)
		if x.Met == "SHORT" {
			short++
		}
	}
	t.Flush()
	fmt.Fprintf(w, "\n%d targets short\n", short)
	if r.Quick {
		fmt.Fprintln(w, "-quick: too short and too small for figures to be quoted")
	}
}

func number(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x < 0.01:
		return fmt.Sprintf("%.5f", x)
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
