package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/bench/internal/report"
)

// options are the command line's.
type options struct {
	rows    string
	runs    int
	quick   bool
	pods    int
	out     string
	charts  string
	cluster string
	profile string
	// set in a process that this program has started
	serve, measure bool
}

func main() {
	var o options
	flag.StringVar(&o.rows, "rows", "", "measure only the rows whose name matches this `regexp`")
	flag.IntVar(&o.runs, "runs", 3, "runs of each row; medians are printed")
	flag.BoolVar(&o.quick, "quick", false, "one run of a fiftieth of the pods: a look, no figures to be quoted")
	flag.IntVar(&o.pods, "pods", 50_000, "pods of most rows; the others' numbers follow in proportion")
	flag.StringVar(&o.out, "out", "", "write the figures to `file` as JSON")
	flag.StringVar(&o.charts, "charts", "", "draw charts of the figures, as SVG, into `folder`")
	flag.StringVar(&o.cluster, "cluster", "", "watch a real control plane instead: that of the kinglet-cluster at this `path`")
	flag.StringVar(&o.profile, "profile", "", "write CPU and heap profiles of each phase into `folder`; figures are then not to be quoted")
	flag.BoolVar(&o.serve, "serve", false, "be the server (used by the program itself)")
	flag.BoolVar(&o.measure, "measure", false, "do one job (used by the program itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "wirebench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	switch {
	case o.serve:
		return replay.ServeStdio(ctx, os.Stdin, os.Stdout)
	case o.measure:
		return measureStdio(ctx)
	}
	if o.quick {
		o.runs, o.pods = 1, o.pods/50
	}
	if o.runs < 1 || o.pods < 50 {
		return fmt.Errorf("-runs must be at least 1, -pods at least 50")
	}
	if o.cluster != "" {
		return measureCluster(ctx, o.cluster, o.runs, os.Stdout, os.Stderr)
	}
	wanted, err := regexp.Compile(o.rows)
	if err != nil {
		return err
	}
	var all []*measured
	for _, r := range rows(sizesOf(o.pods)) {
		if wanted.MatchString(r.name) {
			all = append(all, &measured{row: r, engines: map[string][]figures{}})
		}
	}
	if len(all) == 0 {
		return fmt.Errorf("no row matches %q", o.rows)
	}
	start := time.Now()
	broken := measureGroups(ctx, o, all)
	// What took half an hour is not thrown away because it did not take an hour.
	figures := newReport(o, all, time.Since(start))
	figures.Partial = figures.Partial || broken != nil
	figures.print(os.Stdout)
	return errors.Join(broken, o.keep(figures))
}

func measureGroups(ctx context.Context, o *options, all []*measured) error {
	for _, g := range groups(all) {
		if err := measureGroup(ctx, &g, o.runs, o.profile, os.Stderr); err != nil {
			return fmt.Errorf("not all rows were measured: %w", err)
		}
	}
	return nil
}

// keep writes the files that the options ask for.
func (o *options) keep(figures *Report) error {
	if o.charts != "" {
		if err := figures.draw(o.charts); err != nil {
			return err
		}
	}
	return report.WriteJSON(o.out, figures)
}
