package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/kinglet-go/kinglet/bench/internal/stats"
	"github.com/kinglet-go/kinglet/bench/internal/target"
)

// Report is what -json writes.
type Report struct {
	Go    string
	CPUs  int
	Runs  int
	Quick bool
	Pods  int
	Rows  []Result
}

// Result is one figure of one row: medians over the runs.
type Result struct {
	Row, What, Unit string
	// Theirs is controller-runtime's, of another figure if Against is not empty.
	Theirs, Kinglet float64
	Against         string `json:",omitempty"`
	// Ratio is Kinglet over Theirs; 0 where only one was measured.
	Ratio float64
	// Target is in words, Met is "pass" or "SHORT"; both are empty where there is no
	// target.
	Target, Met string
	// All holds each run's figure.
	AllTheirs, AllKinglet []float64
}

func (r *row) judge(got map[string][]Measure) []Result {
	var out []Result
	for _, f := range r.figures {
		res := Result{Row: r.name, What: f.what, Unit: f.unit, Against: f.against}
		of := f.key
		if f.against != "" {
			of = f.against
		}
		res.AllTheirs, res.AllKinglet = each(got[theirs], of), each(got[ours], f.key)
		res.Theirs, res.Kinglet = stats.Median(res.AllTheirs), stats.Median(res.AllKinglet)
		if res.Theirs > 0 {
			res.Ratio = res.Kinglet / res.Theirs
		}
		if f.target != nil {
			res.Target, res.Met = f.target.String(), f.target.Verdict(res.Kinglet, res.Theirs)
		}
		out = append(out, res)
	}
	return out
}

// each returns a figure of each run that has it.
func each(all []Measure, key string) (xs []float64) {
	for _, m := range all {
		if x, ok := m[key]; ok {
			xs = append(xs, x)
		}
	}
	return xs
}

func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs; %d pods in %d namespaces; median of %d\n\n", r.Go, r.CPUs, r.Pods, namespaces, r.Runs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "row\tfigure\tcontroller-runtime\tkinglet\tunit\tkinglet is\ttarget\t\t")
	short := 0
	for _, x := range r.Rows {
		theirs, ratio := "-", ""
		if x.AllTheirs != nil {
			theirs = number(x.Theirs)
		}
		if x.Ratio > 0 {
			ratio = target.Part(x.Ratio)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", x.Row, x.What, theirs, number(x.Kinglet), x.Unit, ratio, x.Target, x.Met)
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
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
