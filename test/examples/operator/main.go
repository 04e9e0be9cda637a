// Command operator runs the controller of Notebooks, as kubebuilder lays one out, on
// controller-runtime. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

func main() {
	stock := flag.Bool("stock", false, "run on controller-runtime's own cache and client")
	flag.Parse() // controller-runtime defines -kubeconfig
	ctrl.SetLogger(zap.New())
	cfg, err := ctrl.GetConfig()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), cfg, *stock)
	}
	if err != nil {
		ctrl.Log.Error(err, "stopped")
		os.Exit(1)
	}
}

// run runs the controller until ctx ends.
func run(ctx context.Context, cfg *rest.Config, stock bool) error {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := addToScheme(scheme); err != nil {
		return err
	}
	options := ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
	}
	if !stock {
		// This is all that kinglet needs; to go back, remove it.
		options.NewCache = ctrlruntime.NewCache
		options.NewClient = ctrlruntime.NewClient
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return err
	}
	err = mgr.GetFieldIndexer().IndexField(ctx, &Notebook{}, bySettings, func(obj client.Object) []string {
		return []string{obj.(*Notebook).Spec.Settings}
	})
	if err != nil {
		return fmt.Errorf("index of Notebooks: %w", err)
	}
	n := &notebooks{Client: mgr.GetClient(), events: mgr.GetEventRecorder("notebook")}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("notebook").
		For(&Notebook{}).
		Owns(&appsv1.Deployment{}).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(n.usersOf)).
		Complete(n)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}
