package kinglet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

func TestAStatusHasItsHandlersInTheOrderTheyWereAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"), newPod("b", "n1"))
		gate := make(chan struct{})
		stalled := &recorder{gate: gate}
		for _, name := range []string{"z", "gone", "m"} {
			h := &recorder{}
			if name == "m" {
				h = stalled
			}
			reg := r.add(h, kinglet.HandlerOptions{Name: name, MaxBatch: 1})
			if name == "gone" {
				reg.Remove()
			}
		}
		r.run()
		hs := r.informer.Status().Handlers
		if len(hs) != 2 || hs[0].Name != "z" || hs[1].Name != "m" {
			t.Fatalf("%+v", hs)
		}
		if z := hs[0]; !z.Synced || z.Pending != 0 || z.Changes[store.Initial] != 2 || z.Calls.Count() != 2 {
			t.Errorf("the one that keeps up: %+v", z)
		}
		if m := hs[1]; m.Synced || m.Pending != 1 || m.InFlight != 1 || m.CallKey != key("a") || m.CallSince.IsZero() || m.OldestPending.IsZero() {
			t.Errorf("the stalled one: %+v", m)
		}
		close(gate)
		r.end()
		if hs := r.informer.Status().Handlers; len(hs) != 0 {
			t.Errorf("after Run: %+v", hs)
		}
	})
}

func TestAStatusCountsDuplicatesStagesAndWhatIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{Indexers: map[string]store.IndexFunc[pod]{
			"picky": func(p pod) ([]string, error) {
				if p.Spec.NodeName == "bad" {
					return nil, errors.New("no value")
				}
				return []string{p.Spec.NodeName}, nil
			}}}, newPod("a", "n1"), newPod("b", "bad"))
		r.run()
		st := r.informer.Status()
		if st.FailuresByStage != (status.StageCounts{status.StageIndex: 1}) || st.Failures != 0 {
			t.Errorf("%v, %d failures", st.FailuresByStage, st.Failures)
		}
		if st.ListsByCause[reflector.ListStart] != 1 || st.SharingID != 0 || !st.Resource.Empty() {
			t.Errorf("%+v", st)
		}
		<-time.After(time.Second)
		r.must(r.src.Update(newPod("a", "n2")))
		synctest.Wait()
		if st := r.informer.Status(); st.EventsByType.Modified != 1 || st.Duplicates != 0 || !st.LastEvent.Equal(time.Now()) {
			t.Errorf("%+v", st)
		}
		r.end()
	})
}

func TestInspectShowsIndexesTransitionsRequestAndMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{Indexers: map[string]store.IndexFunc[pod]{"node": byNode}},
			newPod("a", "n1"), newPod("b", "n1"), newPod("c", "n2"))
		if d := r.informer.Inspect(); d.Memory.Sampled != 0 || len(d.Transitions) != 0 || !d.Watch.At.IsZero() {
			t.Errorf("before Run: %+v", d)
		}
		<-time.After(time.Minute + time.Second) // fake time: an estimate of no objects is kept this long
		r.run()
		var inspectable kinglet.Inspectable = r.informer
		d := inspectable.Inspect()
		if len(d.Indexes) != 1 || d.Indexes[0].Bytes == 0 {
			t.Fatalf("%+v", d.Indexes)
		}
		d.Indexes[0].Bytes = 0
		if d.Indexes[0] != (status.Index{Name: "node", Values: 2, Entries: 3, Largest: "n1", LargestObjects: 2}) {
			t.Errorf("%+v", d.Indexes[0])
		}
		last := d.Transitions[len(d.Transitions)-1]
		if d.Transitions[0].From != reflector.Starting || last.To != reflector.Watching {
			t.Errorf("%+v", d.Transitions)
		}
		if !d.Watch.UnderWay || d.Watch.At.IsZero() || d.Watch.Timeout == 0 {
			t.Errorf("%+v", d.Watch)
		}
		m := d.Memory
		if m.Sampled != 3 || m.Objects < 3*1000 || m.Keys < 3*48 || len(m.LargestObjects) != 3 || len(m.LargestNamespaces) != 1 {
			t.Errorf("%+v", m)
		}
		if space := m.LargestNamespaces[0]; space.Key != (kinglet.Key{Namespace: "ns"}) || space.Bytes > m.Objects || space.Bytes < m.Objects*9/10 {
			t.Errorf("%+v", space)
		}
		large := newPod("d", "n2")
		large.Annotations = map[string]string{"text": strings.Repeat("x", 100_000)}
		r.must(r.src.Add(large))
		synctest.Wait()
		<-time.After(59 * time.Second)
		if again := r.informer.Inspect().Memory; again.At != m.At || again.Objects != m.Objects {
			t.Errorf("estimated again within a minute: %+v", again)
		}
		<-time.After(2 * time.Second)
		if again := r.informer.Inspect().Memory; again.Objects < m.Objects+100_000 || again.LargestObjects[0].Key != key("d") {
			t.Errorf("not estimated again after it: %+v", again)
		}
		r.end()
	})
}

// secretive is a source of Secrets, one of which cannot be stored.
type secretive struct{ stage source.Stage }

func (s secretive) String() string { return "secrets" }

func (s secretive) Traits() source.Traits {
	return source.Traits{NoWatchList: true}
}

func (s secretive) List(_ context.Context, _ source.ListRequest[*corev1.Secret], yield func(source.Page[*corev1.Secret]) error) error {
	good := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "good"}, Data: map[string][]byte{"password": []byte("hunter2")}}
	bad := kinglet.Key{Namespace: "ns", Name: "bad"}
	return yield(source.Page[*corev1.Secret]{ResourceVersion: "5", Items: []source.Item[*corev1.Secret]{
		{Key: kinglet.Key{Namespace: "ns", Name: "good"}, Object: good},
		{Key: bad, Err: &source.ItemError{Stage: s.stage, Key: bad, Err: errors.New("hunter2 is no password")}},
	}})
}

func (s secretive) Watch(ctx context.Context, _ source.WatchRequest[*corev1.Secret], _ func([]source.Event[*corev1.Secret]) error) error {
	<-ctx.Done()
	return nil
}

func TestWhatIsShownOfSecretsHasNoneOfTheirContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf, err := kinglet.New[*corev1.Secret](secretive{source.StageTransform}, kinglet.Options[*corev1.Secret]{
			OnError: func(error) {},
			Indexers: map[string]store.IndexFunc[*corev1.Secret]{
				"password": func(s *corev1.Secret) ([]string, error) { return []string{string(s.Data["password"])}, nil },
			}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		synctest.Wait()
		d := inf.Inspect()
		if len(d.Quarantined) != 1 || d.Quarantined[0].Stage != status.StageTransform || d.Indexes[0].LargestObjects != 1 || d.Memory.Objects == 0 {
			t.Errorf("%+v", d)
		}
		if text := fmt.Sprintf("%+v %+v", d, inf.Status()); strings.Contains(text, "hunter2") {
			t.Error(text)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestStatusAndInspectMayBeReadWhileEverythingRuns(t *testing.T) {
	src := sourcetest.NewStatic[pod]()
	inf, err := kinglet.New[pod](src, kinglet.Options[pod]{Indexers: map[string]store.IndexFunc[pod]{"node": byNode}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inf.AddHandler(&recorder{}, kinglet.HandlerOptions{Resync: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	set := kinglet.NewSet()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				st := inf.Status()
				var ends uint64
				for _, n := range st.WatchEnds {
					ends += n
				}
				if ends > st.Watches+st.Streams {
					t.Errorf("%d watches ended of %d", ends, st.Watches)
				}
				inf.Inspect()
				set.Status()
			}
		})
	}
	ended := make(chan error)
	go func() { ended <- set.Run(ctx) }()
	if err := set.Add(inf); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		if err := src.Add(newPod(fmt.Sprint("p", i), fmt.Sprint("n", i%5))); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			reg, err := inf.AddHandler(&recorder{}, kinglet.HandlerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer reg.Remove()
		}
	}
	if err := inf.WaitSynced(ctx); err != nil {
		t.Error(err)
	}
	close(stop)
	wg.Wait()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAStatusAllocatesItsHandlersAlone(t *testing.T) {
	src := sourcetest.NewStatic(newPod("a", "n1"))
	inf, err := kinglet.New[pod](src, kinglet.Options[pod]{})
	if err != nil {
		t.Fatal(err)
	}
	if n := testkit.Allocs(100, func() { inf.Status() }); n != 0 {
		t.Errorf("%v allocations without a handler", n)
	}
	if _, err := inf.AddHandler(&recorder{}, kinglet.HandlerOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Allocs(100, func() { inf.Status() }); n != 1 {
		t.Errorf("%v allocations with one", n)
	}
}

func BenchmarkStatus(b *testing.B) {
	src := sourcetest.NewStatic(newPod("a", "n1"))
	inf, err := kinglet.New[pod](src, kinglet.Options[pod]{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := inf.AddHandler(&recorder{}, kinglet.HandlerOptions{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		inf.Status()
	}
}
