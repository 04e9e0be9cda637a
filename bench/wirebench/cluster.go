package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/bench/internal/stats"
	"github.com/kinglet-go/kinglet/kinglettest"
)

// What the real control plane is asked to do.
const (
	clusterNodes       = 10
	clusterDeployments = 60
	clusterReplicas    = 10
	clusterChurn       = 8 // changes of a deployment a second
	// clusterWarm is how long an engine is left alone before a window.
	clusterWarm   = 5 * time.Second
	clusterWindow = 20 * time.Second
)

// live is what a process is told that watches a real server.
type live struct {
	Kubeconfig   string
	Warm, Window time.Duration
}

// The figures of a window on a real server. The rate is the cluster's, not the
// engine's.
const (
	liveCPU  figure = "CPU a call of the handler"
	liveRate figure = "calls a second"
)

// measureCluster starts a real control plane under churn and watches its pods
// with both engines in turn, at the same time as all else that runs there. The
// control plane needs most of the machine, and events come one by one, so most
// of what an event costs here is to be woken for it.
func measureCluster(ctx context.Context, program string, runs int, w, log io.Writer) error {
	c, stop, err := kinglettest.RunCluster(ctx, kinglettest.ClusterOptions{
		Nodes: clusterNodes, Deployments: clusterDeployments, Replicas: clusterReplicas, Churn: clusterChurn, Program: program,
	})
	if err != nil {
		return err
	}
	s := rowOf("", replay.Protobuf, 0, func(r *row) { r.setup.Transport = http2 }).setup
	got := map[string][]figures{}
	for run := range runs {
		order := []string{clientGo, kinglets}
		if run%2 == 1 {
			slices.Reverse(order)
		}
		for _, engine := range order {
			fmt.Fprintf(log, "run %d of %d: real control plane: %s …\n", run+1, runs, engine)
			j := &job{Engine: engine, Setup: s, Live: &live{c.Kubeconfig, clusterWarm, clusterWindow}}
			f, err := apart.Measure[figures](ctx, j, "-measure")
			if err != nil {
				// The error says more than how the cluster ended.
				_ = stop()
				return err
			}
			got[engine] = append(got[engine], f)
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "pods of a real control plane under churn, protobuf over TLS and HTTP/2; median of %d\n\n", runs)
	fmt.Fprintln(t, "figure\tclient-go\tkinglet\tratio\t")
	for _, f := range []figure{liveCPU, liveRate} {
		m := map[string]float64{}
		for engine, all := range got {
			var xs []float64
			for _, one := range all {
				xs = append(xs, one[f])
			}
			m[engine] = stats.Median(xs)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", f, number(m[clientGo]), number(m[kinglets]), number(over(m[kinglets], m[clientGo])))
	}
	t.Flush()
	return stop()
}

// measureLive counts what one handler is told in a window, and the processor
// time that goes by.
func measureLive(ctx context.Context, j *job) (figures, error) {
	cfg, err := kinglettest.ConfigFrom(j.Live.Kubeconfig)
	if err != nil {
		return nil, err
	}
	cfg.ContentConfig = rest.ContentConfig{ContentType: j.Setup.Encoding.MediaType()}
	a := newAudience(1)
	a.deletes = true
	inf, err := engines[j.Engine](ctx, &j.Setup, cfg, a)
	if err != nil {
		return nil, err
	}
	defer inf.stop()
	if err := pause(ctx, j.Live.Warm); err != nil {
		return nil, err
	}
	told := a.told()
	if told == 0 {
		return nil, fmt.Errorf("nothing was handled within %v; the engine's last error: %w", j.Live.Warm, a.err())
	}
	used, err := process.CPU()
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, j.Live.Window); err != nil {
		return nil, err
	}
	now, err := process.CPU()
	if err != nil {
		return nil, err
	}
	n := float64(a.told() - told)
	if n == 0 {
		return nil, fmt.Errorf("nothing happened within %v", j.Live.Window)
	}
	return figures{liveCPU: (now - used).Seconds() * 1e6 / n, liveRate: n / j.Live.Window.Seconds()}, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
