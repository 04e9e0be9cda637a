package main

import (
	"fmt"
	"io"

	"github.com/kinglet-go/kinglet/bench/internal/report"
)

// Report is what -json writes.
type Report struct {
	Go    string
	CPUs  int
	Runs  int
	Quick bool
	Pods  int
	Rows  []report.Result
}

func (r *row) judge(got map[string][]Measure) []report.Result {
	var out []report.Result
	for _, f := range r.figures {
		of := f.key
		if f.against != "" {
			of = f.against
		}
		res := report.Of(r.name, f.what, f.unit, report.Each(got[theirs], of), report.Each(got[ours], f.key))
		res.Against = f.against
		if f.target != nil {
			res.Target, res.Met = f.target.String(), f.target.Verdict(res.Kinglet, res.Peer)
		}
		out = append(out, res)
	}
	return out
}

func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs; %d pods in %d namespaces; median of %d\n\n", r.Go, r.CPUs, r.Pods, namespaces, r.Runs)
	report.Print(w, "controller-runtime", r.Rows)
	if r.Quick {
		fmt.Fprintln(w, "-quick: too short and too small for figures to be quoted")
	}
}
