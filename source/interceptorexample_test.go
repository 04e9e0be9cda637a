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
)

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
