package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
)

// options are the command line's.
type options struct {
	events, steady, rate, keys int
	runs                       int
	seed                       uint64
	json                       string
	// set in a process that this program has started
	engine  string
	stalled bool
}

// engines by name.
var engines = map[string]func(*stage) (engine, error){"kinglet": newKinglet, "client-go": newClientGo}

func main() {
	var o options
	flag.IntVar(&o.events, "events", 1_000_000, "events at full speed")
	flag.IntVar(&o.steady, "steady", 30_000, "events at the steady rate, after them")
	flag.IntVar(&o.rate, "rate", 10_000, "the steady rate, in events a second")
	flag.IntVar(&o.keys, "keys", 1000, "keys")
	flag.IntVar(&o.runs, "runs", 3, "runs of each arm; medians are printed")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the first run's history; each run has the next one")
	flag.StringVar(&o.json, "json", "", "write the results to `file` as JSON")
	flag.StringVar(&o.engine, "measure", "", "measure this `engine` alone and print one JSON document (used by the program itself)")
	flag.BoolVar(&o.stalled, "stalled", false, "with a stalled handler (used by the program itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "stallbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	if o.events < 1 || o.steady < 1 || o.rate < 1 || o.keys < 2 || o.runs < 1 {
		return fmt.Errorf("-events, -steady, -rate and -runs must be at least 1, -keys 2")
	}
	if o.engine != "" {
		return measureStdout(ctx, o)
	}
	report := newReport(o)
	for i := range o.runs {
		for _, engine := range []string{"client-go", "kinglet"} {
			for _, stalled := range []bool{false, true} {
				fmt.Fprintf(os.Stderr, "run %d of %d: %s, stalled %v …\n", i+1, o.runs, engine, stalled)
				out, err := measureApart(ctx, o, engine, stalled, o.seed+uint64(i))
				if err != nil {
					return err
				}
				report.Outcomes = append(report.Outcomes, out)
			}
		}
	}
	report.print(os.Stdout)
	if o.json != "" {
		b, err := json.MarshalIndent(report, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	return report.violations()
}

func measureStdout(ctx context.Context, o *options) error {
	out, err := measure(ctx, o)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// measure measures one arm in this process.
func measure(ctx context.Context, o *options) (Outcome, error) {
	build := engines[o.engine]
	if build == nil {
		return Outcome{}, fmt.Errorf("no engine %q", o.engine)
	}
	s := newStage(o, o.stalled)
	e, err := build(s)
	if err != nil {
		return Outcome{}, err
	}
	out, err := perform(ctx, o, s, e)
	out.Engine, out.Stalled = o.engine, o.stalled
	return out, err
}

// measureApart measures one arm in a process of its own.
func measureApart(ctx context.Context, o *options, engine string, stalled bool, seed uint64) (Outcome, error) {
	out, err := apart.Measure[Outcome](ctx, nil, "-measure", engine, fmt.Sprintf("-stalled=%v", stalled),
		"-events", strconv.Itoa(o.events), "-steady", strconv.Itoa(o.steady), "-rate", strconv.Itoa(o.rate),
		"-keys", strconv.Itoa(o.keys), "-seed", strconv.FormatUint(seed, 10))
	if err != nil {
		return out, fmt.Errorf("measuring %s: %w", engine, err)
	}
	return out, nil
}
