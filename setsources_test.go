package kinglet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// part is the part of a source in a scope, as a field selector would select it.
type part struct {
	source.Source[pod]
	scope kinglet.Scope
	// lists counts requests for everything, whether listed or streamed.
	lists atomic.Int32
}

func partOf(src source.Source[pod], scope kinglet.Scope) *part {
	return &part{Source: src, scope: scope}
}

func (p *part) scoped() kinglet.ScopedSource[pod] {
	return kinglet.ScopedSource[pod]{Scope: p.scope, Source: p}
}

func (p *part) List(ctx context.Context, req source.ListRequest[pod], yield func(source.Page[pod]) error) error {
	p.lists.Add(1)
	return p.Source.List(ctx, req, func(page source.Page[pod]) error {
		page.Items = slices.DeleteFunc(slices.Clone(page.Items), func(it source.Item[pod]) bool { return !p.scope.Has(it.Key) })
		return yield(page)
	})
}

func (p *part) Watch(ctx context.Context, req source.WatchRequest[pod], yield func([]source.Event[pod]) error) error {
	if req.SendInitialEvents {
		p.lists.Add(1)
	}
	return p.Source.Watch(ctx, req, func(events []source.Event[pod]) error {
		return yield(slices.DeleteFunc(slices.Clone(events), func(ev source.Event[pod]) bool {
			return ev.Type.HasObject() && !p.scope.Has(ev.Key)
		}))
	})
}

// others is the scope of all namespaces that are not named.
func others(named ...string) kinglet.Scope {
	return kinglet.Scope{ID: "others", Contains: func(k kinglet.Key) bool { return !slices.Contains(named, k.Namespace) }}
}

func TestSetSourcesAsksForWhatIsNewAndDeletesWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sources := namespaces(podIn("a", "x", "n1"), podIn("b", "y", "n1"))
		r := newScopedRig(t, kinglet.Options[pod]{}, sources)
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		rec.take()
		asked := sources["a"].Stats()
		c := sourcetest.NewStatic(podIn("c", "z", "n1"))
		r.must(r.informer.SetSources(scopedOf("c", c), scopedOf("a", sources["a"])))
		if _, ok := r.informer.Store().Get(kinglet.Key{Namespace: "b", Name: "y"}); ok {
			t.Error("b is still read")
		}
		synctest.Wait()
		expect(t, rec.take(), "Relist Deleted y on n1 (final state unknown)", "Initial Added z on n1")
		if now := sources["a"].Stats(); now != asked {
			t.Errorf("a was asked again: %+v, before %+v", now, asked)
		}
		delete(sources, "b")
		sources["c"] = c
		r.equal()
		if err := r.informer.SetSources(scopedOf("a", c), scopedOf("a", c)); !errors.Is(err, kinglet.ErrScopeExists) {
			t.Errorf("two sources of one scope: %v", err)
		}
		if err := r.informer.SetSources(scopedOf("a", nil)); err == nil {
			t.Error("a scope without a source is no error")
		}
		r.equal()
		r.must(r.informer.SetSources())
		if n := r.informer.Store().Len(); n != 0 {
			t.Errorf("%d objects without a source", n)
		}
		testbubble.Pass(time.Hour)
		st := r.informer.Status()
		if since, stale := st.StaleSince(time.Now()); stale {
			t.Errorf("without a source reads are stale since %v", since)
		}
		r.end()
		st = r.informer.Status()
		if since, stale := st.StaleSince(time.Now()); !stale || st.Phase != reflector.Stopped || time.Since(since) > time.Minute {
			t.Errorf("it has stopped without a source: phase %v, stale %v since %v", st.Phase, stale, since)
		}
		if err := r.informer.SetSources(); !errors.Is(err, kinglet.ErrStopped) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func TestAnObjectThatPassesToAnotherSourceStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := sourcetest.NewStatic(podIn("a", "x", "n1"), podIn("b", "y", "n1"), podIn("b", "changes", "n1"), podIn("c", "z", "n1"))
		a, rest := partOf(server, kinglet.NamespaceScope("a")), partOf(server, others("a"))
		r := newScopedRig(t, kinglet.Options[pod]{}, map[string]*sourcetest.Static[pod]{})
		r.must(r.informer.SetSources(a.scoped(), rest.scoped()))
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		rec.take()
		server.FailLists(2, errors.New("not now")) // of the two new sources
		server.FailWatches(2, errors.New("not now"))
		r.must(r.informer.SetSources(a.scoped(), partOf(server, kinglet.NamespaceScope("b")).scoped(), partOf(server, others("a", "b")).scoped()))
		synctest.Wait()
		r.must(server.Update(podIn("b", "changes", "n2")))
		r.must(server.Delete(kinglet.Key{Namespace: "c", Name: "z"}))
		if _, ok := r.informer.Store().Get(kinglet.Key{Namespace: "b", Name: "y"}); !ok {
			t.Error("y is not read while its new source is listed")
		}
		testbubble.Pass(time.Minute)
		if got := rec.take(); len(got) != 2 || !slices.Contains(got, "Initial Updated changes on n2") ||
			!slices.Contains(got, "Initial Deleted z on n1 (final state unknown)") {
			t.Errorf("received %v", got)
		}
		if n := a.lists.Load(); n != 1 {
			t.Errorf("a was listed %d times", n)
		}
	})
}

// Namespaces are named at random. Some have a source each, and one source covers the
// others: each handler sees a legal history and ends with what the sources have.
func TestGuaranteeEachHandlerSeesALegalHistoryWhileSourcesAreSet(t *testing.T) {
	seed := testkit.Seed(t)
	for n := range uint64(testkit.Trials(50)) {
		synctest.Test(t, func(t *testing.T) { setAtRandom(t, rand.New(rand.NewPCG(seed, n))) })
	}
}

func setAtRandom(t *testing.T, rnd *rand.Rand) {
	server := sourcetest.NewStatic[pod]()
	r := newScopedRig(t, kinglet.Options[pod]{Name: "pods"}, map[string]*sourcetest.Static[pod]{})
	h := newHistory(t)
	if rnd.IntN(2) == 0 {
		r.add(h, kinglet.HandlerOptions{EveryVersion: true, Bound: 1 << 10})
	} else {
		r.add(h, kinglet.HandlerOptions{})
	}
	r.run()
	now := map[string]*part{}
	for step := range 150 {
		switch ns := fmt.Sprint("ns", rnd.IntN(4)); rnd.IntN(8) {
		case 0:
			var named []string
			for n := range 4 {
				if rnd.IntN(2) == 0 {
					named = append(named, fmt.Sprint("ns", n))
				}
			}
			next := map[string]*part{}
			for _, name := range named {
				if next[name] = now[name]; now[name] == nil || rnd.IntN(4) == 0 {
					next[name] = partOf(server, kinglet.NamespaceScope(name))
				}
			}
			if rnd.IntN(2) == 0 {
				next["others"] = partOf(server, others(named...))
			}
			var sources []kinglet.ScopedSource[pod]
			for _, p := range next {
				sources = append(sources, p.scoped())
			}
			r.must(r.informer.SetSources(sources...))
			now = next
			for p := range r.informer.Store().All() {
				if !within(now, p) {
					t.Fatalf("%s/%s is in no scope", p.Namespace, p.Name)
				}
			}
		case 1:
			server.Expire()
			server.Disconnect(nil)
		case 2:
			_ = server.Delete(kinglet.Key{Namespace: ns, Name: fmt.Sprint("p", rnd.IntN(5))}) // it may not exist
		case 3:
			synctest.Wait()
		default:
			p := withUID(podIn(ns, fmt.Sprint("p", rnd.IntN(5)), fmt.Sprint("n", step)), "")
			if server.Add(p) != nil {
				_ = server.Update(p)
			}
		}
	}
	testbubble.Pass(2 * time.Minute)
	want := map[kinglet.Key]string{}
	for _, p := range server.Objects() {
		if within(now, p) {
			want[kinglet.Key{Namespace: p.Namespace, Name: p.Name}] = p.Spec.NodeName
		}
	}
	got := 0
	for p := range r.informer.Store().All() {
		if got++; want[kinglet.Key{Namespace: p.Namespace, Name: p.Name}] != p.Spec.NodeName {
			t.Errorf("%s/%s is on %s", p.Namespace, p.Name, p.Spec.NodeName)
		}
	}
	if got != len(want) {
		t.Errorf("the store has %d objects, the sources %d", got, len(want))
	}
	r.end()
	h.equal(0, want)
}

func within(now map[string]*part, p pod) bool {
	for _, one := range now {
		if one.scope.Has(kinglet.Key{Namespace: p.Namespace, Name: p.Name}) {
			return true
		}
	}
	return false
}

// laggingPart is a source whose lists of any version are those of another one.
type laggingPart struct {
	*part
	behind source.Source[pod]
}

func (l *laggingPart) List(ctx context.Context, req source.ListRequest[pod], yield func(source.Page[pod]) error) error {
	if req.ResourceVersion == "0" {
		return partOf(l.behind, l.scope).List(ctx, req, yield)
	}
	return l.part.List(ctx, req, yield)
}

func (l *laggingPart) Watch(ctx context.Context, _ source.WatchRequest[pod], _ func([]source.Event[pod]) error) error {
	<-ctx.Done()
	return ctx.Err()
}

// Scopes that are functions may share keys that the store does not have any more.
func TestTheListOfAnotherShardIsNotOlderThanWhatTheLastOneDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shard := func(n, of int) kinglet.Scope {
			return kinglet.Scope{ID: fmt.Sprint(n, " of ", of), Contains: func(k kinglet.Key) bool { return int(k.Name[0])%of == n }}
		}
		server, behind := sourcetest.NewStatic(newPod("b", "n")), sourcetest.NewStatic(newPod("b", "n"))
		r := &scopedRig{rig: rig{t: t, ended: make(chan error, 1)}}
		var err error
		r.informer, err = kinglet.NewScoped(kinglet.Options[pod]{DisableWatchList: true, OnError: r.report},
			partOf(server, shard(0, 2)).scoped(), partOf(server, shard(1, 2)).scoped())
		r.must(err)
		r.run()
		defer r.end()
		r.must(server.Delete(key("b")))
		synctest.Wait()
		var next []kinglet.ScopedSource[pod]
		for n := range 3 {
			next = append(next, kinglet.ScopedSource[pod]{Scope: shard(n, 3), Source: &laggingPart{partOf(server, shard(n, 3)), behind}})
		}
		r.must(r.informer.SetSources(next...))
		synctest.Wait()
		if _, there := r.informer.Store().Get(key("b")); there {
			t.Error("what was deleted is there again")
		}
	})
}

// slowEnd is a source whose watches take a second to end.
type slowEnd struct{ source.Source[pod] }

func (s slowEnd) Watch(ctx context.Context, req source.WatchRequest[pod], yield func([]source.Event[pod]) error) error {
	err := s.Source.Watch(ctx, req, yield)
	testbubble.Pass(time.Second)
	return err
}

func TestASourceCannotBeAddedThatSetSourcesIsAboutToAdd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		of := func(ns string) source.Source[pod] { return sourcetest.NewStatic(podIn(ns, "x", "n")) }
		r := &scopedRig{rig: rig{t: t, ended: make(chan error, 1)}}
		var err error
		r.informer, err = kinglet.NewScoped(kinglet.Options[pod]{OnError: r.report}, scopedOf("a", slowEnd{of("a")}))
		r.must(err)
		r.run()
		defer r.end()
		set := make(chan error, 1)
		go func() { set <- r.informer.SetSources(scopedOf("c", of("c")), scopedOf("d", of("d"))) }()
		synctest.Wait()
		if err := r.informer.AddSource(scopedOf("c", of("c"))); !errors.Is(err, kinglet.ErrScopeExists) {
			t.Errorf("AddSource: %v", err)
		}
		r.must(<-set)
		synctest.Wait()
		var there []string
		for p := range r.informer.Store().All() {
			there = append(there, p.Namespace)
		}
		if !slices.Equal(there, []string{"c", "d"}) {
			t.Errorf("objects of %v", there)
		}
		r.must(r.informer.RemoveSource("c"))
		r.must(r.informer.AddSource(scopedOf("c", of("c"))))
	})
}
