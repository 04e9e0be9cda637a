package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/kinglettest"
)

// restRows measure informers that have nothing to do, a handler that stalls, and pods of
// a real control plane.
func restRows(s size) []row {
	return []row{
		{
			name: "idle", engines: []string{clientGo, kinglets, dropIn}, server: &testpods.Options{Pods: 50}, encoding: replay.Protobuf,
			figures: []figure{
				{key: "goroutines", what: "goroutines of an idle informer, beyond a bare watch", targets: map[string]target{kinglets: {own: 1.1}, dropIn: {own: 3}}},
				{key: "memory", what: "live heap and stacks of one, beyond a bare watch", unit: "KiB", targets: ours(target{own: 32})},
			},
			do: measureIdle,
		},
		{
			// Events wait for the handler, with the objects in them.
			name: "stalled", engines: []string{clientGo, kinglets, dropIn}, server: &testpods.Options{Pods: max(s.Pods/50, 20)},
			encoding: replay.Protobuf, rounds: stalledRounds,
			figures: wireFigures(map[string]map[string]target{"pending": below(50, 0)}),
			do: measureWire(phases{
				setup: setup{encoding: replay.Protobuf, handlers: 2, folding: true}, rounds: stalledRounds, gathered: true, stalled: true,
			}),
		},
		{
			name: "control plane", engines: []string{clientGo, kinglets, dropIn}, plane: true,
			figures: []figure{
				{key: "cpu", what: "CPU an event, pods under churn", unit: "µs", targets: below(2.5, 2.5)},
				{key: "rate", what: "events a second", unit: "/s"},
			},
			do: measurePlane,
		},
	}
}

const stalledRounds = 50

// idleInformers are measured at once. Each watches a namespace that has nothing.
func (j *job) idleInformers() int { return j.Size.scaled(1000, 40) }

// measureIdle measures what an idle informer takes beyond a bare watch: the same number
// of each, one after the other, when each has had a bookmark, since the stack of a watch
// that has never had one is not that of a watch that lives.
func measureIdle(ctx context.Context, j *job) (measure, error) {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	control := replay.Control{Endpoint: j.Endpoint}
	n := j.idleInformers()
	streams, err := idleStreams(ctx, j, &control, n)
	if err != nil {
		return nil, err
	}
	s := setup{encoding: replay.Protobuf, secure: true, folding: true}
	cfg := s.config(j.Endpoint)
	var all []running
	defer func() { stopAll(all) }()
	before := takeFootprint()
	for i := range n {
		of := s
		of.namespace = fmt.Sprintf("tenant-%04d", i)
		inf, err := of.start(context.WithoutCancel(ctx), j.Engine, cfg, newAudience(1))
		if err != nil {
			return nil, err
		}
		all = append(all, inf)
	}
	reached := func(version string) func() bool {
		return func() bool {
			for _, inf := range all {
				if inf.version() != version {
					return false
				}
			}
			return true
		}
	}
	at, err := control.Bookmark(ctx)
	if err == nil {
		err = poll(ctx, reached(at))
	}
	// Informers that had not synced yet began with that version, and want one more.
	if err == nil {
		at, err = control.Bookmark(ctx)
	}
	if err == nil {
		err = poll(ctx, reached(at))
	}
	if err != nil {
		return nil, err
	}
	after := takeFootprint()
	return measure{
		"goroutines": (after.goroutines-before.goroutines)/float64(n) - streams.goroutines,
		"memory":     ((after.memory-before.memory)/float64(n) - streams.memory) / 1024,
	}, nil
}

// footprint is what a process takes.
type footprint struct{ goroutines, memory float64 }

func takeFootprint() footprint {
	// Give connections and goroutines that are closing the time to end.
	time.Sleep(2 * time.Second)
	live := settled()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{goroutines: float64(runtime.NumGoroutine()), memory: live + float64(m.StackInuse)}
}

// idleStreams returns what a bare watch takes: a request of client-go's transport and a
// goroutine blocked in Read.
func idleStreams(ctx context.Context, j *job, control *replay.Control, n int) (f footprint, err error) {
	s := setup{encoding: replay.Protobuf, secure: true}
	before := takeFootprint()
	ctx, cancel := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	client, err := rest.HTTPClientFor(s.config(j.Endpoint))
	if err != nil {
		return f, err
	}
	defer client.CloseIdleConnections()
	var reads atomic.Int64
	for i := range n {
		of := s
		of.namespace = fmt.Sprintf("tenant-%04d", i)
		d, err := of.openDrain(ctx, j)
		if err != nil {
			return f, err
		}
		reading.Go(func() {
			defer d.body.Close()
			buf := make([]byte, 512)
			for {
				if _, err := io.ReadAtLeast(d.body, buf, 1); err != nil {
					return
				}
				reads.Add(1)
			}
		})
	}
	// Both bookmarks of a stream may come in one read if the second does not wait.
	if err := poll(ctx, func() bool { return reads.Load() >= int64(n) }); err != nil {
		return f, err
	}
	had := reads.Load()
	if _, err := control.Bookmark(ctx); err != nil {
		return f, err
	}
	if err := poll(ctx, func() bool { return reads.Load() >= had+int64(n) }); err != nil {
		return f, err
	}
	after := takeFootprint()
	return footprint{(after.goroutines - before.goroutines) / float64(n), (after.memory - before.memory) / float64(n)}, nil
}

// poll returns when done does; nothing sends word of it.
func poll(ctx context.Context, done func() bool) error {
	for !done() {
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// A real control plane is left alone with an engine for planeWarm, and then measured for
// planeWindow.
const (
	planeWarm   = 5 * time.Second
	planeWindow = 20 * time.Second
)

func planeOptions(program string) kinglettest.ClusterOptions {
	// 8 changes of a deployment a second make some 180 events.
	return kinglettest.ClusterOptions{Nodes: 10, Deployments: 60, Replicas: 10, Churn: 8, Program: program}
}

// measurePlane counts the calls of one handler in a window, and the processor time that
// goes by.
func measurePlane(ctx context.Context, j *job) (measure, error) {
	cfg, err := kinglettest.ConfigFrom(j.Kubeconfig)
	if err != nil {
		return nil, err
	}
	s := setup{encoding: replay.Protobuf, secure: true, bound: 100_000}
	cfg.ContentType = s.encoding.MediaType()
	a := newAudience(1)
	a.deletes = true
	inf, err := s.start(ctx, j.Engine, cfg, a)
	if err != nil {
		return nil, err
	}
	defer inf.stop()
	if err := sleep(ctx, planeWarm); err != nil {
		return nil, err
	}
	calls := a.calls()
	cost, err := j.phase("window", func() error { return sleep(ctx, planeWindow) })
	if err != nil {
		return nil, err
	}
	n := float64(a.calls() - calls)
	if n == 0 {
		return nil, fmt.Errorf("nothing happened within %v; the engine's last error: %w", planeWindow, a.err())
	}
	return measure{"cpu": cost.CPU * 1e6 / n, "rate": n / cost.Wall}, nil
}
