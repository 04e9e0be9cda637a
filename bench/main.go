package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/kinglettest"
)

// options are the command line's.
type options struct {
	rows                   string
	runs                   int
	size                   size
	json, cluster, profile string
	// set in a process that this program has started
	serve   string
	measure bool
}

func main() {
	var o options
	list := flag.Bool("list", false, "print the names of the rows")
	flag.StringVar(&o.rows, "rows", "", "measure only the rows whose name matches this `regexp`")
	flag.IntVar(&o.runs, "runs", 3, "runs of each row; medians are printed")
	flag.IntVar(&o.size.Pods, "pods", 50_000, "pods of most rows of whole informers; the others' numbers follow in proportion")
	flag.BoolVar(&o.size.Quick, "quick", false, "one short run of each row, with a fiftieth of the pods: a look, no figures to be quoted")
	flag.StringVar(&o.json, "json", "", "write the figures to `file` as JSON")
	flag.StringVar(&o.cluster, "cluster", "", "measure the row of a real control plane as well: the kinglet-cluster at this `path`")
	flag.StringVar(&o.profile, "profile", "", "write CPU and heap profiles of each phase into `folder`; figures are then not to be quoted")
	flag.StringVar(&o.serve, "serve", "", "be a server (used by the program itself)")
	flag.BoolVar(&o.measure, "measure", false, "do one job (used by the program itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *list {
		for _, r := range allRows(o.size) {
			fmt.Println(r.name)
		}
		return
	}
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	switch {
	case o.serve != "":
		return serveChild(ctx, o.serve, os.Stdin, os.Stdout)
	case o.measure:
		return measureChild(ctx, os.Stdin, os.Stdout)
	}
	if o.size.Quick {
		o.runs, o.size.Pods = 1, o.size.Pods/50
	}
	if o.runs < 1 || o.size.Pods < 50 {
		return errors.New("-runs must be at least 1, -pods at least 50")
	}
	wanted, err := regexp.Compile(o.rows)
	if err != nil {
		return fmt.Errorf("-rows: %w", err)
	}
	rows := slices.DeleteFunc(allRows(o.size), func(r row) bool {
		return !wanted.MatchString(r.name) || r.plane && o.cluster == ""
	})
	if len(rows) == 0 {
		return fmt.Errorf("no row matches %q; -list prints them", o.rows)
	}
	start := time.Now()
	report := newReport(o.runs, o.size)
	m := &measuring{options: o, report: report}
	// An interrupt does not throw away what was measured before it.
	broken := m.all(ctx, rows)
	report.Seconds = time.Since(start).Seconds()
	report.print(os.Stdout)
	return errors.Join(broken, report.write(o.json))
}

// measuring is a run of the program over its rows, and the server of the last row.
type measuring struct {
	*options
	report *Report

	server   *server[replay.Endpoint]
	pods     testpods.Options
	encoding replay.Encoding
	rounds   int
	prepared replay.Prepared
}

func (m *measuring) all(ctx context.Context, rows []row) (err error) {
	defer func() {
		if m.server != nil {
			m.server.stop()
		}
	}()
	for i := range rows {
		if err := m.one(ctx, &rows[i]); err != nil {
			return fmt.Errorf("%s: %w", rows[i].name, err)
		}
	}
	return nil
}

func (m *measuring) one(ctx context.Context, r *row) (err error) {
	if short, err := r.tooLarge(); short != "" || err != nil {
		m.report.Skipped[r.name] = short
		return err
	}
	j := job{Row: r.name, Size: m.size, Profile: m.profile}
	if r.plane {
		cluster, stop, err := kinglettest.RunCluster(ctx, planeOptions(m.cluster))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		j.Kubeconfig = cluster.Kubeconfig
	}
	if r.server != nil {
		if err := m.prepare(ctx, r); err != nil {
			return err
		}
		j.Endpoint, j.Prepared = m.server.at, m.prepared
	}
	runs := m.runs
	if r.once {
		runs = 1
	}
	got := map[string][]measure{}
	for n := range runs {
		order := slices.Clone(r.engines)
		if n%2 == 1 {
			slices.Reverse(order)
		}
		for _, j.Engine = range order {
			fmt.Fprintf(os.Stderr, "run %d of %d: %s: %s …\n", n+1, runs, r.name, j.Engine)
			if r.server != nil {
				if err := m.control().Reset(ctx); err != nil {
					return err
				}
			}
			j.Check = n == 0
			figures, err := measureApart(ctx, &j)
			if err != nil {
				return fmt.Errorf("%s: %w", j.Engine, err)
			}
			got[j.Engine] = append(got[j.Engine], figures)
		}
	}
	m.report.add(r, got)
	return nil
}

func (m *measuring) control() *replay.Control { return &replay.Control{Endpoint: m.server.at} }

// prepare has a server that is ready for a row. Rows of the same pods share one.
func (m *measuring) prepare(ctx context.Context, r *row) (err error) {
	if m.server != nil && m.pods != *r.server {
		m.server.stop()
		m.server = nil
	}
	if m.server == nil {
		m.pods, m.encoding = *r.server, ""
		if m.server, err = serve[replay.Endpoint](ctx, "pods", r.server); err != nil {
			return err
		}
	}
	if m.encoding == r.encoding && m.rounds >= r.rounds {
		return nil
	}
	m.encoding, m.rounds = r.encoding, r.rounds
	m.prepared, err = m.control().Prepare(ctx, r.encoding, r.rounds)
	return err
}

// tooLarge says why there is not enough memory for a row: client-go at its worst has
// 45 KB resident a typed pod, and the server keeps each round.
func (r *row) tooLarge() (string, error) {
	available, err := process.Available()
	if err != nil || available == 0 || r.server == nil {
		return "", err
	}
	need := uint64(r.server.Pods) * uint64(50_000+11_000*(r.rounds+1))
	if available >= need {
		return "", nil
	}
	return fmt.Sprintf("%d MB of memory are available, %d MB needed", available/1e6, need/1e6), nil
}
