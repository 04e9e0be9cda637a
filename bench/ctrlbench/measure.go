package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/bench/internal/stats"
)

// timeout bounds one measurement.
const timeout = 10 * time.Minute

// Measure is what one process measured, by figure.
type Measure map[string]float64

// job is the input of a process that measures.
type job struct {
	Row, Side string
	Pods      pods.Options
	Endpoint  replay.Endpoint
	// Profile is a folder for a CPU profile, or empty.
	Profile string
	Quick   bool
}

// measureStdio does one job, which comes as input.
func measureStdio(ctx context.Context) error {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		return fmt.Errorf("what is the job: %w", err)
	}
	m, err := j.profiled(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

func (j *job) profiled(ctx context.Context) (Measure, error) {
	if j.Profile == "" {
		return j.measure(ctx)
	}
	f, err := os.Create(filepath.Join(j.Profile, j.Row+"-"+j.Side+".prof"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	defer pprof.StopCPUProfile()
	return j.measure(ctx)
}

func (j *job) measure(ctx context.Context) (Measure, error) {
	chosen, err := stats.Choose(rows, func(r row) string { return r.name }, j.Row)
	if err != nil {
		return nil, err
	}
	s, err := sideOf(j.Side)
	if err != nil {
		return nil, err
	}
	c, err := pods.New(j.Pods)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	w := &world{job: j, side: s, pods: c, control: replay.Control{Endpoint: j.Endpoint}, figures: Measure{}}
	defer w.stop()
	return w.figures, chosen[0].measure(ctx, w)
}

// scaled returns n, or a twentieth of it for a look.
func (j *job) scaled(n int) int {
	if j.Quick {
		return max(n/20, 1)
	}
	return n
}

// contention is how long writes beside readers are measured.
func (j *job) contention() time.Duration {
	if j.Quick {
		return 2 * time.Second
	}
	return 10 * time.Second
}
