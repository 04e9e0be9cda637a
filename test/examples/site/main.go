// Command site runs the controller of Sites. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/controller/lease"
	"github.com/kinglet-go/kinglet/source"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the cluster's; that of the pod if empty")
	namespace := flag.String("lease-namespace", "default", "where the replicas' Lease is")
	duration := flag.Duration("lease-duration", 15*time.Second, "after which a leader that is gone is replaced")
	identity := flag.String("identity", "", "tells this replica from the others; the host's name and a random part if empty")
	flag.Parse()
	err := run(ctx, *kubeconfig, lease.Options{
		Namespace: *namespace, Name: "site-controller", Identity: *identity,
		Duration: *duration, RenewDeadline: *duration * 2 / 3, RetryPeriod: *duration / 6,
		OnNewLeader: func(id string) { slog.Info("leader", "identity", id) },
	})
	if err != nil {
		slog.Error("site", "err", err)
		os.Exit(1)
	}
}

// run runs the controller until ctx ends. An error of leadership ends the process, to
// be restarted by whatever runs it.
func run(ctx context.Context, kubeconfig string, election lease.Options) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	// What these clients write is in the informers' reads at once.
	own := &kinglet.OwnWrites{}
	cfg.Wrap(own.Wrap)
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	client, err := newSiteClient(cfg)
	if err != nil {
		return err
	}

	// The informers: one watch each, however many readers they have.
	sitesSource, err := source.FromConfig[*Site](cfg, sitesResource, source.Options{})
	if err != nil {
		return err
	}
	deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
	deploymentsSource, err := source.FromConfig[*appsv1.Deployment](cfg, deployments, source.Options{LabelSelector: "site"})
	if err != nil {
		return err
	}
	s := &sites{client: client, kube: kube}
	if s.sites, err = kinglet.New(sitesSource, kinglet.Options[*Site]{}); err != nil {
		return err
	}
	if s.deployments, err = kinglet.New(deploymentsSource, kinglet.Options[*appsv1.Deployment]{}); err != nil {
		return err
	}

	if err := errors.Join(own.Add(sitesResource, s.sites), own.Add(deployments, s.deployments)); err != nil {
		return err
	}

	// The controller: which changes concern which Site, and which of several replicas
	// does the work.
	elector, err := lease.New(kube.CoordinationV1(), election)
	if err != nil {
		return err
	}
	c, err := controller.New(s, controller.Options[kinglet.Key]{Name: "site", Workers: 4, Elector: elector})
	if err != nil {
		return err
	}
	if _, err := controller.Watch(c, s.sites, controller.Self); err != nil {
		return err
	}
	if _, err := controller.Watch(c, s.deployments, controller.Owner[*appsv1.Deployment](schema.GroupKind{Group: sitesResource.Group, Kind: "Site"})); err != nil {
		return err
	}

	// The informers outlive the controller, so that runs that end after the stop still
	// read what is true.
	informers, stopInformers := context.WithCancel(context.WithoutCancel(ctx))
	set := kinglet.NewSet(s.sites, s.deployments)
	ended := make(chan error, 1)
	go func() { ended <- set.Run(informers) }()
	err = c.Run(ctx)
	stopInformers()
	if err = errors.Join(err, <-ended); err != nil {
		return fmt.Errorf("stopped: %w", err)
	}
	return nil
}
