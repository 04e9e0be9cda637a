package kinglet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// cached is a source whose lists come from a lagging cache, unless they must be
// consistent. If deaf is set, it ignores the version that they must have, as caches of
// old servers do.
type cached struct {
	*part
	before source.Source[pod]
	deaf   bool
}

func (l *cached) Traits() source.Traits {
	traits := l.part.Traits()
	traits.NoWatchList = true
	return traits
}

func (l *cached) List(ctx context.Context, req source.ListRequest[pod], yield func(source.Page[pod]) error) error {
	if req.ResourceVersion == "0" || l.deaf && req.ResourceVersion != "" {
		req.ResourceVersion, req.NotOlderThan = "0", false
		return partOf(l.before, l.scope).List(ctx, req, yield)
	}
	return l.part.List(ctx, req, yield)
}

// The first list of a source that takes over objects may be older than what the store
// has of them.
func TestGuarantee2ASourceThatTakesOverFromOthersDoesNotGoBack(t *testing.T) {
	replaced, everything := kinglet.NamespaceScope("a"), others()
	for name, was := range map[string]kinglet.Scope{"of the same scope": replaced, "of a larger scope": everything} {
		for how, deaf := range map[string]bool{"a cache that lags": false, "a cache that ignores the version": true} {
			for _, failing := range []bool{false, true} {
				if failing {
					how += ", after one that was never listed"
				}
				t.Run(name+", "+how, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { takeOver(t, was, deaf, failing) })
				})
			}
		}
	}
}

func takeOver(t *testing.T, was kinglet.Scope, deaf, failing bool) {
	initial := []pod{withUID(podIn("a", "stays", "n1"), "1"), withUID(podIn("a", "goes", "n1"), "2")}
	server, before := sourcetest.NewStatic(initial...), sourcetest.NewStatic(initial...)
	r := newScopedRig(t, kinglet.Options[pod]{}, map[string]*sourcetest.Static[pod]{})
	r.must(r.informer.SetSources(partOf(server, was).scoped()))
	rec := &recorder{}
	r.add(rec, kinglet.HandlerOptions{})
	r.run()
	defer r.end()
	r.must(server.Update(podIn("a", "stays", "n2")))
	r.must(server.Delete(kinglet.Key{Namespace: "a", Name: "goes"}))
	synctest.Wait()
	rec.take()
	scope := kinglet.NamespaceScope("a")
	if failing {
		broken := sourcetest.NewStatic[pod]()
		broken.FailLists(-1, errors.New("not now"))
		broken.FailWatches(-1, errors.New("not now"))
		r.must(r.informer.SetSources(partOf(broken, scope).scoped()))
		synctest.Wait()
		if st, _ := r.informer.SourceStatus("a"); st.ResourceVersion != "" {
			t.Errorf("a source that was never listed is at version %s", st.ResourceVersion)
		}
	}
	late := &cached{part: partOf(server, scope), before: before, deaf: deaf}
	r.must(r.informer.SetSources(kinglet.ScopedSource[pod]{Scope: scope, Source: late}))
	testbubble.Pass(time.Minute)
	expect(t, rec.take())
	if p, ok := r.informer.Store().Get(kinglet.Key{Namespace: "a", Name: "stays"}); !ok || p.Spec.NodeName != "n2" || r.informer.Store().Len() != 1 {
		t.Errorf("%d objects, %v", r.informer.Store().Len(), p)
	}
	if st, _ := r.informer.SourceStatus("a"); st.Phase != reflector.Watching || st.Epoch != 0 {
		t.Errorf("it is %v in epoch %d", st.Phase, st.Epoch)
	}
	r.must(server.Add(podIn("a", "comes", "n3")))
	synctest.Wait()
	expect(t, rec.take(), "Live Added comes on n3")
}

// A server whose versions are lower than the previous one's is followed in the end.
func TestASourceOfAServerWithLowerVersionsTakesOverInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pods []pod
		for _, name := range []string{"x", "y", "z"} {
			pods = append(pods, podIn("a", name, "n1"))
		}
		r := newScopedRig(t, kinglet.Options[pod]{}, namespaces(pods...))
		r.run()
		defer r.end()
		other := sourcetest.NewStatic(podIn("a", "x", "n9"))
		r.must(r.informer.SetSources(scopedOf("a", other)))
		testbubble.Pass(5 * time.Minute)
		r.sources["a"] = other
		r.equal()
	})
}
