// Command site runs the controller of Sites. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/controller/lease"
	"github.com/kinglet-go/kinglet/page"
	kingletmetrics "github.com/kinglet-go/kinglet/prometheus"
	"github.com/kinglet-go/kinglet/source"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the cluster's; that of the pod if empty")
	listen := flag.String("listen", "localhost:0", "the address of probes, metrics and page")
	namespace := flag.String("lease-namespace", "default", "where the replicas' Lease is")
	duration := flag.Duration("lease-duration", 15*time.Second, "after which a leader that is gone is replaced")
	identity := flag.String("identity", "", "tells this replica from the others; the host's name and a random part if empty")
	flag.Parse()
	set, err := newSet(*kubeconfig, lease.Options{
		Namespace: *namespace, Name: "site-controller", Identity: *identity,
		Duration: *duration, RenewDeadline: *duration * 2 / 3, RetryPeriod: *duration / 6,
		OnNewLeader: func(id string) { slog.Info("leader", "identity", id) },
	})
	if err == nil {
		err = serve(set, *listen)
	}
	if err == nil {
		err = set.Run(ctx)
	}
	if err != nil { // such as a lost leadership: the process ends, to be restarted
		slog.Error("site", "err", err)
		os.Exit(1)
	}
}

// newSet returns all that the program runs: two informers and a controller.
func newSet(kubeconfig string, election lease.Options) (*kinglet.Set, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	// What these clients write is in the informers' reads at once.
	own := &kinglet.OwnWrites{}
	cfg.Wrap(own.Wrap)
	kube, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	client, err := newSiteClient(cfg)
	if err != nil {
		return nil, err
	}

	// The informers: one watch each, however many readers they have.
	sitesSource, err := source.FromConfig[*Site](cfg, sitesResource, source.Options{})
	if err != nil {
		return nil, err
	}
	deployments := appsv1.SchemeGroupVersion.WithResource("deployments")
	deploymentsSource, err := source.FromConfig[*appsv1.Deployment](cfg, deployments, source.Options{LabelSelector: "site"})
	if err != nil {
		return nil, err
	}
	s := &sites{client: client, kube: kube}
	if s.sites, err = kinglet.New(sitesSource, kinglet.Options[*Site]{}); err != nil {
		return nil, err
	}
	if s.deployments, err = kinglet.New(deploymentsSource, kinglet.Options[*appsv1.Deployment]{}); err != nil {
		return nil, err
	}
	if err := errors.Join(own.Add(sitesResource, s.sites), own.Add(deployments, s.deployments)); err != nil {
		return nil, err
	}

	// The controller: which changes concern which Site, and which of several replicas
	// does the work.
	elector, err := lease.New(kube.CoordinationV1(), election)
	if err != nil {
		return nil, err
	}
	c, err := controller.New(s, controller.Options[kinglet.Key]{Name: "site", Workers: 4, Elector: elector})
	if err != nil {
		return nil, err
	}
	if _, err := controller.Watch(c, s.sites, controller.Self); err != nil {
		return nil, err
	}
	if _, err := controller.Watch(c, s.deployments, controller.Owner[*appsv1.Deployment](schema.GroupKind{Group: sitesResource.Group, Kind: "Site"})); err != nil {
		return nil, err
	}
	set := kinglet.NewSet(s.sites, s.deployments)
	return set, set.AddController(c)
}

// serve begins to serve probes, metrics and the page.
func serve(set *kinglet.Set, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(kingletmetrics.NewCollector(set, kingletmetrics.Options{}))
	slog.Info("serves /debug/kinglet/, /metrics, /readyz and /healthz", "address", listener.Addr())
	server := &http.Server{
		Handler:           page.Mux(set, promhttp.HandlerFor(registry, promhttp.HandlerOpts{})),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go server.Serve(listener)
	return nil
}
