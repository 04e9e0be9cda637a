package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
	"github.com/kinglet-go/kinglet/bench/internal/report"
	"github.com/kinglet-go/kinglet/bench/internal/stats"
)

// options are the command line's.
type options struct {
	quick  bool
	only   string
	runs   int
	json   string
	row    string // set in a measuring process
	engine string
	// profile is where a measuring process writes its CPU profile.
	profile string
	size    sizes
}

// sizes say how much is measured.
type sizes struct {
	small, large int
	contention   time.Duration
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "one short run of each row, with a fifth of the objects: for a look, not for figures")
	flag.StringVar(&o.only, "only", "", "comma-separated `rows` to measure (default all)")
	flag.IntVar(&o.runs, "runs", 3, "runs of each row; medians are printed")
	flag.StringVar(&o.json, "json", "", "write the results to `file` as JSON")
	flag.StringVar(&o.row, "measure", "", "measure this `row` alone and print one JSON document (used by the program itself)")
	flag.StringVar(&o.engine, "engine", "", "`engine` to measure: client-go or kinglet")
	flag.StringVar(&o.profile, "profile", "", "with -measure: write a CPU profile, set-up included, to `file`")
	flag.Parse()
	o.size = sizes{small: 100_000, large: 500_000, contention: 10 * time.Second}
	if o.quick {
		o.size = sizes{small: 20_000, large: 100_000, contention: 2 * time.Second}
		o.runs = 1
	}
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "storebench:", err)
		os.Exit(1)
	}
}

func run(o *options) error {
	if o.row != "" {
		return measureHere(o)
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	figures := Report{Go: runtime.Version(), CPUs: runtime.NumCPU(), Runs: o.runs, Quick: o.quick,
		Objects: o.size.small, ObjectsLarge: o.size.large}
	for _, r := range chosen {
		fmt.Fprintf(os.Stderr, "%s …\n", r.name)
		got := map[string][]Measure{}
		for range o.runs {
			for _, e := range []string{"client-go", "kinglet"} {
				if r.engines[e] == nil {
					continue
				}
				m, err := measureApart(o, r.name, e)
				if err != nil {
					return err
				}
				got[e] = append(got[e], m)
			}
		}
		figures.Rows = append(figures.Rows, r.judge(got)...)
	}
	figures.print(os.Stdout)
	return report.WriteJSON(o.json, &figures)
}

func choose(list string) ([]row, error) {
	return stats.Choose(slices.Concat(rows, dropInRows), func(r row) string { return r.name }, list)
}

// Measure is what one process measured, by metric.
type Measure map[string]float64

func measureApart(o *options, row, engine string) (Measure, error) {
	m, err := apart.Measure[Measure](context.Background(), nil, "-measure", row, "-engine", engine, fmt.Sprintf("-quick=%v", o.quick))
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", row, engine, err)
	}
	return m, nil
}

func measureHere(o *options) error {
	chosen, err := choose(o.row)
	if err != nil {
		return err
	}
	fn := chosen[0].engines[o.engine]
	if fn == nil {
		return fmt.Errorf("row %s is not measured for %q", o.row, o.engine)
	}
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	return json.NewEncoder(os.Stdout).Encode(fn(o.size))
}
