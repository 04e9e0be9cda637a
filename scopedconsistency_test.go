package kinglet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/store"
)

// Each source has its own version, and is compared with its own part of the store.
func TestAConsistencyCheckOfSeveralSourcesIsOfOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScopedRig(t, kinglet.Options[pod]{},
			namespaces(podIn("a", "x", "n1"), podIn("b", "y", "n1"), podIn("b", "z", "n1"), podIn("c", "w", "n1")))
		if _, err := r.informer.CheckConsistency(t.Context()); !errors.Is(err, kinglet.ErrNotWatching) {
			t.Errorf("before Run: %v", err)
		}
		r.run()
		defer r.end()
		r.must(r.sources["b"].Update(podIn("b", "y", "n2"))) // its versions are ahead
		synctest.Wait()
		compared := map[string]int{}
		for n := range 6 {
			report, err := r.informer.CheckConsistency(t.Context())
			r.must(err)
			compared[report.Scope] += report.Compared
			if report.Differences > 0 || report.Complete != (n%3 == 2) {
				t.Errorf("check %d: %+v", n, report)
			}
		}
		if compared["a"] != 2 || compared["b"] != 4 || compared["c"] != 2 {
			t.Errorf("compared %v in two sweeps", compared)
		}
		if st := r.informer.Status().Consistency; st.Checks != 6 || st.Sweeps != 2 || st.Compared != 8 || st.NotChecked != 0 {
			t.Errorf("the status has %+v", st)
		}
	})
}

func TestADifferenceOfOneSourceHasThatOneListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScopedRig(t, kinglet.Options[pod]{ConsistencyCheck: kinglet.ConsistencyCheck{Every: time.Minute}},
			namespaces(podIn("a", "x", "n1"), podIn("b", "y", "n1"), podIn("c", "w", "n1")))
		r.run()
		defer r.end()
		r.must(r.informer.WritableStore().Write(store.Op[pod]{Key: kinglet.Key{Namespace: "b", Name: "y"}, Delete: true}))
		r.sources["c"].FailWatches(-1, errors.New("not now")) // it cannot be checked
		r.sources["c"].Disconnect(nil)
		testbubble.Pass(10 * time.Minute)
		found, err := (*kinglet.InconsistentError)(nil), error(nil)
		for _, err = range r.errors() {
			if errors.As(err, &found) {
				break
			}
		}
		if found == nil || found.Differences != 1 || found.Found[0].Kind != kinglet.Missing || found.Found[0].Key.Namespace != "b" {
			t.Errorf("reported %v", found)
		}
		st := r.informer.Status().Consistency
		if st.Differences != 1 || st.Relists != 1 || st.Sweeps != 0 || st.NotChecked == 0 || !errors.Is(st.LastNotChecked, kinglet.ErrNotWatching) {
			t.Errorf("the status has %+v", st)
		}
		r.sources["c"].FailWatches(0, nil)
		testbubble.Pass(10 * time.Minute)
		r.equal()
		if st := r.informer.Status().Consistency; st.Sweeps == 0 || st.Differences != 1 {
			t.Errorf("with all sources the status has %+v", st)
		}
		if one, _ := r.informer.SourceStatus("a"); one.Published != 1 {
			t.Errorf("a was listed %d times", one.Published)
		}
	})
}

// Scopes need not be namespaces, and no object belongs to two.
func TestAConsistencyCheckOfTheOthersKnowsWhatIsNotTheirs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newScopedRig(t, kinglet.Options[pod]{}, namespaces())
		sources := namespaces(podIn("a", "x", "n1"), podIn("b", "y", "n1"))
		rest := kinglet.ScopedSource[pod]{Scope: others("a"), Source: sources["b"]}
		r.must(r.informer.SetSources(scopedOf("a", sources["a"]), rest))
		r.run()
		defer r.end()
		for range 4 {
			if report, err := r.informer.CheckConsistency(t.Context()); err != nil || report.Compared != 1 || report.Differences > 0 {
				t.Errorf("%+v, %v", report, err)
			}
		}
		r.must(r.informer.RemoveSource("a"))
		if report, err := r.informer.CheckConsistency(t.Context()); err != nil || !report.Complete || report.Scope != "others" {
			t.Errorf("with one source left: %+v, %v", report, err)
		}
		r.must(r.informer.SetSources())
		if _, err := r.informer.CheckConsistency(t.Context()); !errors.Is(err, kinglet.ErrNotWatching) {
			t.Errorf("without a source: %v", err)
		}
	})
}

// uncomparable is a source that cannot be a key of a map.
type uncomparable struct {
	source.Source[pod]
	_ []func()
}

func TestAConsistencyCheckAsksNothingOfASourcesType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := uncomparable{Source: sourcetest.NewStatic(podIn("a", "x", "n1"))}
		single, err := kinglet.New[pod](src, kinglet.Options[pod]{})
		if err != nil {
			t.Fatal(err)
		}
		scoped, err := kinglet.NewScoped(kinglet.Options[pod]{}, scopedOf("a", src))
		if err != nil {
			t.Fatal(err)
		}
		for _, inf := range []*kinglet.Informer[pod]{single, scoped} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- inf.Run(ctx) }()
			synctest.Wait()
			if report, err := inf.CheckConsistency(t.Context()); err != nil || report.Compared != 1 {
				t.Errorf("%+v, %v", report, err)
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
