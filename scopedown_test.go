package kinglet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// written returns a pod of a namespace, as in the answer to a write that made version
// rv.
func written(namespace, name, node, rv string) pod {
	p := withUID(podIn(namespace, name, node), types.UID("u-"+name))
	p.ResourceVersion = rv
	return p
}

func nodeOf(r *scopedRig, namespace, name string) string {
	p, ok := r.informer.Store().Get(kinglet.Key{Namespace: namespace, Name: name})
	if !ok {
		return "absent"
	}
	return p.Spec.NodeName
}

func bookmark(rv string) source.Event[pod] {
	return source.Event[pod]{Type: source.Bookmark, Item: source.Item[pod]{ResourceVersion: rv}}
}

func TestGuarantee12HoldsInEachScopeByTheScopesOwnVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScopedRig(t, kinglet.Options[pod]{Indexers: map[string]kinglet.IndexFunc[pod]{"node": byNode}},
			namespaces(written("a", "x", "n1", ""), written("b", "y", "n1", "")))
		r.run()
		defer r.end()
		r.must(r.informer.Wrote(written("a", "x", "n2", "100")))
		r.must(r.informer.Wrote(written("b", "z", "n2", "101")))
		r.must(r.informer.WroteDelete(kinglet.Key{Namespace: "b", Name: "y"}, ""))
		shows := func(when, x, y, z string, onN2 int) {
			t.Helper()
			if gotX, gotY, gotZ := nodeOf(r, "a", "x"), nodeOf(r, "b", "y"), nodeOf(r, "b", "z"); gotX != x || gotY != y || gotZ != z {
				t.Errorf("%s: reads show %s, %s and %s, want %s, %s and %s", when, gotX, gotY, gotZ, x, y, z)
			}
			if n, err := r.informer.Snapshot().IndexCount("node", "n2"); n != onN2 || err != nil {
				t.Errorf("%s: %d on n2, want %d (%v)", when, n, onN2, err)
			}
		}
		shows("written", "n2", "absent", "n2", 2)
		// The version of a says nothing about b.
		r.sources["a"].Send(bookmark("1000"))
		synctest.Wait()
		shows("a is at 1000", "n1", "absent", "n2", 1)
		r.sources["b"].Send(bookmark("1000"))
		synctest.Wait()
		shows("both are at 1000", "n1", "absent", "absent", 0)
		if err := r.informer.Wrote(written("c", "x", "n1", "2000")); !errors.Is(err, kinglet.ErrNotCovered) || !strings.Contains(err.Error(), "c/x") {
			t.Errorf("a write to a namespace without a source: %v", err)
		}
		if err := r.informer.WroteDelete(kinglet.Key{Namespace: "c", Name: "x"}, "u"); !errors.Is(err, kinglet.ErrNotCovered) {
			t.Errorf("a delete in a namespace without a source: %v", err)
		}
	})
}

func TestAScopeThatLeavesTakesItsOwnWritesAndWaitsWithItAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScopedRig(t, kinglet.Options[pod]{}, namespaces(written("a", "x", "n1", ""), written("b", "y", "n1", "")))
		r.run()
		defer r.end()
		r.must(r.informer.Wrote(written("a", "x", "n2", "100")))
		r.must(r.informer.Wrote(written("b", "y", "n2", "100")))
		ofB, all := make(chan error, 1), make(chan error, 1)
		go func() { ofB <- r.informer.WaitSourceVersion(context.Background(), "b", "500") }()
		go func() { all <- r.informer.WaitVersion(context.Background(), "500") }()
		synctest.Wait()
		r.sources["a"].Send(bookmark("500"))
		synctest.Wait()
		select {
		case err := <-all:
			t.Fatalf("b is not at 500, and the wait for all is over: %v", err)
		default:
		}
		removed := r.sources["b"]
		r.removeSource("b")
		if err := <-ofB; !errors.Is(err, kinglet.ErrNoScope) || !strings.Contains(err.Error(), "scope b") {
			t.Errorf("the wait for b ended with %v", err)
		}
		if err := <-all; err != nil {
			t.Errorf("the wait for all ended with %v, and a is at the version", err)
		}
		if got := nodeOf(r, "b", "y"); got != "absent" {
			t.Errorf("b has left, and y is on %s", got)
		}
		var unconfirmed *kinglet.UnconfirmedWriteError
		errs := r.errors()
		if len(errs) != 1 || !errors.As(errs[0], &unconfirmed) || unconfirmed.Key.Name != "y" || !errors.Is(errs[0], kinglet.ErrNoScope) {
			t.Errorf("reported %v", errs)
		}
		if s := r.informer.Status().OwnWrites; s.Entries != 0 || s.Dropped != 0 || s.Confirmed != 1 {
			t.Errorf("%+v", s)
		}
		if err := r.informer.WaitSourceVersion(context.Background(), "b", "1"); !errors.Is(err, kinglet.ErrNoScope) {
			t.Errorf("a wait for a scope that is gone: %v", err)
		}
		// A scope that comes back knows nothing of before.
		r.addSource("b", removed)
		if got := nodeOf(r, "b", "y"); got != "n1" {
			t.Errorf("b is back, and y is on %s", got)
		}
	})
}

func TestAWaitForAllScopesIncludesOneThatIsAddedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScopedRig(t, kinglet.Options[pod]{}, namespaces(podIn("a", "x", "n1")))
		r.run()
		defer r.end()
		waited := make(chan error, 1)
		go func() { waited <- r.informer.WaitVersion(t.Context(), "500") }()
		synctest.Wait()
		r.addSource("b", sourcetest.NewStatic(podIn("b", "y", "n1")))
		r.sources["a"].Send(bookmark("500"))
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var not *kinglet.VersionNotReachedError
		if err := r.informer.WaitVersion(ctx, "500"); !errors.As(err, &not) || not.Scope != "b" || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want one that names scope b", err)
		}
		r.sources["b"].Send(bookmark("501"))
		if err := <-waited; err != nil {
			t.Error(err)
		}
	})
}

func TestAnswersAreReadByTheSourceOfTheirKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		moved := func(node string, src source.Source[pod]) source.Source[pod] {
			return source.Map(src, func(p pod) (pod, error) {
				p.Spec.NodeName = node
				return p, nil
			})
		}
		inf, err := kinglet.NewScoped(kinglet.Options[pod]{},
			scopedOf("a", moved("of a", sourcetest.NewStatic[pod]())), scopedOf("b", moved("of b", sourcetest.NewStatic[pod]())))
		if err != nil {
			t.Fatal(err)
		}
		end := start(t, inf)
		for _, ns := range []string{"a", "b"} {
			if err := inf.Wrote(written(ns, "x", "n1", "5")); err != nil {
				t.Error(err)
			}
			if p, ok := inf.Store().Get(kinglet.Key{Namespace: ns, Name: "x"}); !ok || p.Spec.NodeName != "of "+ns {
				t.Errorf("%s/x is %v, %v", ns, p, ok)
			}
		}
		end()
		if err := (&kinglet.OwnWrites{}).Add(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, inf); err != nil {
			t.Error(err)
		}
	})
}

func TestOwnWritesStayInReadsWhenSourcesAreReplacedBySetSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := sourcetest.NewStatic(written("a", "x", "n1", ""), written("b", "y", "n1", ""))
		r := newScopedRig(t, kinglet.Options[pod]{}, map[string]*sourcetest.Static[pod]{})
		r.must(r.informer.SetSources(kinglet.ScopedSource[pod]{Scope: kinglet.Scope{ID: "all"}, Source: all}))
		r.run()
		defer r.end()
		r.must(r.informer.Wrote(written("a", "x", "n2", "100")))
		r.must(r.informer.Wrote(written("b", "y", "n2", "100")))
		waited := make(chan error, 1)
		go func() { waited <- r.informer.WaitVersion(t.Context(), "100") }()
		synctest.Wait()
		a := sourcetest.NewStatic(written("a", "w", "n1", ""), written("a", "x", "n1", "")) // as new as all is
		a.FailLists(1, errors.New("not yet"))
		a.FailWatches(1, errors.New("not yet"))
		r.must(r.informer.SetSources(scopedOf("a", a)))
		synctest.Wait()
		if got := nodeOf(r, "a", "x"); got != "n2" {
			t.Errorf("the source of a was replaced, and x is on %s", got)
		}
		if got := nodeOf(r, "b", "y"); got != "absent" {
			t.Errorf("no source speaks for b, and y is on %s", got)
		}
		if s := r.informer.Status().OwnWrites; s.Entries != 1 || s.Dropped != 0 {
			t.Errorf("%+v", s)
		}
		testbubble.Pass(time.Minute)
		a.Send(bookmark("100"))
		if err := <-waited; err != nil {
			t.Error(err)
		}
		if s := r.informer.Status().OwnWrites; s.Entries != 0 || s.Confirmed != 1 {
			t.Errorf("%+v", s)
		}
	})
}
