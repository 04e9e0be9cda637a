package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
	"github.com/kinglet-go/kinglet/bench/internal/report"
	"github.com/kinglet-go/kinglet/bench/internal/stats"
)

// Measure is what one process measured, by metric.
type Measure map[string]float64

type options struct {
	quick       bool
	only        string
	runs        int
	json        string
	row, engine string // set in a measuring process
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "one short run of each row: for a look, not for figures")
	flag.StringVar(&o.only, "only", "", "comma-separated `rows` to measure (default all)")
	flag.IntVar(&o.runs, "runs", 3, "runs of each row; medians are printed")
	flag.StringVar(&o.json, "json", "", "write the results to `file` as JSON")
	flag.StringVar(&o.row, "measure", "", "measure this `row` alone and print one JSON document (used by the program itself)")
	flag.StringVar(&o.engine, "engine", "", "`engine` to measure (used by the program itself)")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "queuebench:", err)
		os.Exit(1)
	}
}

func (o *options) sizes() sizes {
	if o.quick {
		return sizes{rounds: 200, adds: 100_000, passes: 2, waiting: 100_000, restart: 5_000}
	}
	return sizes{rounds: 3000, adds: 1_000_000, passes: 10, waiting: 1_000_000, restart: 100_000}
}

func run(o *options) error {
	if o.quick {
		o.runs = 1
	}
	if o.row != "" {
		m, err := measureHere(o.row, o.engine, o.sizes())
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(m)
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	figures := Report{Go: runtime.Version(), CPUs: runtime.NumCPU(), Runs: o.runs, Quick: o.quick}
	for _, r := range chosen {
		fmt.Fprintf(os.Stderr, "%s …\n", r.name)
		got := map[string][]Measure{}
		for range o.runs {
			for _, e := range engines {
				m, err := measureApart(o, r.name, e.name)
				if err != nil {
					return err
				}
				got[e.name] = append(got[e.name], m)
			}
		}
		figures.Rows = append(figures.Rows, r.judge(got)...)
	}
	figures.print(os.Stdout)
	return report.WriteJSON(o.json, &figures)
}

func choose(list string) ([]row, error) {
	return stats.Choose(rows, func(r row) string { return r.name }, list)
}

func measureApart(o *options, row, engine string) (Measure, error) {
	m, err := apart.Measure[Measure](context.Background(), nil, "-measure", row, "-engine", engine, fmt.Sprintf("-quick=%v", o.quick))
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", row, engine, err)
	}
	return m, nil
}

func measureHere(name, engine string, s sizes) (Measure, error) {
	chosen, err := choose(name)
	if err != nil {
		return nil, err
	}
	for _, e := range engines {
		if e.name == engine {
			return chosen[0].measure(e.make(), s)
		}
	}
	return nil, fmt.Errorf("no engine %q", engine)
}
