package cache

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

func TestSetScopesChangesTheSourcesOfOneInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := server(t, podIn("a", "x", "n1")), server(t, podIn("b", "y", "n1"))
		all := ScopedListerWatcher{ListerWatcher: a}
		inf := newScoped(t, ScopedInformerOptions{}, all)
		d := &diary{}
		handle(t, inf, d)
		// Before it runs, too.
		if err := inf.SetScopes(scopedOf("a", a, nil)); err != nil {
			t.Fatal(err)
		}
		stop := runInformer(inf)
		d.expect(t, "first x@n1")
		if inf.LastSyncResourceVersion() == "" {
			t.Error("an informer of one source has no version")
		}
		// A source with the same ListerWatcher is not asked again, so its transform is
		// the one that it had.
		if err := inf.SetScopes(scopedOf("a", a, moved("n9")), scopedOf("b", b, moved("n2"))); err != nil {
			t.Fatal(err)
		}
		d.expect(t, "first y@n2")
		if v := inf.LastSyncResourceVersion(); v != "" {
			t.Errorf("an informer of two sources has version %s", v)
		}
		if err := inf.SetScopes(scopedOf("a", a, nil), scopedOf("a", a, nil)); !errors.Is(err, kinglet.ErrScopeExists) {
			t.Errorf("a scope twice: %v", err)
		}
		if err := inf.SetScopes(scopedOf("a", nil, nil)); err == nil {
			t.Error("a scope without a source is no error")
		}
		if err := inf.SetScopes(scopedOf("b", b, nil)); err != nil {
			t.Fatal(err)
		}
		d.expect(t, "lost a/x: x@n1")
		stop()
		if err := inf.SetScopes(); !errors.Is(err, kinglet.ErrStopped) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestAnIndexThatIsRemovedCanBeAddedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf := newScoped(t, ScopedInformerOptions{}, ScopedListerWatcher{ListerWatcher: server(t, podIn("a", "x", "n1"))})
		stop := runInformer(inf)
		defer stop()
		for range 2 {
			if err := inf.AddIndexers(Indexers{"node": byNode}); err != nil {
				t.Fatal(err)
			}
			if found, err := inf.GetIndexer().ByIndex("node", "n1"); err != nil || len(found) != 1 {
				t.Errorf("%v, %v", found, err)
			}
			if err := inf.RemoveIndexer("node"); err != nil {
				t.Fatal(err)
			}
		}
		if err := inf.RemoveIndexer("node"); !errors.Is(err, store.ErrNoIndex) {
			t.Errorf("an index that is gone: %v", err)
		}
		if _, err := inf.GetIndexer().ByIndex("node", "n1"); err == nil || len(inf.GetIndexer().GetIndexers()) != 0 {
			t.Error("the index is still there")
		}
	})
}

// Whichever of the two comes first, a scope that is not there can be added.
func TestAScopeThatSetScopesRemovedAtTheSameTimeCanBeAdded(t *testing.T) {
	lw := &ListWatch{}
	for range testkit.Trials(5000) {
		inf := newScoped(t, ScopedInformerOptions{})
		var both sync.WaitGroup
		both.Go(func() {
			if err := inf.AddScope(scopedOf("b", lw, nil)); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := inf.SetScopes(scopedOf("a", lw, nil)); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
		if err := inf.RemoveScope("b"); err == nil {
			continue
		} else if !errors.Is(err, kinglet.ErrNoScope) {
			t.Fatal(err)
		}
		if err := inf.AddScope(scopedOf("b", lw, nil)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAScopedInformerHasTheNameOfItsObjectsAndNotOfAFile(t *testing.T) {
	inf := newScoped(t, ScopedInformerOptions{
		SharedIndexInformerOptions: SharedIndexInformerOptions{ObjectDescription: "v1, Kind=Pod"},
	}, ScopedListerWatcher{ListerWatcher: server(t)})
	if name := inf.(*sharedInformer).name; name != "v1, Kind=Pod" {
		t.Errorf("its name is %s", name)
	}
}

// wrapper is a handler that wraps another.
type wrapper struct{ ResourceEventHandler }

func (w wrapper) Unwrap() ResourceEventHandler { return w.ResourceEventHandler }

func TestAHandlerThatWrapsAnotherHasItsName(t *testing.T) {
	if got, want := handlerName(wrapper{&diary{}}), handlerName(&diary{}); got != want {
		t.Errorf("its name is %s, want %s", got, want)
	}
}
