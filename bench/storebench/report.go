package main

import (
	"fmt"
	"io"

	"github.com/kinglet-go/kinglet/bench/internal/report"
)

// Report is what -json writes.
type Report struct {
	Go           string
	CPUs         int
	Runs         int
	Quick        bool
	Objects      int
	ObjectsLarge int
	Rows         []report.Result
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

func (r *row) judge(got map[string][]Measure) []report.Result {
	var out []report.Result
	for _, m := range r.metrics {
		res := report.Of(r.name, m.what, m.unit, report.Each(got["client-go"], m.key), report.Each(got["kinglet"], m.key))
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
	report.Print(w, "client-go", r.Rows)
	if r.Quick {
		fmt.Fprintln(w, "-quick: too short and too small for figures to be quoted")
	}
}
