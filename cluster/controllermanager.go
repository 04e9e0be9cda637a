package cluster

import (
	"context"

	"k8s.io/component-base/configz"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

func (c *Cluster) controllerManagerArgs() []string {
	return []string{
		"--kubeconfig=" + c.dir.file(controllerManagerKubeconfigFile),
		// One of each: nobody to elect, and no port to ask about health.
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
		"--concurrent-deployment-syncs=10",
		"--concurrent-replicaset-syncs=10",
		"--root-ca-file=" + c.dir.file(servingCertFile),
		"--service-account-private-key-file=" + c.dir.file(serviceAccountKeyFile),
		// Its user is an administrator, which saves forty tokens at every start.
		"--use-service-account-credentials=false",
		"--allocate-node-cidrs=false",
	}
}

// startControllerManager returns once it runs; its controllers take their
// first look at the cluster after that.
func (c *Cluster) startControllerManager(ctx context.Context) (process, error) {
	opts, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	if opts.ComponentGlobalsRegistry, err = newRegistry(); err != nil {
		return nil, err
	}
	all, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	flags := opts.Flags(all, disabled, aliases)
	if err := parse(ControllerManager, &flags, c.controllerManagerArgs()); err != nil {
		return nil, err
	}
	opts.ParsedFlags = &flags
	if err := opts.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	config, err := opts.Config(ctx, all, disabled, aliases)
	if err != nil {
		return nil, err
	}
	return newRunProcess(func(ctx context.Context) error {
		defer configz.Delete(app.ConfigzName)
		return app.Run(ctx, config.Complete())
	}), nil
}

// runProcess is a component that ends when its context does.
type runProcess struct{ *task }

func newRunProcess(run func(context.Context) error) *runProcess {
	return &runProcess{startTask(run)}
}

func (p *runProcess) done() <-chan struct{} { return p.ended }
func (p *runProcess) failure() error        { return p.err }

func (p *runProcess) stop(ctx context.Context) error {
	p.cancel()
	return p.wait(ctx)
}
