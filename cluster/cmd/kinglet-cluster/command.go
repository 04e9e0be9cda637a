package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/kinglet-go/kinglet/cluster"
)

// stopTimeout bounds the clean end. It usually takes a second.
const stopTimeout = 40 * time.Second

// program is one run of the command.
type program struct {
	opts       cluster.Options
	components []string
	control    bool
	stdin      io.Reader
	stdout     io.Writer
	stderr     io.Writer
	failed     chan error
}

func newCommand(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, failed: make(chan error, 16)}
	cmd := &cobra.Command{
		Use:   "kinglet-cluster",
		Short: "A real Kubernetes control plane with simulated nodes, in one process",
		Long: `kinglet-cluster runs etcd, kube-apiserver, kube-controller-manager and
kube-scheduler in one process, on the loopback interface, with simulated nodes
on which pods become Ready. It ends on SIGINT or SIGTERM and leaves nothing
behind; the second signal ends it at once, temporary folder left or not.

With --control it reads commands from stdin, one a line, answers each with one
JSON document a line on stdout, and ends when stdin does:

  stop COMPONENT    as a kill would
  start COMPONENT   on the same data, at the same address
  churn RATE        operations a second
  user NAME         make a user without rights; answers with a kubeconfig
  revoke NAME       take the user's token back
  compact           make etcd forget old versions
  backup NAME       take a snapshot of etcd; answers with its revision
  restore NAME BUMP go back to it, while etcd is stopped, with BUMP more
                    revisions than it has; 0 for none
  quit`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	flags := cmd.Flags()
	// Kubernetes' libraries have a flag of this name, which sets the version that they
	// report; this one is found first.
	version := flags.Bool("version", false, "print the release of Kubernetes that it runs, and end")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			_, err := fmt.Fprintln(stdout, "kinglet-cluster with Kubernetes", cluster.Version())
			return err
		}
		return p.run(cmd.Context())
	}
	flags.StringVar(&p.opts.Dir, "dir", "", "folder of the cluster's data, kept and used again; default: a temporary one")
	flags.StringVar(&p.opts.Kubeconfig, "kubeconfig", "", "also write the kubeconfig here, and remove it at the end")
	flags.IntVar(&p.opts.Nodes, "nodes", 1, "simulated nodes")
	flags.IntVar(&p.opts.Deployments, "deployments", 0, "deployments to keep")
	flags.IntVar(&p.opts.Replicas, "replicas", 3, "pods of each deployment, on average")
	flags.Float64Var(&p.opts.Churn, "churn", 0, "changes a second: rolling, scaling and deleting deployments and pods")
	flags.StringSliceVar(&p.components, "components", nil, fmt.Sprintf("components to start, of %v; default: all", cluster.Components()))
	flags.Var(cliflag.NewMapStringBool(&p.opts.FeatureGates), "feature-gates", "gates of the components, as in CBORServingAndStorage=true")
	flags.StringSliceVar(&p.opts.DisableAdmissionPlugins, "disable-admission-plugins", nil, "plugins of the API server that are not to run, as in ServiceAccount")
	flags.IntVarP(&p.opts.Verbosity, "verbosity", "v", 0, "verbosity of DIR/cluster.log; 0 is warnings and errors")
	flags.BoolVar(&p.control, "control", false, "read commands from stdin, answer on stdout, end when stdin does")
	return cmd
}

func (p *program) run(ctx context.Context) (err error) {
	for _, name := range p.components {
		p.opts.Components = append(p.opts.Components, cluster.Component(name))
	}
	p.opts.Failed = func(err error) {
		select {
		case p.failed <- err:
		default: // the first ones say why
		}
	}
	if !p.control {
		p.opts.Started = func(c cluster.Component, took time.Duration) {
			fmt.Fprintf(p.stderr, "%s ready in %.1fs\n", c, took.Seconds())
		}
	}
	began := time.Now()
	startCtx, cancelStart := context.WithCancel(ctx)
	defer cancelStart()
	var in *commands
	if p.control {
		in = p.readCommands(ctx, cancelStart)
	}
	c, err := cluster.Start(startCtx, p.opts)
	if err != nil {
		if startCtx.Err() != nil {
			// Told to end while starting, which is no failure.
			fmt.Fprintln(p.stderr, "stopped while starting:", err)
			return nil
		}
		return err
	}
	defer func() {
		stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		err = errors.Join(err, c.Stop(stopCtx))
	}()
	if p.control {
		return p.serveControl(ctx, c, in)
	}
	fmt.Fprintf(p.stderr, "cluster ready in %.1fs at %s\nexport KUBECONFIG=%s\n", time.Since(began).Seconds(), c.Server(), c.KubeconfigFile())
	select {
	case <-ctx.Done():
		fmt.Fprintln(p.stderr, "stopping")
		return nil
	case err := <-p.failed:
		return err
	}
}
