package cache

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

func TestHandlersOfASharedInformerSeeALegalHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := server(t, testPod("a", "n1"))
		inf := NewSharedIndexInformer(src, &corev1.Pod{}, 0, Indexers{"node": byNode})
		early, late := &diary{}, &diary{}
		r, err := inf.AddEventHandler(early)
		reg := added(t, r, err)
		if inf.HasSynced() || reg.HasSynced() || inf.IsStopped() {
			t.Error("synced or stopped before Run")
		}
		stop := runInformer(inf)
		early.expect(t, "first a@n1")
		if !inf.HasSynced() || !reg.HasSynced() || !IsDone(inf.HasSyncedChecker()) || !IsDone(reg.HasSyncedChecker()) {
			t.Error("not synced")
		}
		src.Add(testPod("b", "n1"))
		src.Modify(testPod("b", "n2"))
		src.Delete(testPod("a", "n1"))
		early.expect(t, "add b@n1", "update b@n1 to b@n2", "delete a@n1")
		r, err = inf.AddEventHandler(late)
		added(t, r, err)
		late.expect(t, "first b@n2")
		if got, err := inf.GetIndexer().ByIndex("node", "n2"); err != nil || len(got) != 1 {
			t.Errorf("by index: %v, %v", got, err)
		}
		if got := inf.LastSyncResourceVersion(); got == "" || got != inf.GetController().LastSyncResourceVersion() {
			t.Errorf("last version is %q", got)
		}
		// What went while the watch was broken comes out of the next list.
		src.DeleteDropWatch(testPod("b", "n2"))
		src.ResetWatch()
		testclock.Elapse(time.Minute)
		early.expect(t, "lost ns/b: b@n2")
		stop()
		if !inf.IsStopped() {
			t.Error("not stopped")
		}
		if _, err := inf.AddEventHandler(late); err == nil {
			t.Error("a handler was added after the end")
		}
		if inf.AddIndexers(Indexers{"x": byNode}) == nil {
			t.Error("an index was added after the end")
		}
	})
}

func TestAHandlerRemovesItselfAndAnyOneAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := server(t, testPod("a", "n1"), testPod("b", "n1"))
		inf := NewSharedInformer(src, &corev1.Pod{}, 0)
		var self ResourceEventHandlerRegistration
		d := &diary{during: func(string) {
			if err := inf.RemoveEventHandler(self); err != nil {
				t.Error(err)
			}
		}}
		r, err := inf.AddEventHandler(d)
		self = added(t, r, err)
		before, err := inf.AddEventHandler(&diary{})
		if err := ShutDownEventHandler(inf, added(t, before, err)); err != nil {
			t.Error(err)
		}
		stop := runInformer(inf)
		d.expect(t, "first a@n1")
		for range 2 {
			if err := ShutDownEventHandler(inf, self); err != nil {
				t.Error(err)
			}
		}
		src.Add(testPod("c", "n1"))
		d.expect(t)
		if self.HasSynced() {
			t.Error("a handler that left in the middle of the first list has synced")
		}
		stop()
		other := NewSharedInformer(src, &corev1.Pod{}, 0)
		if err := other.RemoveEventHandler(self); err != nil {
			t.Errorf("a handle of another informer: %v", err)
		}
		if other.RemoveEventHandler(nil) == nil {
			t.Error("nil was taken for a handle")
		}
	})
}

func TestResyncPeriodsAreMultiplesOfTheInformers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := server(t, testPod("a", "n1"))
		inf := NewSharedInformer(src, &corev1.Pod{}, time.Minute)
		add := func(period time.Duration) *diary {
			d := &diary{}
			r, err := inf.AddEventHandlerWithResyncPeriod(d, period)
			added(t, r, err)
			return d
		}
		passes := func(d *diary) (n int) {
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, line := range d.lines {
				if line == "update a@n1 to a@n1" {
					n++
				}
			}
			return n
		}
		never, short, odd := add(0), add(time.Millisecond), add(2500*time.Millisecond)
		byDefault := &diary{}
		r, err := inf.AddEventHandler(byDefault)
		added(t, r, err)
		stop := runInformer(inf) // the informer's period is a second now
		late := add(1200 * time.Millisecond)
		testclock.Elapse(time.Minute)
		for _, c := range []struct {
			name string
			d    *diary
			want int
		}{{"never", never, 0}, {"raised to a second", short, 60}, {"2.5 s", odd, 20}, {"a minute", byDefault, 1}, {"late, 1.2 s", late, 30}} {
			if got := passes(c.d); got != c.want {
				t.Errorf("%s: %d resyncs in a minute, want %d", c.name, got, c.want)
			}
		}
		stop()
	})
}

func TestAnInformerWithoutAResyncPeriodDoesNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf := NewSharedInformer(server(t, testPod("a", "n1")), &corev1.Pod{}, 0)
		d := &diary{}
		r, err := inf.AddEventHandlerWithResyncPeriod(d, time.Second)
		added(t, r, err)
		stop := runInformer(inf)
		testclock.Elapse(time.Hour)
		d.expect(t, "first a@n1")
		stop()
	})
}

func TestTheStoreTakesDirectWritesWithoutNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf := NewSharedIndexInformer(server(t, testPod("a", "n1")), &corev1.Pod{}, 0, Indexers{"node": byNode})
		d := &diary{}
		r, err := inf.AddEventHandler(d)
		added(t, r, err)
		if err := inf.GetStore().Add(testPod("written", "n1")); err != nil {
			t.Error(err)
		}
		if keys, err := inf.GetIndexer().IndexKeys("node", "n1"); err != nil || !slices.Equal(keys, []string{"ns/written"}) {
			t.Errorf("index keys: %v, %v", keys, err)
		}
		stop := runInformer(inf)
		d.expect(t, "first a@n1")
		if keys := inf.GetStore().ListKeys(); !slices.Equal(keys, []string{"ns/a"}) {
			t.Errorf("after the list there are %v", keys)
		}
		if err := inf.GetStore().Delete(testPod("a", "n1")); err != nil {
			t.Error(err)
		}
		d.expect(t)
		stop()
	})
}

func TestSettersFailOnceTheInformerHasStartedAndItRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf := NewSharedInformer(server(t), &corev1.Pod{}, 0)
		handler := func(context.Context, *Reflector, error) {}
		transform := func(obj any) (any, error) { return obj, nil }
		set := func() []error {
			return []error{
				inf.SetTransform(transform),
				inf.SetWatchErrorHandlerWithContext(handler),
				inf.SetWatchErrorHandler(func(*Reflector, error) {}),
			}
		}
		if err := errors.Join(set()...); err != nil {
			t.Error(err)
		}
		stop := runInformer(inf)
		for i, err := range set() {
			if err == nil {
				t.Errorf("setter %d did not fail", i)
			}
		}
		inf.Run(nil) // returns at once
		inf.GetController().Run(nil)
		stop()
		inf.Run(nil)
	})
}

func TestATransformIsCalledOnceAVersionAndAFailureIsQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := server(t, testPod("a", "n1"), testPod("odd", "n1"))
		inf := NewSharedInformer(src, &corev1.Pod{}, 0)
		calls := map[string]int{}
		failed := errors.New("odd indeed")
		if err := inf.SetTransform(func(obj any) (any, error) {
			p := obj.(*corev1.Pod)
			calls[p.Name+"@"+p.Spec.NodeName]++
			if p.Name == "odd" && p.Spec.NodeName == "n2" {
				return nil, failed
			}
			p.Labels = map[string]string{"seen": "yes"}
			return p, nil
		}); err != nil {
			t.Fatal(err)
		}
		d := &diary{}
		r, err := inf.AddEventHandler(d)
		added(t, r, err)
		stop := runInformer(inf)
		src.Modify(testPod("odd", "n2"))
		src.Modify(testPod("a", "n2"))
		testclock.Elapse(time.Second) // error handlers of apimachinery pause a little
		d.expect(t, "first a@n1", "first odd@n1", "update a@n1 to a@n2")
		for _, obj := range inf.GetStore().List() {
			if obj.(*corev1.Pod).Labels["seen"] != "yes" {
				t.Errorf("%s is stored as it came", shown(obj))
			}
		}
		for state, n := range calls {
			if n != 1 {
				t.Errorf("transformed %s %d times", state, n)
			}
		}
		q := inf.(Observable).Quarantined()
		if len(q) != 1 || q[0].Key.Name != "odd" || !q[0].Stale || !errors.Is(q[0].Err, failed) {
			t.Errorf("quarantined: %+v", q)
		}
		src.Delete(testPod("odd", "n2")) // the transform fails, and it is gone all the same
		src.Modify(testPod("a", "n3"))
		testclock.Elapse(time.Second)
		if got := inf.GetStore().ListKeys(); !slices.Equal(got, []string{"ns/a"}) {
			t.Errorf("left: %v", got)
		}
		stop()
	})
}

func TestWatchErrorHandlersGetTheServersErrorAndAReflectorThatIsTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no"))
		lw := &ListWatch{ListFunc: func(metav1.ListOptions) (runtime.Object, error) { return nil, refused },
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return nil, refused }}
		inf := NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, SharedIndexInformerOptions{ObjectDescription: "my pods"})
		type key struct{}
		told := make(chan error, 100)
		if err := inf.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *Reflector, err error) {
			if ctx.Value(key{}) != "run" {
				t.Error("not the context of Run")
			}
			if r.TypeDescription() != "my pods" || r.LastSyncResourceVersion() != "" || r.Name() == "" {
				t.Errorf("reflector %q of %q at %q", r.Name(), r.TypeDescription(), r.LastSyncResourceVersion())
			}
			told <- err
		}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "run"))
		ended := make(chan struct{})
		go func() { defer close(ended); inf.RunWithContext(ctx) }()
		if err := <-told; !apierrors.IsForbidden(err) {
			t.Errorf("was told %v", err)
		}
		cancel()
		<-ended
	})
}
