package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/bench/internal/report"
	"github.com/kinglet-go/kinglet/bench/internal/stats"
)

// options are the command line's.
type options struct {
	quick   bool
	only    string
	runs    int
	pods    int
	json    string
	profile string
	// set in a process that this program has started
	serve, serveLagging, measure bool
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "one short run of each row with a twentieth of the pods: a look, no figures to be quoted")
	flag.StringVar(&o.only, "only", "", "comma-separated `rows` to measure (default all)")
	flag.IntVar(&o.runs, "runs", 3, "runs of each row; medians are printed")
	flag.IntVar(&o.pods, "pods", 100_000, "pods that the server has")
	flag.StringVar(&o.json, "json", "", "write the results to `file` as JSON")
	flag.StringVar(&o.profile, "profile", "", "write a CPU profile of each process, set-up included, into `folder`; figures are then not to be quoted")
	flag.BoolVar(&o.serve, "serve", false, "be the server (used by the program itself)")
	flag.BoolVar(&o.serveLagging, "serve-lagging", false, "be a server whose watches are late (used by the program itself)")
	flag.BoolVar(&o.measure, "measure", false, "measure one row of one side (used by the program itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "ctrlbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	switch {
	case o.serve:
		return replay.ServeStdio(ctx, os.Stdin, os.Stdout)
	case o.serveLagging:
		return serveLagging(ctx, os.Stdout)
	case o.measure:
		return measureStdio(ctx)
	}
	if o.quick {
		o.runs, o.pods = 1, o.pods/20
	}
	if o.runs < 1 || o.pods < namespaces {
		return fmt.Errorf("-runs must be at least 1, and there must be at least %d pods", namespaces)
	}
	chosen, err := stats.Choose(rows, func(r row) string { return r.name }, o.only)
	if err != nil {
		return err
	}
	figures := Report{Go: runtime.Version(), CPUs: runtime.NumCPU(), Runs: o.runs, Quick: o.quick, Pods: o.pods}
	// What was measured before an interrupt is printed all the same.
	broken := measureAll(ctx, o, chosen, &figures)
	figures.print(os.Stdout)
	return errors.Join(broken, report.WriteJSON(o.json, &figures))
}

func measureAll(ctx context.Context, o *options, chosen []row, figures *Report) error {
	of := pods.Options{Pods: o.pods, Templates: max(namespaces, o.pods/100), Namespaces: namespaces}
	server, err := apart.Serve[replay.Endpoint](ctx, of, "-serve")
	if err != nil {
		return err
	}
	defer server.Stop()
	control := replay.Control{Endpoint: server.At}
	if _, err := control.Prepare(ctx, replay.Protobuf, rounds); err != nil {
		return err
	}
	for _, r := range chosen {
		got := map[string][]Measure{}
		for run := range o.runs {
			order := slices.Clone(sides)
			if run%2 == 1 {
				slices.Reverse(order)
			}
			for _, s := range order {
				fmt.Fprintf(os.Stderr, "run %d of %d: %s: %s …\n", run+1, o.runs, r.name, s.name)
				if err := control.Reset(ctx); err != nil {
					return err
				}
				j := job{Row: r.name, Side: s.name, Pods: of, Endpoint: server.At, Profile: o.profile, Quick: o.quick}
				m, err := apart.Measure[Measure](ctx, j, "-measure")
				if err != nil {
					return fmt.Errorf("%s of %s: %w", r.name, s.name, err)
				}
				got[s.name] = append(got[s.name], m)
			}
		}
		figures.Rows = append(figures.Rows, r.judge(got)...)
	}
	return nil
}
