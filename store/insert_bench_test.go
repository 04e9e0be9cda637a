package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/store"
)

// Pods as ReplicaSets name them, each with strings of its own: what costs is
// going to memory that is not in the cache.
func benchPods(n, replicas int) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: fmt.Sprintf("namespace-%03d", i*50/n),
				Name:      fmt.Sprintf("deployment-%06d-5d8f7c9b4-%05x", i/replicas, uint32(i)*2654435761>>12),
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%06d", uint32(i)*2654435761>>8%1000)},
		}
	}
	return pods
}

// churn is what both stores can do.
type churn struct{ insert, remove func(*corev1.Pod) }

func kingletChurn(b *testing.B) churn {
	s, err := store.New(store.Options[*corev1.Pod]{
		KeyFunc: func(p *corev1.Pod) (store.Key, error) {
			return store.Key{Namespace: p.Namespace, Name: p.Name}, nil
		},
		Indexers: map[string]store.IndexFunc[*corev1.Pod]{
			"namespace": func(p *corev1.Pod) ([]string, error) { return []string{p.Namespace}, nil },
			"node":      func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	return churn{
		func(p *corev1.Pod) {
			if err := s.Put(p); err != nil {
				b.Fatal(err)
			}
		},
		func(p *corev1.Pod) { s.Delete(store.Key{Namespace: p.Namespace, Name: p.Name}) },
	}
}

func clientGoChurn(b *testing.B) churn {
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		"namespace": cache.MetaNamespaceIndexFunc,
		"node":      func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	})
	return churn{
		func(p *corev1.Pod) {
			if err := s.Add(p); err != nil {
				b.Fatal(err)
			}
		},
		func(p *corev1.Pod) {
			if err := s.Delete(p); err != nil {
				b.Fatal(err)
			}
		},
	}
}

// benchChurn measures inserting, or deleting, every second of 100,000 pods in
// random order, over and over.
func benchChurn(b *testing.B, inserts bool) {
	for _, replicas := range []int{20, 3} {
		for _, engine := range []struct {
			name string
			make func(*testing.B) churn
		}{{"client-go", clientGoChurn}, {"kinglet", kingletChurn}} {
			b.Run(fmt.Sprintf("%d replicas/%s", replicas, engine.name), func(b *testing.B) {
				c := engine.make(b)
				var moving []*corev1.Pod
				for i, p := range benchPods(100_000, replicas) {
					if i%2 == 1 {
						moving = append(moving, p)
					}
					if i%2 == 0 || !inserts {
						c.insert(p)
					}
				}
				rnd := rand.New(rand.NewPCG(7, 11))
				shuffle := func() {
					rnd.Shuffle(len(moving), func(i, j int) { moving[i], moving[j] = moving[j], moving[i] })
				}
				do, undo := c.remove, c.insert
				if inserts {
					do, undo = c.insert, c.remove
				}
				shuffle()
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					if i%len(moving) == 0 && i > 0 {
						b.StopTimer()
						shuffle()
						for _, p := range moving {
							undo(p)
						}
						shuffle()
						b.StartTimer()
					}
					do(moving[i%len(moving)])
				}
			})
		}
	}
}

func BenchmarkInsertInRandomOrder(b *testing.B) { benchChurn(b, true) }
func BenchmarkDeleteInRandomOrder(b *testing.B) { benchChurn(b, false) }
