package consistency_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

func TestASharedInformerCanBeComparedWithTheServerAndIsHealed(t *testing.T) {
	for _, transformed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			storage := apiserver.NewStorage(apiserver.ConfigMaps)
			for _, name := range []string{"a", "b", "c"} {
				_, err := storage.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"x": "y"}})
				if err != nil {
					t.Fatal(err)
				}
			}
			server := apiserver.New(storage, apiserver.Options{})
			defer server.Close()
			client := kubernetes.NewForConfigOrDie(server.Config())
			lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", "ns", fields.Everything())
			informer := cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{})
			if transformed {
				if err := informer.SetTransform(func(obj any) (any, error) {
					obj.(*corev1.ConfigMap).Data = nil
					return obj, nil
				}); err != nil {
					t.Fatal(err)
				}
			}
			var mu sync.Mutex
			var calls []string
			called := func(what string, obj any) {
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, what+" "+obj.(*corev1.ConfigMap).Name)
			}
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
				AddFunc: func(obj any, initial bool) {
					if !initial {
						called("add", obj)
					}
				},
				UpdateFunc: func(_, obj any) { called("update", obj) },
				DeleteFunc: func(obj any) { called("delete", obj) },
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); informer.RunWithContext(ctx) }()
			defer func() { stop(); <-ended }()
			synctest.Wait()

			check := func(compared, differences int) {
				t.Helper()
				r, err := informer.(cache.Observable).CheckConsistency(ctx)
				if err != nil || r.Compared != compared || r.Differences != differences {
					t.Errorf("transformed %v: %+v, %v", transformed, r, err)
				}
				synctest.Wait()
			}
			check(3, 0)
			held, _, _ := informer.GetStore().GetByKey("ns/b")
			if err := informer.GetStore().Delete(held); err != nil {
				t.Fatal(err)
			}
			check(3, 1)
			check(3, 0)
			mu.Lock()
			defer mu.Unlock()
			// The handler knows b, and was not told that it had gone.
			if !slices.Equal(calls, []string{"update b"}) || len(informer.GetStore().List()) != 3 {
				t.Errorf("transformed %v: %q, %d objects", transformed, calls, len(informer.GetStore().List()))
			}
		})
	}
}
