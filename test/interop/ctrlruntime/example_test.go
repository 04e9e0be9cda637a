package ctrlruntime

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/ctrlruntime/compare"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/page"
	kingletprometheus "github.com/kinglet-go/kinglet/prometheus"
)

// A manager uses kinglet's cache with one line.
func Example() {
	cfg, stop := aCluster()
	defer stop()

	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		NewCache:       ctrlruntime.NewCache,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: podsOnly, // this cluster has no discovery; leave it out
	})
	if err != nil {
		panic(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()

	mgr.GetCache().WaitForCacheSync(ctx) // a controller's manager does it for it
	var pods corev1.PodList
	err = mgr.GetClient().List(ctx, &pods, client.InNamespace("shop"))
	for _, p := range pods.Items {
		fmt.Println(p.Name, p.Spec.NodeName)
	}
	fmt.Println(err)
	end()
	fmt.Println(<-ended)
	// Output:
	// cart n1
	// web n2
	// <nil>
	// <nil>
}

// Another line makes the client's writes part of every read of the manager's cache.
func Example_ownWrites() {
	mgr, run := aManager(ctrl.Options{
		NewCache:  ctrlruntime.NewCache,
		NewClient: ctrlruntime.NewClient,
	})
	ctx, end := run()

	mgr.GetCache().WaitForCacheSync(ctx)
	cl := mgr.GetClient()
	var pods corev1.PodList
	fmt.Println(cl.List(ctx, &pods, client.InNamespace("shop")), len(pods.Items))
	fmt.Println(cl.Create(ctx, pod("shop", "mail", "n3", nil)))
	fmt.Println(cl.Delete(ctx, pod("shop", "cart", "", nil)))
	// The watch may not have come to either.
	fmt.Println(cl.List(ctx, &pods, client.InNamespace("shop")))
	for _, p := range pods.Items {
		fmt.Println(p.Name, p.Spec.NodeName)
	}
	fmt.Println(end())
	// Output:
	// <nil> 2
	// <nil>
	// <nil>
	// <nil>
	// mail n3
	// web n2
	// <nil>
}

// A view reads what the cache holds, without copies.
func ExampleFor() {
	mgr, run := aManager(ctrl.Options{NewCache: ctrlruntime.NewCache})
	pods, err := ctrlruntime.For[*corev1.Pod](mgr.GetCache())
	if err != nil {
		panic(err)
	}
	ctx, end := run()

	if err := pods.WaitSynced(ctx); err != nil {
		panic(err)
	}
	all, err := pods.List(client.InNamespace("shop"))
	if err != nil {
		panic(err)
	}
	for p := range all {
		fmt.Println(p.Name) // read it, do not write to it
	}
	fmt.Println(end())
	// Output:
	// cart
	// web
	// <nil>
}

// A controller uses kinglet's queue with one line of its options.
func ExampleNewQueue() {
	mgr, run := aManager(ctrl.Options{NewCache: ctrlruntime.NewCache})
	done := make(chan string)
	err := ctrl.NewControllerManagedBy(mgr).
		For(&corev1.Pod{}).
		WithOptions(controller.Options{NewQueue: ctrlruntime.NewQueue}).
		Complete(reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
			done <- req.String()
			return reconcile.Result{}, nil
		}))
	if err != nil {
		panic(err)
	}
	_, end := run()

	for range 3 {
		fmt.Println(<-done)
	}
	fmt.Println(end())
	// Output:
	// bank/vault
	// shop/cart
	// shop/web
	// <nil>
}

// In shadow mode, controller-runtime's cache serves, kinglet's runs beside it, and
// differences are reported. Here the shadow has a bug.
func Example_compare() {
	found := make(chan compare.Difference, 20)
	compared := compare.Options{
		OnDifference: func(d compare.Difference) { found <- d }, // leave it out for a line in the log
		Every:        100 * time.Millisecond,
		Shadow: func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) { // leave it out for kinglet's
			opts.DefaultTransform = func(obj any) (any, error) {
				if p, ok := obj.(*corev1.Pod); ok && p.Name == "web" {
					p.Spec.NodeName = "n7"
				}
				return obj, nil
			}
			return ctrlruntime.NewCache(cfg, opts)
		},
	}
	mgr, run := aManager(ctrl.Options{
		NewCache: compared.NewCache, // compare.Options{}.NewCache is the one line
	})
	ctx, end := run()

	mgr.GetCache().WaitForCacheSync(ctx)
	var pods corev1.PodList
	err := mgr.GetClient().List(ctx, &pods)
	fmt.Println(len(pods.Items), err)
	d := <-found
	fmt.Println(d.Key, "is", d.What, "at", d.Path)
	fmt.Println(end())
	// Output:
	// 3 <nil>
	// shop/web is different at one version at .spec.nodeName
	// <nil>
}

// A Set shows the informers of a cache and the controllers on kinglet's queue: on a page,
// in metrics and to health checks.
func ExampleOptions_NewCache() {
	set := kinglet.NewSet()
	mgr, run := aManager(ctrl.Options{NewCache: ctrlruntime.Options{Set: set}.NewCache})
	if err := mgr.AddReadyzCheck("informers", set.Ready); err != nil {
		panic(err)
	}
	if err := mgr.AddMetricsServerExtraHandler("/informers", page.Handler(set)); err != nil { // the page
		panic(err)
	}
	registry := prometheus.NewRegistry() // metrics.Registry is controller-runtime's
	registry.MustRegister(kingletprometheus.NewCollector(set, kingletprometheus.Options{}))

	pods, err := ctrlruntime.For[*corev1.Pod](mgr.GetCache())
	if err != nil {
		panic(err)
	}
	ctx, end := run()
	if err := pods.WaitSynced(ctx); err != nil {
		panic(err)
	}
	for _, s := range set.Status() {
		fmt.Println(s.Name, s.Resource.Resource, s.Objects, s.Synced)
	}
	fmt.Println(set.Ready(nil))
	families, err := registry.Gather()
	fmt.Println(len(families) > 0, err)
	fmt.Println(end())
	// Output:
	// /v1, Kind=Pod pods 3 true
	// <nil>
	// true <nil>
	// <nil>
}

// aManager returns a manager of a cluster, and a function that starts it. That returns the
// manager's context, and a function that stops it and the cluster.
func aManager(opts ctrl.Options) (ctrl.Manager, func() (context.Context, func() error)) {
	cfg, stop := aCluster()
	opts.Metrics.BindAddress = "0"
	opts.MapperProvider = podsOnly
	mgr, err := ctrl.NewManager(cfg, opts)
	if err != nil {
		panic(err)
	}
	return mgr, func() (context.Context, func() error) {
		ctx, end := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- mgr.Start(ctx) }()
		return ctx, func() error {
			defer stop()
			end()
			return <-ended
		}
	}
}

// aCluster stands for ctrl.GetConfig.
func aCluster() (*rest.Config, func()) {
	storage := apiserver.NewStorage(apiserver.Pods)
	for _, p := range []*corev1.Pod{
		pod("shop", "web", "n2", nil), pod("shop", "cart", "n1", nil), pod("bank", "vault", "n1", map[string]string{"app": "mine"}),
	} {
		if _, err := storage.Create(p); err != nil {
			panic(err)
		}
	}
	server := apiserver.New(storage, apiserver.Options{})
	return server.Config(), server.Close
}

func podsOnly(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(), nil }
