package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	kc "k8s.io/client-go/tools/cache"
)

// overFake returns the functions that a program writes by hand, over a fake clientset.
func overFake(client *fake.Clientset) *kc.ListWatch {
	return &kc.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("").Watch(ctx, o)
		},
	}
}

// An informer over a fake clientset is as quick as client-go's, also where nothing says
// that the client is a fake: client-go's then never syncs.
func TestAnInformerOverAFakeClientsetIsAsQuickAsClientGos(t *testing.T) {
	silenced(t)
	for name, asked := range map[string]bool{"asked": true, "not asked": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(pod("a", "x1"))
				var lw ListerWatcher = overFake(client)
				if asked {
					lw = kc.ToListWatcherWithWatchListSemantics(overFake(client), client)
				}
				synced := map[string]time.Duration{}
				for who, informer := range map[string]SharedIndexInformer{
					"client-go": kc.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, Indexers{}),
					"kinglet":   NewSharedIndexInformer(lw, &corev1.Pod{}, 0, Indexers{}),
				} {
					start := time.Now()
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					done := make(chan struct{})
					go func() { defer close(done); informer.RunWithContext(ctx) }()
					synctest.Wait() // what takes no time has happened when the wait asks first
					synced[who] = time.Hour
					if WaitForCacheSync(ctx.Done(), informer.HasSynced) {
						synced[who] = time.Since(start)
					}
					if who == "kinglet" {
						if err := client.CoreV1().Pods("ns").Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
							t.Error(err)
						}
						synctest.Wait()
						if n := len(informer.GetStore().ListKeys()); n != 0 {
							t.Errorf("%d objects after the delete", n)
						}
						if err := client.Tracker().Add(pod("a", "x1")); err != nil {
							t.Error(err)
						}
					}
					cancel()
					<-done
				}
				if synced["kinglet"] > 200*time.Millisecond || synced["kinglet"] > synced["client-go"] {
					t.Errorf("synced after %v", synced)
				}
			})
		})
	}
}
