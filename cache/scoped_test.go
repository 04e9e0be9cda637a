package cache

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/store"
)

func podIn(namespace, name, node string) *corev1.Pod {
	p := testPod(name, node)
	p.Namespace = namespace
	return p
}

func scopedOf(namespace string, lw ListerWatcher, transform TransformFunc) ScopedListerWatcher {
	return ScopedListerWatcher{Scope: kinglet.NamespaceScope(namespace), ListerWatcher: lw, Transform: transform}
}

// moved returns a transform that puts pods on a node.
func moved(node string) TransformFunc {
	return func(obj any) (any, error) {
		obj.(*corev1.Pod).Spec.NodeName = node
		return obj, nil
	}
}

func TestHandlersWaitForASourceThatIsRefusedAndReadsDoNot(t *testing.T) {
	silenced(t)
	synctest.Test(t, func(t *testing.T) {
		refused := &ListWatch{
			ListFunc:  func(metav1.ListOptions) (runtime.Object, error) { return nil, errBoom },
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return nil, errBoom },
		}
		inf := newScoped(t, ScopedInformerOptions{}, scopedOf("a", server(t, podIn("a", "x", "n1")), nil), scopedOf("b", refused, nil))
		d := &diary{}
		handle(t, inf, d)
		defer runInformer(inf)()
		testbubble.Elapse(time.Hour)
		d.expect(t)
		if n := len(inf.GetStore().List()); n != 1 || inf.HasSynced() {
			t.Errorf("the store has %d objects, synced: %t", n, inf.HasSynced())
		}
		if err := inf.RemoveScope("b"); err != nil {
			t.Fatal(err)
		}
		d.expect(t, "first x@n1")
	})
}

func TestAScopedInformerIsOneInformerOfAllItsSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := server(t, podIn("a", "x", "n1")), server(t, podIn("b", "y", "n1")), server(t, podIn("c", "z", "n1"))
		options := ScopedInformerOptions{SharedIndexInformerOptions: SharedIndexInformerOptions{Indexers: Indexers{"node": byNode}}}
		inf := newScoped(t, options, scopedOf("a", a, nil), scopedOf("b", b, moved("n2")))
		if err := inf.SetTransform(moved("n3")); err != nil {
			t.Fatal(err)
		}
		d := &diary{}
		reg := handle(t, inf, d)
		stop := runInformer(inf)
		d.expect(t, "first x@n3", "first y@n2")
		if !inf.HasSynced() || !reg.HasSynced() {
			t.Error("not synced")
		}
		// The scope's own transform counts, else the informer's.
		if found, err := inf.GetIndexer().ByIndex("node", "n2"); err != nil || len(found) != 1 {
			t.Errorf("%d pods on n2, %v", len(found), err)
		}
		b.Modify(podIn("b", "y", "n4"))
		d.expect(t, "update y@n2 to y@n2")
		if err := inf.AddScope(scopedOf("c", c, nil)); err != nil {
			t.Fatal(err)
		}
		d.expect(t, "first z@n3")
		if got := len(inf.GetStore().List()); got != 3 {
			t.Errorf("the store has %d objects", got)
		}
		if err := inf.AddScope(scopedOf("c", c, nil)); !errors.Is(err, kinglet.ErrScopeExists) {
			t.Errorf("a scope twice: %v", err)
		}
		if err := inf.RemoveScope("b"); err != nil {
			t.Fatal(err)
		}
		d.expect(t, "lost b/y: y@n2")
		if err := inf.RemoveScope("b"); !errors.Is(err, kinglet.ErrNoScope) {
			t.Errorf("a scope that is gone: %v", err)
		}
		if err := inf.AddScope(scopedOf("b", b, nil)); err != nil {
			t.Fatal(err)
		}
		d.expect(t, "first y@n3")
		stop()
		if err := inf.AddScope(scopedOf("d", c, nil)); !errors.Is(err, kinglet.ErrStopped) {
			t.Errorf("a scope after the end: %v", err)
		}
	})
}

func TestATransformMaySetWhatAnIndexReadsWheneverAScopeIsAdded(t *testing.T) {
	for name, add := range map[string]func(ScopedInformer, ScopedListerWatcher) error{
		"AddScope":  func(inf ScopedInformer, s ScopedListerWatcher) error { return inf.AddScope(s) },
		"SetScopes": func(inf ScopedInformer, s ScopedListerWatcher) error { return inf.SetScopes(s) },
	} {
		for _, transformed := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				inf := newScoped(t, ScopedInformerOptions{SharedIndexInformerOptions: SharedIndexInformerOptions{Indexers: Indexers{"node": byNode}}})
				if transformed {
					if err := inf.SetTransform(moved("n3")); err != nil {
						t.Fatal(err)
					}
				}
				scope := scopedOf("a", server(t, podIn("a", "x", "n1")), nil)
				scope.Keep = []string{"status.phase"}
				if err := add(inf, scope); (err == nil) != transformed {
					t.Errorf("%s, transformed %v: %v", name, transformed, err)
				}
			})
		}
	}
}

// TestTheStoresVersionIsTheOldestOfTheScopes with namespaces, and with one beside all
// others.
func TestTheStoresVersionIsTheOldestOfTheScopes(t *testing.T) {
	for _, second := range []string{"b", ""} {
		synctest.Test(t, func(t *testing.T) {
			a, b := server(t, podIn("a", "x", "n1")), server(t, podIn("b", "y", "n1"), podIn("b", "z", "n1"))
			var open atomic.Bool
			late := &ListWatch{
				ListFunc: func(o metav1.ListOptions) (runtime.Object, error) {
					if !open.Load() {
						return nil, errors.New("not yet")
					}
					return b.List(o)
				},
				WatchFunc: b.Watch,
			}
			other := scopedOf("b", late, nil)
			if second == "" {
				other.Scope = kinglet.Scope{Contains: func(k store.Key) bool { return k.Namespace != "a" }}
			}
			inf := newScoped(t, ScopedInformerOptions{}, other)
			_ = inf.SetWatchErrorHandler(func(*Reflector, error) {})
			version := inf.GetIndexer().LastStoreSyncResourceVersion
			stop := runInformer(inf)
			defer stop()
			if err := inf.AddScope(scopedOf("a", a, nil)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if v := version(); v != "" {
				t.Errorf("version %q while a scope has not been listed", v)
			}
			open.Store(true)
			testbubble.Elapse(time.Minute)
			if v := version(); v != "1" {
				t.Errorf("version %q, and the scopes have 1 and 2", v)
			}
			for range 3 {
				a.Modify(podIn("a", "x", "n2"))
			}
			testbubble.Elapse(time.Minute)
			if v := version(); v != "2" {
				t.Errorf("version %q, and the scopes have 4 and 2", v)
			}
			if err := inf.RemoveScope(other.Scope.ID); err != nil {
				t.Fatal(err)
			}
			if v := version(); v != "4" {
				t.Errorf("version %q, and the only scope has 4", v)
			}
		})
	}
}

func TestAScopedInformerRefusesScopesThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := server(t)
		for name, scopes := range map[string][]ScopedListerWatcher{
			"a scope twice":           {scopedOf("a", lw, nil), scopedOf("a", lw, nil)},
			"a scope without source":  {scopedOf("a", nil, nil), scopedOf("b", lw, nil)},
			"everything from nothing": {{}},
		} {
			if _, err := NewScopedInformer(&corev1.Pod{}, ScopedInformerOptions{}, scopes...); err == nil {
				t.Errorf("%s is taken", name)
			}
		}
		inf := newScoped(t, ScopedInformerOptions{})
		stop := runInformer(inf)
		defer stop()
		if !inf.HasSynced() {
			t.Error("without a scope it has not synced")
		}
	})
}
