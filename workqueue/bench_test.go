package workqueue_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	kw "k8s.io/client-go/util/workqueue"

	"github.com/kinglet-go/kinglet/workqueue"
)

func keys(n int) []types.NamespacedName {
	list := make([]types.NamespacedName, n)
	for i := range list {
		list[i] = types.NamespacedName{Namespace: fmt.Sprintf("namespace-%d", i%50), Name: fmt.Sprintf("name-%d", i)}
	}
	return list
}

// An operation adds, gets and finishes a thousand items.
func BenchmarkAddGetDone(b *testing.B) {
	list := keys(1000)
	for name, q := range map[string]kw.TypedInterface[types.NamespacedName]{
		"client-go": kw.NewTyped[types.NamespacedName](),
		"kinglet":   workqueue.NewTyped[types.NamespacedName](),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, k := range list {
					q.Add(k)
				}
				for range list {
					item, _ := q.Get()
					q.Done(item)
				}
			}
		})
	}
}
