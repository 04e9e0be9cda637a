package cache

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
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

// The calls run concurrently, some of them fail, and the informer starts before, during or
// after them.
func TestScopesThatAreChangedAtOnceAreThoseOfTheInformer(t *testing.T) {
	r := seeded(t)
	ids := []string{"a", "b", "c"}
	for range testkit.Trials(500) {
		synctest.Test(t, func(t *testing.T) {
			lws := []ListerWatcher{server(t), server(t)}
			scope := func() ScopedListerWatcher { return scopedOf(ids[r.IntN(len(ids))], lws[r.IntN(len(lws))], nil) }
			refused := scopedOf("d", lws[0], nil)
			refused.Keep = []string{"status.phase"} // and not what the index reads
			inf := newScoped(t, ScopedInformerOptions{SharedIndexInformerOptions: SharedIndexInformerOptions{Indexers: Indexers{"node": byNode}}},
				scopedOf("a", lws[0], nil))
			starts := r.IntN(3) // before, meanwhile, after
			var stop func()
			run := func(when int) {
				if starts == when {
					stop = start(inf.RunWithContext)
				}
			}
			run(0)
			var all sync.WaitGroup
			for range 2 + r.IntN(3) {
				one, other := scope(), scope()
				what := r.IntN(4)
				all.Go(func() {
					var err, may error
					switch what {
					case 0:
						err, may = inf.AddScope(one), kinglet.ErrScopeExists
					case 1:
						err, may = inf.RemoveScope(one.Scope.ID), kinglet.ErrNoScope
					case 2:
						err, may = inf.SetScopes(one, other), kinglet.ErrScopeExists
					default:
						if err := inf.SetScopes(one, refused); !errors.As(err, new(*source.LeftOutError)) {
							t.Errorf("a scope without what an index reads: %v", err)
						}
					}
					if err != nil && !errors.Is(err, may) {
						t.Error(err)
					}
				})
			}
			run(1)
			all.Wait()
			run(2)
			defer stop()
			synctest.Wait()
			known := inf.(*sharedInformer).scopeIDs()
			for _, id := range append(ids, "d") {
				if _, has := inf.Kinglet().SourceStatus(id); has != slices.Contains(known, id) {
					t.Errorf("scope %s: the informer has it: %t, and knows %q", id, has, known)
				}
			}
			if !inf.HasSynced() {
				t.Errorf("with %q it does not sync: %v", known, inf.Status().LastError)
			}
		})
	}
}

func TestASetScopesThatFailsChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := server(t, podIn("a", "x", "n1"))
		inf := newScoped(t, ScopedInformerOptions{SharedIndexInformerOptions: SharedIndexInformerOptions{Indexers: Indexers{"node": byNode}}}, scopedOf("a", src, nil))
		refused := scopedOf("b", src, nil)
		refused.Keep = []string{"status.phase"}
		fails := func() {
			t.Helper()
			if err := inf.SetScopes(refused); !errors.As(err, new(*source.LeftOutError)) {
				t.Errorf("SetScopes: %v", err)
			}
		}
		fails() // before it runs, too
		defer runInformer(inf)()
		before := inf.GetStore().LastStoreSyncResourceVersion()
		fails()
		if after := inf.GetStore().LastStoreSyncResourceVersion(); !inf.HasSynced() || before == "" || after != before {
			t.Errorf("synced: %t, version %q, then %q", inf.HasSynced(), before, after)
		}
	})
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
	if got := handlerName(wrapper{}); got != "github.com/kinglet-go/kinglet/cache.wrapper" {
		t.Errorf("a wrapper of nothing: %q", got)
	}
	if got, want := handlerName(wrapper{&diary{}}), handlerName(&diary{}); got != want {
		t.Errorf("its name is %s, want %s", got, want)
	}
}
