package kinglet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

func podIn(namespace, name, node string) pod {
	p := newPod(name, node)
	p.Namespace = namespace
	return p
}

// scopedRig is an informer of several namespaces, inside a synctest bubble.
type scopedRig struct {
	rig
	sources map[string]*sourcetest.Static[pod]
}

// namespaces returns a source for each namespace of the pods.
func namespaces(pods ...pod) map[string]*sourcetest.Static[pod] {
	sources := map[string]*sourcetest.Static[pod]{}
	by := map[string][]pod{}
	for _, p := range pods {
		by[p.Namespace] = append(by[p.Namespace], p)
	}
	for ns, pods := range by {
		sources[ns] = sourcetest.NewStatic(pods...)
	}
	return sources
}

func scopedOf(ns string, src source.Source[pod]) kinglet.ScopedSource[pod] {
	return kinglet.ScopedSource[pod]{Scope: kinglet.NamespaceScope(ns), Source: src}
}

func newScopedRig(t *testing.T, opts kinglet.Options[pod], sources map[string]*sourcetest.Static[pod]) *scopedRig {
	t.Helper()
	r := &scopedRig{rig: rig{t: t, ended: make(chan error, 1)}, sources: sources}
	opts.OnError = r.report
	var scoped []kinglet.ScopedSource[pod]
	for ns, src := range sources {
		scoped = append(scoped, scopedOf(ns, src))
	}
	inf, err := kinglet.NewScoped(opts, scoped...)
	if err != nil {
		t.Fatal(err)
	}
	r.informer = inf
	return r
}

func (r *scopedRig) addSource(ns string, src *sourcetest.Static[pod]) {
	r.t.Helper()
	r.must(r.informer.AddSource(scopedOf(ns, src)))
	r.sources[ns] = src
	synctest.Wait()
}

func (r *scopedRig) removeSource(ns string) {
	r.t.Helper()
	r.must(r.informer.RemoveSource(ns))
	delete(r.sources, ns)
	synctest.Wait()
}

// equal fails unless the store holds what the sources have, in key order.
func (r *scopedRig) equal() {
	r.t.Helper()
	var want, got []string
	for ns, src := range r.sources {
		for _, p := range src.Objects() {
			want = append(want, ns+"/"+p.Name+"@"+p.ResourceVersion)
		}
	}
	slices.Sort(want)
	for p := range r.informer.Store().All() {
		got = append(got, p.Namespace+"/"+p.Name+"@"+p.ResourceVersion)
	}
	if !slices.Equal(got, want) {
		r.t.Errorf("store has %v, sources have %v", got, want)
	}
	if err := r.informer.Snapshot().Check(); err != nil {
		r.t.Error(err)
	}
}

func TestSeveralSourcesHaveOneStoreOneOrderAndOneHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScopedRig(t, kinglet.Options[pod]{Indexers: map[string]kinglet.IndexFunc[pod]{"node": byNode}},
			namespaces(podIn("b", "y", "n1"), podIn("a", "x", "n1"), podIn("c", "z", "n2")))
		rec := &recorder{}
		reg := r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		r.equal()
		expect(t, rec.take(), "Initial Added x on n1", "Initial Added y on n1", "Initial Added z on n2")
		if !reg.HasSynced() || !r.informer.HasSynced() {
			t.Error("not synced")
		}
		if n, err := r.informer.Store().IndexCount("node", "n1"); n != 2 || err != nil {
			t.Errorf("%d pods on n1 (%v), want those of both namespaces", n, err)
		}
		r.must(r.sources["b"].Update(podIn("b", "y", "n3")))
		synctest.Wait()
		r.must(r.sources["a"].Delete(kinglet.Key{Namespace: "a", Name: "x"}))
		synctest.Wait()
		expect(t, rec.take(), "Live Updated y on n3", "Live Deleted x on n1")
		r.equal()
		for ns, src := range r.sources {
			if got := r.informer.Snapshot().ResourceVersion(ns); got != src.ResourceVersion() {
				t.Errorf("version of %s is %q, its source is at %s", ns, got, src.ResourceVersion())
			}
		}
	})
}

func TestAnInformerOfSeveralSourcesHasSyncedOnceEachHasBeenListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sources := namespaces(podIn("a", "x", "n1"), podIn("b", "y", "n1"))
		sources["b"].FailLists(3, errors.New("forbidden"))
		sources["b"].FailWatches(3, errors.New("forbidden"))
		r := newScopedRig(t, kinglet.Options[pod]{}, sources)
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		if r.informer.HasSynced() {
			t.Error("synced although b has not been listed")
		}
		if _, ok := r.informer.Store().Get(kinglet.Key{Namespace: "a", Name: "x"}); !ok {
			t.Error("a waits for b in reads")
		}
		if st := r.informer.Status(); st.Phase != reflector.BackingOff || st.LastError == nil {
			t.Errorf("status is %v, %v", st.Phase, st.LastError)
		}
		expect(t, rec.take())
		testbubble.Pass(time.Minute)
		if !r.informer.HasSynced() {
			t.Error("not synced")
		}
		expect(t, rec.take(), "Initial Added x on n1", "Initial Added y on n1")
	})
}

func TestRemovingTheSourceThatFailsLetsTheOthersSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sources := namespaces(podIn("a", "x", "n1"), podIn("b", "y", "n1"))
		sources["b"].FailLists(1000, errors.New("forbidden"))
		sources["b"].FailWatches(1000, errors.New("forbidden"))
		r := newScopedRig(t, kinglet.Options[pod]{}, sources)
		r.run()
		defer r.end()
		r.removeSource("b")
		if !r.informer.HasSynced() {
			t.Error("not synced")
		}
		r.equal()
	})
}

func TestSourcesComeAndGoWhileTheInformerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScopedRig(t, kinglet.Options[pod]{}, namespaces(podIn("a", "x", "n1")))
		rec := &recorder{}
		r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		rec.take()
		listsOfA := r.sources["a"].Stats()
		b := sourcetest.NewStatic(podIn("b", "y", "n1"))
		r.addSource("b", b)
		expect(t, rec.take(), "Initial Added y on n1")
		r.equal()
		if err := r.informer.AddSource(scopedOf("b", b)); !errors.Is(err, kinglet.ErrScopeExists) {
			t.Errorf("b again: %v", err)
		}
		r.removeSource("b")
		expect(t, rec.take(), "Relist Deleted y on n1 (final state unknown)")
		r.equal()
		if err := r.informer.RemoveSource("b"); !errors.Is(err, kinglet.ErrNoScope) {
			t.Errorf("b removed again: %v", err)
		}
		if v := r.informer.Snapshot().ResourceVersion("b"); v != "" {
			t.Errorf("b is gone and has version %s", v)
		}
		r.must(b.Update(podIn("b", "y", "n2")))
		synctest.Wait()
		expect(t, rec.take())
		r.addSource("b", b)
		expect(t, rec.take(), "Initial Added y on n2")
		if now := r.sources["a"].Stats(); now != listsOfA {
			t.Errorf("a was asked again: %+v, before %+v", now, listsOfA)
		}
		if st, ok := r.informer.SourceStatus("b"); !ok || st.Phase != reflector.Watching || st.ResourceVersion != b.ResourceVersion() {
			t.Errorf("b is %v at %s, %v", st.Phase, st.ResourceVersion, ok)
		}
	})
}

func TestAnInformerWithoutSourcesHasSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScopedRig(t, kinglet.Options[pod]{Name: "pods"}, map[string]*sourcetest.Static[pod]{})
		rec := &recorder{}
		reg := r.add(rec, kinglet.HandlerOptions{})
		r.run()
		if !r.informer.HasSynced() || !reg.HasSynced() {
			t.Error("not synced")
		}
		r.addSource("a", sourcetest.NewStatic(podIn("a", "x", "n1")))
		expect(t, rec.take(), "Initial Added x on n1")
		r.end()
		if err := r.informer.AddSource(scopedOf("b", sourcetest.NewStatic[pod]())); !errors.Is(err, kinglet.ErrStopped) {
			t.Errorf("a source added after the end: %v", err)
		}
		if err := r.informer.RemoveSource("a"); !errors.Is(err, kinglet.ErrStopped) {
			t.Errorf("a source removed after the end: %v", err)
		}
	})
}

func TestASourceSpeaksForItsScopeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sources := namespaces(podIn("a", "x", "n1"))
		sources["b"] = sourcetest.NewStatic(podIn("b", "y", "n1"), podIn("a", "stranger", "n1"))
		r := newScopedRig(t, kinglet.Options[pod]{}, sources)
		r.run()
		defer r.end()
		if _, ok := r.informer.Store().Get(kinglet.Key{Namespace: "a", Name: "stranger"}); ok {
			t.Error("b brought an object of a")
		}
		var bad *kinglet.KeyError
		if errs := r.errors(); len(errs) != 1 || !errors.As(errs[0], &bad) {
			t.Errorf("reported %v", errs)
		}
		sources["b"].Expire()
		sources["b"].Disconnect(nil)
		testbubble.Pass(time.Minute)
		if _, ok := r.informer.Store().Get(kinglet.Key{Namespace: "a", Name: "x"}); !ok {
			t.Error("a relist of b removed an object of a")
		}
	})
}

// TestTheSourceOfNewIsOneOfAnyNumber replaces it by that of a namespace.
func TestTheSourceOfNewIsOneOfAnyNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("p", "n1"))
		rec := &recorder{}
		reg := r.add(rec, kinglet.HandlerOptions{})
		r.run()
		defer r.end()
		expect(t, rec.take(), "Initial Added p on n1")
		if _, ok := r.informer.SourceStatus(""); !ok || reg.DeliveredThrough() == "" {
			t.Errorf("the source is there: %v, delivered through %q", ok, reg.DeliveredThrough())
		}
		r.must(r.informer.RemoveSource(""))
		synctest.Wait()
		expect(t, rec.take(), "Relist Deleted p on n1 (final state unknown)")
		r.must(r.informer.AddSource(scopedOf("a", sourcetest.NewStatic(podIn("a", "x", "n1")))))
		synctest.Wait()
		expect(t, rec.take(), "Initial Added x on n1")
		if v := r.informer.Status().ResourceVersion; v == "" {
			t.Error("no version")
		}
		if v, shown := reg.DeliveredThrough(), r.informer.Status().Handlers[0].DeliveredThrough; v != "" || shown != "" {
			t.Errorf("delivered through %q, %q, of which scope?", v, shown)
		}
	})
}

// Random sources come and go, fail and change, and each handler ends with what the
// sources have.
func TestGuaranteeEachHandlerSeesALegalHistoryOfSourcesThatComeAndGo(t *testing.T) {
	seed := testkit.Seed(t)
	for n := range uint64(testkit.Trials(50)) {
		synctest.Test(t, func(t *testing.T) { comeAndGo(t, rand.New(rand.NewPCG(seed, n))) })
	}
}

func comeAndGo(t *testing.T, rnd *rand.Rand) {
	r := newScopedRig(t, kinglet.Options[pod]{Name: "pods"}, map[string]*sourcetest.Static[pod]{})
	histories := []*history{newHistory(t), newHistory(t)}
	r.add(histories[0], kinglet.HandlerOptions{})
	all := map[string]*sourcetest.Static[pod]{}
	for n := range 4 {
		all[fmt.Sprint("ns", n)] = sourcetest.NewStatic[pod]()
	}
	r.run()
	for step := range 200 {
		ns := fmt.Sprint("ns", rnd.IntN(4))
		src, name := all[ns], fmt.Sprint("p", rnd.IntN(5))
		_, there := r.sources[ns]
		switch rnd.IntN(8) {
		case 0:
			if there {
				r.must(r.informer.RemoveSource(ns))
				delete(r.sources, ns)
			} else {
				r.must(r.informer.AddSource(scopedOf(ns, src)))
				r.sources[ns] = src
			}
		case 1:
			src.Expire()
			src.Disconnect(nil)
		case 2:
			_ = src.Delete(kinglet.Key{Namespace: ns, Name: name}) // it may not exist
		case 3:
			synctest.Wait()
		default:
			p := withUID(podIn(ns, name, fmt.Sprint("n", step)), "")
			if src.Add(p) != nil {
				_ = src.Update(p)
			}
		}
		if step == 100 {
			r.add(histories[1], kinglet.HandlerOptions{EveryVersion: true, Bound: 1 << 10})
		}
	}
	testbubble.Pass(2 * time.Minute)
	r.equal()
	want := map[kinglet.Key]string{}
	for p := range r.informer.Store().All() {
		want[kinglet.Key{Namespace: p.Namespace, Name: p.Name}] = p.Spec.NodeName
	}
	r.end()
	for n, h := range histories {
		h.equal(n, want)
	}
}

// history is a handler that checks that what it receives is a legal history.
type history struct {
	t     *testing.T
	nodes map[kinglet.Key]string
}

func newHistory(t *testing.T) *history { return &history{t: t, nodes: map[kinglet.Key]string{}} }

func (h *history) Handle(_ context.Context, changes []kinglet.Change[pod]) {
	for _, c := range changes {
		_, known := h.nodes[c.Key]
		if known == (c.Type == kinglet.Added) {
			h.t.Errorf("%s %s of %s, known before: %v", c.Reason, c.Type, c.Key, known)
		}
		if c.Type == kinglet.Deleted {
			delete(h.nodes, c.Key)
			continue
		}
		h.nodes[c.Key] = c.New.Spec.NodeName
	}
}

func (h *history) equal(n int, want map[kinglet.Key]string) {
	h.t.Helper()
	if len(want) != len(h.nodes) {
		h.t.Errorf("handler %d has %v, the store %v", n, h.nodes, want)
	}
	for key, node := range want {
		if h.nodes[key] != node {
			h.t.Errorf("handler %d has %s on %q, the store on %q", n, key, h.nodes[key], node)
		}
	}
}

// lacking has objects without what indexes read.
type lacking struct{ source.Source[pod] }

var errLacks = errors.New("it is left out")

func (l lacking) Traits() source.Traits {
	t := l.Source.Traits()
	t.CheckIndex = func(func(any) any) error { return errLacks }
	return t
}

func TestAnIndexOfWhatAnySourceLeavesOutIsAnError(t *testing.T) {
	whole := kinglet.ScopedSource[pod]{Scope: kinglet.NamespaceScope("a"), Source: sourcetest.NewStatic[pod]()}
	lacks := kinglet.ScopedSource[pod]{Scope: kinglet.NamespaceScope("b"), Source: lacking{sourcetest.NewStatic[pod]()}}
	indexed := kinglet.Options[pod]{Indexers: map[string]kinglet.IndexFunc[pod]{"node": byNode}}
	if _, err := kinglet.NewScoped(indexed, whole, lacks); !errors.Is(err, errLacks) {
		t.Errorf("New: %v", err)
	}
	inf, err := kinglet.NewScoped(kinglet.Options[pod]{}, whole, lacks)
	if err != nil {
		t.Fatal(err)
	}
	if err := inf.AddIndex("node", byNode); !errors.Is(err, errLacks) {
		t.Errorf("AddIndex: %v", err)
	}
	if inf, err = kinglet.NewScoped(indexed, whole); err != nil {
		t.Fatal(err)
	}
	if err := inf.AddSource(lacks); !errors.Is(err, errLacks) {
		t.Errorf("AddSource: %v", err)
	}
	if err := inf.SetSources(lacks); !errors.Is(err, errLacks) || inf.SourceSynced("a") == nil {
		t.Errorf("SetSources, which is to change nothing then: %v", err)
	}
}

// TestMaxObjectsBoundsAllScopesTogether is of lists that end at the same time, and of
// watches at the limit, where what adds nothing goes on.
func TestMaxObjectsBoundsAllScopesTogether(t *testing.T) {
	const limit = 10
	for name, in := range map[string][]int{
		"two scopes that fit alone": {6, 6}, "many": {3, 3, 3, 3, 3}, "one that does not fit": {11, 2}, "full": {4, 6},
	} {
		for _, pages := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in pages %v", name, pages), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var pods []pod
					total := 0
					for ns, n := range in {
						for i := range n {
							pods = append(pods, podIn(fmt.Sprint(ns), fmt.Sprint(i), "n"))
						}
						total += n
					}
					opts := kinglet.Options[pod]{MaxObjects: limit, DisableWatchList: pages}
					if pages {
						opts.PageSize = 2
					}
					r := newScopedRig(t, opts, namespaces(pods...))
					r.run()
					defer r.end()
					held := func() int {
						n := r.informer.Store().Len()
						if n > limit {
							t.Fatalf("%d objects are held", n)
						}
						return n
					}
					for range 100 {
						testbubble.Pass(time.Second)
						held()
					}
					if refused := errors.As(errors.Join(r.errors()...), new(*kinglet.LimitError)); r.informer.HasSynced() != (total <= limit) || refused != (total > limit) {
						t.Fatalf("synced %v, with the errors %v", r.informer.HasSynced(), r.errors())
					}
					// Once there are few enough, all are there.
					for _, p := range pods {
						if p.Name != "0" && total > limit {
							total--
							r.must(r.sources[p.Namespace].Delete(kinglet.Key{Namespace: p.Namespace, Name: p.Name}))
						}
					}
					testbubble.Pass(5 * time.Minute)
					if held() != total || !r.informer.HasSynced() {
						t.Fatalf("%d of %d are held: %v", held(), total, r.errors())
					}
					for n := range in {
						if total < limit {
							total++
							r.must(r.sources["0"].Add(podIn("0", fmt.Sprint("more", n), "n")))
						}
					}
					// Lists of what is there take no more room.
					before := len(r.errors())
					for _, src := range r.sources {
						src.Disconnect(apierrors.NewResourceExpired("too old"))
					}
					testbubble.Pass(time.Minute)
					for _, err := range r.errors()[before:] {
						if errors.As(err, new(*kinglet.LimitError)) {
							t.Errorf("a relist at the limit: %v", err)
						}
					}
					last := fmt.Sprint(len(in) - 1)
					r.must(r.sources["0"].Add(podIn("0", "too many", "n")))
					testbubble.Pass(10 * time.Second)
					held()
					r.must(r.sources[last].Update(podIn(last, "0", "other")))
					synctest.Wait()
					if p, ok := r.informer.Store().Get(kinglet.Key{Namespace: last, Name: "0"}); !ok || p.Spec.NodeName != "other" {
						t.Errorf("an update at the limit is not there: %+v, %v", p, r.errors())
					}
					r.must(r.sources[last].Delete(kinglet.Key{Namespace: last, Name: "0"}))
					synctest.Wait()
					if _, ok := r.informer.Store().Get(kinglet.Key{Namespace: last, Name: "0"}); ok {
						t.Error("a delete at the limit is not done")
					}
					testbubble.Pass(5 * time.Minute)
					if _, ok := r.informer.Store().Get(kinglet.Key{Namespace: "0", Name: "too many"}); !ok {
						t.Errorf("what fits now is not there: %v", r.errors())
					}
				})
			})
		}
	}
}
