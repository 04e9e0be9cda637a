package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"text/tabwriter"
)

// Report is what -json writes.
type Report struct {
	Go      string
	CPUs    int
	Runs    int
	Quick   bool
	Seconds float64
	Results []Result
	// Skipped has the reason why a row was not measured.
	Skipped map[string]string `json:",omitempty"`
}

// Result is one figure of one row.
type Result struct {
	Row, What, Unit string
	// Engines in the order of the columns; the first is the peer.
	Engines []Engine
}

// Engine is one engine's figure: the median of its runs.
type Engine struct {
	Name   string
	Median float64
	All    []float64
	// Ratio is Median over the peer's; 0 where there is none.
	Ratio float64 `json:",omitempty"`
	// Target is in words, Met is "pass" or "SHORT"; both are empty without a target.
	Target, Met string `json:",omitempty"`
}

func newReport(runs int, s size) *Report {
	return &Report{Go: runtime.Version(), CPUs: runtime.NumCPU(), Runs: runs, Quick: s.Quick, Skipped: map[string]string{}}
}

// add adds what the engines measured of a row, run by run.
func (r *Report) add(w *row, got map[string][]measure) {
	for _, f := range w.figures {
		res := Result{Row: w.name, What: f.what, Unit: f.unit}
		against := f.key
		if f.against != "" {
			against = f.against
		}
		peer := median(each(got[w.engines[0]], against))
		for i, name := range w.engines {
			all := each(got[name], f.key)
			if len(all) == 0 {
				continue
			}
			e := Engine{Name: name, Median: median(all), All: all}
			if (i > 0 || f.against != "") && peer > 0 {
				e.Ratio = e.Median / peer
			}
			if t, ok := f.targets[name]; ok {
				e.Target, e.Met = t.String(), "SHORT"
				if t.met(e.Median, peer) {
					e.Met = "pass"
				}
			}
			res.Engines = append(res.Engines, e)
		}
		if len(res.Engines) > 0 {
			r.Results = append(r.Results, res)
		}
	}
}

// each returns a figure of each run that has it.
func each(runs []measure, key string) (xs []float64) {
	for _, m := range runs {
		if x, ok := m[key]; ok {
			xs = append(xs, x)
		}
	}
	return xs
}

func (x *Result) columns() (names []string) {
	for _, e := range x.Engines {
		names = append(names, e.Name)
	}
	return names
}

// print writes a table for each run of rows with the same engines.
func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs; medians of %d; %.0f s\n", r.Go, r.CPUs, r.Runs, r.Seconds)
	short, row := 0, ""
	var columns []string
	var t *tabwriter.Writer
	for i := range r.Results {
		x := &r.Results[i]
		if row != x.Row && (t == nil || !slices.Equal(columns, x.columns())) {
			if t != nil {
				t.Flush()
			}
			columns = x.columns()
			t = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprint(t, "\nrow\tfigure\tunit\t")
			for _, c := range columns {
				fmt.Fprint(t, c+"\t")
			}
			fmt.Fprintln(t)
		}
		name := x.Row
		if name == row {
			name = ""
		}
		row = x.Row
		fmt.Fprintf(t, "%s\t%s\t%s\t", name, x.What, x.Unit)
		for _, c := range columns {
			cell := ""
			for _, e := range x.Engines {
				if e.Name != c {
					continue
				}
				cell = number(e.Median)
				if e.Ratio > 0 {
					cell += "  " + part(e.Ratio)
				}
				if e.Met == "SHORT" {
					cell += "  SHORT of " + e.Target
					short++
				}
			}
			fmt.Fprint(t, cell+"\t")
		}
		fmt.Fprintln(t)
	}
	if t != nil {
		t.Flush()
	}
	fmt.Fprintf(w, "\n%d targets short\n", short)
	for name, why := range r.Skipped {
		fmt.Fprintf(w, "%s was not measured: %s\n", name, why)
	}
	if r.Quick {
		fmt.Fprintln(w, "-quick: too short and too small for figures to be quoted")
	}
}

func number(x float64) string {
	switch {
	case x == 0:
		return "0"
	case x > -0.01 && x < 0.01:
		return fmt.Sprintf("%.5f", x)
	case x > -10 && x < 10:
		return fmt.Sprintf("%.2f", x)
	case x > -1000 && x < 1000:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

func (r *Report) write(file string) error {
	if file == "" {
		return nil
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(b, '\n'), 0o644)
}
