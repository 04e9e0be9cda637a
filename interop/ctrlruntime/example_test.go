package ctrlruntime

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// A manager whose cache is kinglet's, by one line.
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

// A view reads what the cache holds, without copies.
func ExampleFor() {
	cfg, stop := aCluster()
	defer stop()

	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		NewCache:       ctrlruntime.NewCache,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: podsOnly,
	})
	if err != nil {
		panic(err)
	}
	pods, err := ctrlruntime.For[*corev1.Pod](mgr.GetCache())
	if err != nil {
		panic(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()

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
	end()
	fmt.Println(<-ended)
	// Output:
	// cart
	// web
	// <nil>
}

// aCluster stands for ctrl.GetConfig.
func aCluster() (*rest.Config, func()) {
	storage := apiserver.NewStorage(apiserver.Pods)
	for _, p := range []*corev1.Pod{pod("shop", "web", "n2", nil), pod("shop", "cart", "n1", nil), pod("bank", "vault", "n1", nil)} {
		if _, err := storage.Create(p); err != nil {
			panic(err)
		}
	}
	server := apiserver.New(storage, apiserver.Options{})
	return server.Config(), server.Close
}

func podsOnly(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper(), nil }
