package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
)

// options are the command line's.
type options struct {
	n       int
	objects int
	runs    int
	settle  time.Duration
	json    string
	profile string
	// set in a process that this program has started
	serve   bool
	measure string
}

// Targets of an informer beyond its stream.
const (
	targetGoroutines = 3
	targetMemory     = 32 << 10
)

func main() {
	var o options
	flag.IntVar(&o.n, "n", 1000, "informers, and streams")
	flag.IntVar(&o.objects, "objects", 10, "objects in each collection")
	flag.IntVar(&o.runs, "runs", 3, "runs of each side; medians are printed")
	flag.DurationVar(&o.settle, "settle", 3*time.Second, "how long everybody is left alone before the figures are taken")
	flag.StringVar(&o.json, "json", "", "write the results to `file` as JSON")
	flag.StringVar(&o.profile, "profile", "", "write heap and goroutine profiles of an extra run of kinglet into `folder`")
	flag.BoolVar(&o.serve, "serve", false, "be the server (used by the program itself)")
	flag.StringVar(&o.measure, "measure", "", "measure this `side` alone and print one JSON document (used by the program itself)")
	flag.Parse()
	if o.profile != "" && o.measure != "" {
		runtime.MemProfileRate = 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "idlebench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	switch {
	case o.n < 1 || o.objects < 0 || o.runs < 1 || o.settle < 0:
		return fmt.Errorf("-n and -runs must be at least 1, -objects and -settle at least 0")
	case o.serve:
		return serveStdio(ctx, o.objects)
	case o.measure != "":
		return measureStdio(ctx, o)
	}
	server, err := apart.Serve[Endpoint](ctx, nil, "-serve", "-objects", strconv.Itoa(o.objects))
	if err != nil {
		return err
	}
	defer server.Stop()
	got := map[string][]Footprint{}
	for i := range o.runs {
		for _, name := range slices.Sorted(maps.Keys(sides)) {
			fmt.Fprintf(os.Stderr, "run %d of %d: %s …\n", i+1, o.runs, name)
			f, err := measureApart(ctx, o, name, server.At, "")
			if err != nil {
				return err
			}
			got[name] = append(got[name], f)
		}
	}
	if o.profile != "" {
		if _, err := measureApart(ctx, o, "kinglet", server.At, o.profile); err != nil {
			return err
		}
	}
	report := newReport(o, got)
	report.print(os.Stdout)
	if o.json == "" {
		return nil
	}
	b, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.json, append(b, '\n'), 0o644)
}

// measureApart measures one side in a process of its own.
func measureApart(ctx context.Context, o *options, side string, at Endpoint, profile string) (Footprint, error) {
	f, err := apart.Measure[Footprint](ctx, at, "-measure", side, "-n", strconv.Itoa(o.n), "-objects", strconv.Itoa(o.objects),
		"-settle", o.settle.String(), "-profile", profile)
	if err != nil {
		return f, fmt.Errorf("measuring %s: %w", side, err)
	}
	return f, nil
}
