package ctrlruntime

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// lossy is a cache whose handlers do not receive everything.
type lossy struct {
	cache.Cache
	// lose reports whether a call of a handler for an object is left out.
	lose func(call string, obj *corev1.Pod) bool
}

func (l *lossy) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	i, err := l.Cache.GetInformer(ctx, obj, opts...)
	return lossyInformer{i, l}, err
}

type lossyInformer struct {
	cache.Informer
	cache *lossy
}

func (i lossyInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	lose := func(call string, obj any) bool {
		p, ok := obj.(*corev1.Pod)
		return ok && i.cache.lose(call, p)
	}
	return i.Informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !lose("add", obj) {
				h.OnAdd(obj, initial)
			}
		},
		UpdateFunc: func(before, now any) {
			if !lose("update", now) {
				h.OnUpdate(before, now)
			}
		},
		DeleteFunc: func(obj any) {
			if !lose("delete", obj) {
				h.OnDelete(obj)
			}
		},
	})
}

// A cache may hold the right objects and deliver something else.
func TestAComparisonFindsWhatAHandlerDidNotReceive(t *testing.T) {
	for call, want := range map[string]ctrlruntime.What{"add": ctrlruntime.Missing, "update": ctrlruntime.Stale, "delete": ctrlruntime.Surplus, "": 0} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCompared(t, ctrlruntime.CompareOptions{
					Every: 10 * time.Second,
					Shadow: func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
						made, err := ctrlruntime.NewCache(cfg, opts)
						return &lossy{made, func(by string, p *corev1.Pod) bool { return by == call && p.Name == "lost" }}, err
					},
				}, cache.Options{})
				defer func() { c.ended() }()
				c.create(pod("ns0", "there", "n1", nil))
				c.hold(&corev1.Pod{})
				c.create(pod("ns0", "lost", "n1", nil))
				synctest.Wait()
				if call != "add" { // an update would add it
					c.update(pod("ns0", "lost", "n2", nil))
					synctest.Wait()
				}
				if call == "delete" {
					if _, err := c.storage.Delete(apiserver.Pods.GroupResource(), keyed("ns0", "lost"), nil); err != nil {
						t.Fatal(err)
					}
				}
				testclock.Pass(2 * time.Minute)
				all := c.reports()
				switch {
				case want == 0 && len(all) == 0:
				case len(all) != 1 || all[0].What != want || all[0].Key != keyed("ns0", "lost") || all[0].Read != "what handlers received" || all[0].For < 30*time.Second:
					t.Errorf("reported %v", all)
				}
			})
		})
	}
}

// A kind that the program removes and uses again is followed from the start.
func TestAComparisonForgetsDeliveriesOfAnInformerThatIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompared(t, ctrlruntime.CompareOptions{Every: 10 * time.Second}, cache.Options{})
		defer func() { c.ended() }()
		c.create(pod("ns0", "a", "n1", nil), pod("ns0", "b", "n1", nil))
		c.hold(&corev1.Pod{})
		if err := c.cache.RemoveInformer(t.Context(), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.storage.Delete(apiserver.Pods.GroupResource(), keyed("ns0", "a"), nil); err != nil {
			t.Fatal(err)
		}
		c.hold(&corev1.Pod{})
		c.hold(&corev1.Pod{}) // the handlers are there
		testclock.Pass(2 * time.Minute)
		if all := c.reports(); len(all) > 0 || c.cache.Stats().Objects == 0 {
			t.Errorf("reported %v, %+v", all, c.cache.Stats())
		}
	})
}
