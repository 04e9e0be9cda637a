package source_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

func ExampleMap() {
	pods := sourcetest.NewStatic(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec:       corev1.PodSpec{NodeName: "node-7"},
	})
	type where struct{ node string }
	nodes := source.Map(pods, func(p *corev1.Pod) (*where, error) {
		return &where{node: p.Spec.NodeName}, nil
	})
	err := nodes.List(context.Background(), source.ListRequest[*where]{}, func(page source.Page[*where]) error {
		for _, it := range page.Items {
			fmt.Println(it.Key, "is on", it.Object.node)
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// shop/web is on node-7
	// <nil>
}

// A clientset goes on making the requests; kinglet reads what comes.
func ExampleWrapTransport() {
	cfg := &rest.Config{Host: "https://example.com"}
	cfg.Wrap(source.WrapTransport)
	pods := kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("default")

	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, o)
		},
	}
	src, err := source.FromListerWatcher[*corev1.Pod](lw, source.Options{Intercept: true})
	fmt.Println(src, err)
	// Output:
	// *v1.Pod <nil>
}
