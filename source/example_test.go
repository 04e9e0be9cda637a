package source_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
