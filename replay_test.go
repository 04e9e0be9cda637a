package kinglet_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
)

// unversioned is a collection without versions, as those of fake clients are:
// each watch begins with everything that exists.
type unversioned struct {
	mu sync.Mutex
	// guarded by mu, all of them.
	pods    []pod
	watches int
	watch   *watch.FakeWatcher
}

// latest returns the watch that began last, and how many there were.
func (u *unversioned) latest() (*watch.FakeWatcher, int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.watch, u.watches
}

func (u *unversioned) set(pods ...pod) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pods = pods
}

func (u *unversioned) lister() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			u.mu.Lock()
			defer u.mu.Unlock()
			list := &corev1.PodList{}
			for _, p := range u.pods {
				list.Items = append(list.Items, *p.DeepCopy())
			}
			return list, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.watches++
			u.watch = watch.NewFakeWithChanSize(10, false)
			for _, p := range u.pods {
				u.watch.Add(p.DeepCopy())
			}
			return u.watch, nil
		},
	}
}

func TestAWatchWithoutVersionsThatRestartsDeliversOnlyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &unversioned{pods: []pod{newPod("a", "n1"), newPod("b", "n1")}}
		src, err := source.FromListerWatcher[pod](u.lister(), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		informer, err := kinglet.New[pod](src, kinglet.Options[pod]{DisableWatchList: true})
		if err != nil {
			t.Fatal(err)
		}
		rec := &recorder{}
		r := &rig{t: t, informer: informer, ended: make(chan error, 1)}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		rec.take()

		w, before := u.latest()
		w.Modify(newPod("a", "n1"))
		synctest.Wait()
		expect(t, rec.take(), "Live Updated a on n1") // somebody said that it changed

		testbubble.Pass(time.Hour)
		w, after := u.latest()
		if after < before+2 {
			t.Fatalf("%d watches in an hour, the test is about those that begin anew", after-before)
		}
		expect(t, rec.take())

		u.set(newPod("a", "n2"), newPod("b", "n1"), newPod("c", "n1"))
		w.Stop()
		testbubble.Pass(time.Hour)
		expect(t, rec.take(), "Live Updated a on n2", "Live Added c on n1")

		w, _ = u.latest()
		w.Delete(newPod("b", "n1"))
		w.Add(newPod("b", "n1"))
		synctest.Wait()
		expect(t, rec.take(), "Live Deleted b on n1", "Live Added b on n1")
	})
}
