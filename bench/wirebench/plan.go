package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// measured is what came of a row, run by run.
type measured struct {
	row     row
	engines map[string][]figures
	// skipped says why nothing was measured.
	skipped string
}

// group is the rows that one server answers in one encoding.
type group struct {
	pods     pods.Options
	encoding replay.Encoding
	rows     []*measured
}

// groups sorts rows by what the server must have, in order of appearance.
func groups(all []*measured) []group {
	var out []group
	for _, m := range all {
		s := &m.row.setup
		i := slices.IndexFunc(out, func(g group) bool { return g.pods == s.Pods && g.encoding == s.Encoding })
		if i < 0 {
			i = len(out)
			out = append(out, group{pods: s.Pods, encoding: s.Encoding})
		}
		out[i].rows = append(out[i].rows, m)
	}
	return out
}

// memoryFor is what client and server may take together, in bytes: client-go
// at its worst has 45 KB resident a typed pod, and three times that for an
// unstructured one; the server keeps each round.
func (g *group) memoryFor() uint64 {
	var most uint64
	for _, m := range g.rows {
		s := &m.row.setup
		client, wire := uint64(50_000), uint64(7_000)
		if s.Form == unstructured {
			client = 150_000
		}
		if s.Encoding == replay.JSON {
			wire = 11_000
		}
		most = max(most, uint64(s.Pods.Pods)*(client+wire*uint64(s.lastRound()+1)))
	}
	return most
}

// measureGroup runs all rows of a group, runs times, engines alternating in
// who is first.
func measureGroup(ctx context.Context, g *group, runs int, profile string, log io.Writer) error {
	available, err := process.Available()
	if err != nil {
		return err
	}
	if need := g.memoryFor(); available != 0 && available < need {
		for _, m := range g.rows {
			m.skipped = fmt.Sprintf("%d MB of memory are available, %d MB needed", available/1e6, need/1e6)
		}
		return nil
	}
	server, err := apart.Serve[replay.Endpoint](ctx, g.pods, "-serve")
	if err != nil {
		return err
	}
	defer server.Stop()
	last := 0
	for _, m := range g.rows {
		last = max(last, m.row.setup.lastRound())
	}
	control := replay.Control{Endpoint: server.At}
	prepared, err := control.Prepare(ctx, g.encoding, last)
	if err != nil {
		return err
	}
	for run := range runs {
		for _, m := range g.rows {
			if run > 0 && m.row.once {
				continue
			}
			order := []string{clientGo, kinglets}
			if run%2 == 1 {
				slices.Reverse(order)
			}
			if m.row.drain {
				order = append(order, drain)
			}
			for _, engine := range order {
				fmt.Fprintf(log, "run %d of %d: %s: %s …\n", run+1, runs, m.row.name, engine)
				if err := control.Reset(ctx); err != nil {
					return err
				}
				j := &job{
					Setup: m.row.setup, Engine: engine, Endpoint: server.At, Prepared: prepared,
					Check: run == 0 && engine == kinglets, Profile: profile,
				}
				f, err := apart.Measure[figures](ctx, j, "-measure")
				if err != nil {
					return fmt.Errorf("%s, %s: %w", m.row.name, engine, err)
				}
				m.engines[engine] = append(m.engines[engine], f)
			}
		}
	}
	return nil
}
