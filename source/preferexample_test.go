package source_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/source"
)

// ExamplePrefer reads the wire where that can be done, and as client-go does
// otherwise, for a program that knows its type only when it runs.
func ExamplePrefer() {
	open := func(client rest.Interface, resource string) (*source.Preferred[any], error) {
		opts := source.Options{Example: &corev1.Pod{}}
		lw := cache.NewListWatchFromClient(client, resource, "", fields.Everything())
		ordinary, err := source.FromListerWatcher[any](lw, opts)
		if err != nil {
			return nil, err
		}
		wire, err := source.FromREST[any](client, resource, opts)
		return source.Prefer(wire, ordinary, source.PreferOptions{Missing: err})
	}
	cfg := &rest.Config{Host: "https://cluster.example"}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	pods, err := open(client.CoreV1().RESTClient(), "pods")
	fmt.Println(pods, err, pods.Stats().Reason)
	// Output: pods <nil> <nil>
}
