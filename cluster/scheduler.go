package cluster

import (
	"context"

	"k8s.io/component-base/configz"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// schedulerConfigz is the name under which app.Run registers its configuration.
const schedulerConfigz = "componentconfig"

func (c *Cluster) schedulerArgs() []string {
	return []string{
		"--kubeconfig=" + c.dir.file(schedulerKubeconfigFile),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
}

// startScheduler returns once it runs; it schedules as soon as its informers
// have synced.
func (c *Cluster) startScheduler(ctx context.Context) (process, error) {
	opts := options.NewOptions()
	registry, err := newRegistry()
	if err != nil {
		return nil, err
	}
	opts.ComponentGlobalsRegistry = registry
	if err := parse(Scheduler, opts.Flags, c.schedulerArgs()); err != nil {
		return nil, err
	}
	if err := registry.Set(); err != nil {
		return nil, err
	}
	setUp := make(chan error, 1)
	p := newRunProcess(func(ctx context.Context) error {
		// Setup already starts goroutines that live as long as its context.
		config, scheduler, err := app.Setup(ctx, opts)
		setUp <- err
		if err != nil {
			return err
		}
		defer configz.Delete(schedulerConfigz)
		return app.Run(ctx, config, scheduler)
	})
	select {
	case err := <-setUp:
		if err != nil {
			return nil, err
		}
		return p, nil
	case <-p.done():
		return nil, p.failure()
	case <-ctx.Done():
		p.cancel()
		return nil, context.Cause(ctx)
	}
}
