package controller_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type pod = *corev1.Pod

func newPod(name string) pod { return testpods.New(name, "") }

func key(name string) kinglet.Key { return kinglet.Key{Namespace: "ns", Name: name} }

// runs records which keys ran, and when.
type runs struct {
	mu    sync.Mutex
	began time.Time
	names []string        // guarded by mu
	at    []time.Duration // guarded by mu
	errs  []error         // guarded by mu
}

func (r *runs) note(key kinglet.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names = append(r.names, key.Name)
	r.at = append(r.at, time.Since(r.began))
}

// reconcile succeeds with every key.
func (r *runs) reconcile(_ context.Context, key kinglet.Key) (controller.Result, error) {
	r.note(key)
	return controller.Result{}, nil
}

func (r *runs) report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *runs) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.names)
}

func (r *runs) errors() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.errs)
}

func informerOf(t *testing.T, pods ...pod) (*sourcetest.Static[pod], *kinglet.Informer[pod]) {
	t.Helper()
	src := sourcetest.NewStatic(pods...)
	inf, err := kinglet.New[pod](src, kinglet.Options[pod]{Name: "pods"})
	if err != nil {
		t.Fatal(err)
	}
	return src, inf
}

// put creates or updates an object.
func put(t *testing.T, src *sourcetest.Static[pod], p pod) {
	t.Helper()
	if src.Update(p) == nil {
		return
	}
	if err := src.Add(p); err != nil {
		t.Error(err)
	}
}

func newController(t *testing.T, f controller.ReconcilerFunc[kinglet.Key], o controller.Options[kinglet.Key]) *controller.Controller[kinglet.Key] {
	t.Helper()
	c, err := controller.New(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start is run with a function that fails the test if the controller fails.
func start[K comparable](t *testing.T, c *controller.Controller[K], informers ...kinglet.Runnable) (stop func()) {
	t.Helper()
	stopped := run(t, c, informers...)
	return func() {
		t.Helper()
		if err := stopped(); err != nil {
			t.Error(err)
		}
	}
}

// run runs the controller and the informers until the function that it returns is
// called, which returns the controller's error.
func run[K comparable](t *testing.T, c *controller.Controller[K], informers ...kinglet.Runnable) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	var others sync.WaitGroup
	for _, i := range informers {
		others.Go(func() {
			if err := i.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	go func() { ended <- c.Run(ctx) }()
	return func() error {
		cancel()
		others.Wait()
		return <-ended
	}
}

func mustWatch(t *testing.T, c *controller.Controller[kinglet.Key], i *kinglet.Informer[pod], o ...controller.WatchOptions[pod]) {
	t.Helper()
	if _, err := controller.Watch(c, i, controller.Self, o...); err != nil {
		t.Fatal(err)
	}
}

func TestAKeyNeverRunsTwiceAtOnceAndRunsAgainAfterAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, inf := informerOf(t, newPod("a"))
		r := &runs{began: time.Now()}
		running := 0
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			running++ // one key: the race detector and the count would notice two
			if running != 1 {
				t.Errorf("%d runs at once", running)
			}
			testbubble.Pass(time.Second)
			running--
			r.note(k)
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{Workers: 4})
		mustWatch(t, c, inf)
		stop := start(t, c, inf)
		testbubble.Pass(500 * time.Millisecond)
		for i := range 10 {
			p := newPod("a")
			p.Labels = map[string]string{"i": fmt.Sprint(i)}
			put(t, src, p)
			synctest.Wait()
		}
		testbubble.Pass(time.Minute)
		if got := r.list(); len(got) != 2 {
			t.Errorf("ran %d times, not twice", len(got))
		}
		if s := c.Status(); s.Queued+s.Running+s.Waiting+s.Failing != 0 {
			t.Error("something is left of a key that has nothing before it")
		}
		stop()
	})
}

func TestOwnersAreEnqueuedForWhatTheyOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owned := func(owners ...string) pod {
			p := newPod("a")
			for _, o := range owners {
				p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: o})
			}
			p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Deployment", Name: "of another group"})
			return p
		}
		src, inf := informerOf(t, owned("x"))
		r := &runs{}
		c := newController(t, r.reconcile, controller.Options[kinglet.Key]{})
		if _, err := controller.Watch(c, inf, controller.Owner[pod](schema.GroupKind{Group: "apps", Kind: "Deployment"})); err != nil {
			t.Fatal(err)
		}
		stop := start(t, c, inf)
		synctest.Wait()
		put(t, src, owned("x", "y"))
		synctest.Wait()
		put(t, src, owned("y"))
		synctest.Wait()
		got := r.list()
		slices.Sort(got)
		if want := []string{"x", "x", "x", "y", "y"}; !slices.Equal(got, want) {
			t.Errorf("ran %v, not %v", got, want)
		}
		stop()
	})
}

// The object's owner changes and it is gone, in one step. Both owners run, also if the last step
// changes the owner once more.
func TestOwnersAreEnqueuedForWhatLeftThemBeforeItWasGone(t *testing.T) {
	owned := func(owner, version string) source.Item[pod] {
		p := newPod("a")
		p.ResourceVersion = version
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: owner}}
		return source.ItemOf(p)
	}
	type keysOf = func(controller.Change[pod]) iter.Seq[kinglet.Key]
	mapped := map[string]func(owners *kinglet.Informer[pod]) keysOf{
		"Owner": func(*kinglet.Informer[pod]) keysOf {
			return controller.Owner[pod](schema.GroupKind{Group: "apps", Kind: "Deployment"})
		},
		"ByIndex": func(owners *kinglet.Informer[pod]) keysOf {
			return controller.ByIndex(owners, "name", func(p pod) iter.Seq[string] { return slices.Values([]string{p.OwnerReferences[0].Name}) })
		},
	}
	for _, c := range []struct {
		name   string
		events []source.Event[pod]
		want   []string
	}{
		{"updated and deleted", []source.Event[pod]{{Type: source.Modified, Item: owned("y", "1001")}, {Type: source.Deleted, Item: owned("y", "1002")}}, []string{"x", "y"}},
		{"and added", []source.Event[pod]{{Type: source.Modified, Item: owned("y", "1001")}, {Type: source.Deleted, Item: owned("y", "1002")}, {Type: source.Added, Item: owned("z", "1003")}}, []string{"x", "y", "z"}},
		{"deleted in the step that changes it", []source.Event[pod]{{Type: source.Deleted, Item: owned("y", "1001")}}, []string{"x", "y"}},
	} {
		for by, keys := range mapped {
			t.Run(c.name+", "+by, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src, inf := informerOf(t)
					_, owners := informerOf(t, newPod("x"), newPod("y"), newPod("z"))
					if err := owners.AddIndex("name", func(p pod) ([]string, error) { return []string{p.Name}, nil }); err != nil {
						t.Fatal(err)
					}
					r := &runs{}
					ctl := newController(t, r.reconcile, controller.Options[kinglet.Key]{})
					if _, err := controller.Watch(ctl, inf, keys(owners)); err != nil {
						t.Fatal(err)
					}
					stop := start(t, ctl, inf, owners)
					synctest.Wait()
					src.Send(source.Event[pod]{Type: source.Added, Item: owned("x", "1000")})
					synctest.Wait()
					before := len(r.list())
					src.Send(c.events...)
					synctest.Wait()
					got := r.list()[before:]
					slices.Sort(got)
					if got = slices.Compact(got); !slices.Equal(got, c.want) { // a key may run once for each change
						t.Errorf("ran %v, not %v", got, c.want)
					}
					stop()
				})
			})
		}
	}
}

func TestNoRunBeginsBeforeAllInputsAreInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, ready := informerOf(t, newPod("a"))
		_, late := informerOf(t, newPod("b"))
		r := &runs{}
		c := newController(t, r.reconcile, controller.Options[kinglet.Key]{})
		mustWatch(t, c, ready)
		mustWatch(t, c, late)
		stop := start(t, c, ready)
		testbubble.Pass(time.Second)
		if got := r.list(); len(got) != 0 {
			t.Errorf("ran %v before an informer was run", got)
		}
		if gate := c.Status().GateReason; !strings.Contains(gate, "the informer of pods has not been run") {
			t.Errorf("the gate says %q", gate)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- late.Run(ctx) }()
		synctest.Wait()
		if got := r.list(); len(got) != 2 {
			t.Errorf("ran %v after both had synced", got)
		}
		if gate := c.Status().GateReason; gate != "" {
			t.Errorf("the gate says %q", gate)
		}
		cancel()
		<-ended
		stop()
	})
}

func TestLiveChangesOvertakeTheInitialListWhichEndsAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pods []pod
		for i := range 100 {
			pods = append(pods, newPod(fmt.Sprintf("initial-%d", i)))
		}
		src, inf := informerOf(t, pods...)
		r := &runs{began: time.Now()}
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			r.note(k)
			testbubble.Pass(time.Second)
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{})
		mustWatch(t, c, inf)
		stop := start(t, c, inf)
		// One worker can do no more than a live change each second.
		for i := range 200 {
			synctest.Wait()
			put(t, src, newPod(fmt.Sprintf("live-%d", i)))
			testbubble.Pass(time.Second)
		}
		testbubble.Pass(500 * time.Millisecond)
		got := r.list()
		if got[1] != "live-0" && got[2] != "live-0" {
			t.Errorf("the first live change came after %v", got[:3])
		}
		last := 0
		for i, name := range got {
			if strings.HasPrefix(name, "initial") {
				last = i
			}
		}
		if last > 135 {
			t.Errorf("the last initial key ran after %d s, first in, first out is 100", last)
		}
		stop()
	})
}

func TestWhatFailsIsTriedAgainAsItAsksFor(t *testing.T) {
	errBad := errors.New("bad")
	for _, test := range []struct {
		name string
		run  func(n int) (controller.Result, error)
		runs int           // in ten minutes
		last time.Duration // at most, and
		from time.Duration // at least
		errs int
	}{
		{"success", func(int) (controller.Result, error) { return controller.Result{}, nil }, 1, 0, 0, 0},
		{"success, and once more", func(n int) (controller.Result, error) {
			return controller.Result{After: time.Duration(2-n) * time.Minute}, nil
		}, 2, time.Minute, time.Minute, 0},
		{"an error, then success", func(n int) (controller.Result, error) {
			if n <= 3 {
				return controller.Result{After: time.Hour}, errBad
			}
			return controller.Result{}, nil
		}, 4, 35 * time.Millisecond, 0, 3},
		{"terminal", func(int) (controller.Result, error) { return controller.Result{}, controller.Terminal(errBad) }, 1, 0, 0, 1},
		{"a time of its own", func(n int) (controller.Result, error) {
			if n == 1 {
				return controller.Result{}, controller.RetryAfter(time.Minute, fmt.Errorf("wrapped: %w", errBad))
			}
			return controller.Result{}, nil
		}, 2, time.Minute, time.Minute, 1},
		{"a panic", func(n int) (controller.Result, error) {
			if n == 1 {
				panic("oh")
			}
			return controller.Result{}, nil
		}, 2, 5 * time.Millisecond, 0, 1},
		{"the end of the goroutine", func(n int) (controller.Result, error) {
			if n == 1 {
				runtime.Goexit()
			}
			return controller.Result{}, nil
		}, 2, 5 * time.Millisecond, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &runs{began: time.Now()}
				n := 0
				c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
					r.note(k)
					n++
					return test.run(n)
				}, controller.Options[kinglet.Key]{OnError: r.report})
				stop := start(t, c)
				if err := c.Add(key("a")); err != nil {
					t.Error(err)
				}
				testbubble.Pass(10 * time.Minute)
				if got := r.list(); len(got) != test.runs {
					t.Fatalf("ran %d times, not %d", len(got), test.runs)
				}
				if last := r.at[test.runs-1]; last > test.last+time.Millisecond || last < test.from {
					t.Errorf("the last run was after %v, not %v to %v", last, test.from, test.last)
				}
				errs := r.errors()
				if len(errs) != test.errs {
					t.Errorf("%d errors, not %d: %v", len(errs), test.errs, errs)
				}
				for _, err := range errs {
					var run *controller.RunError[kinglet.Key]
					if !errors.As(err, &run) || run.Key != key("a") || !strings.Contains(err.Error(), "ns/a") {
						t.Errorf("the error does not name its key: %v", err)
					}
				}
				stop()
			})
		})
	}
}

// leader is an Elector that leads at once, and records when it is released.
type leader struct {
	lost     chan struct{}
	released chan struct{}
	err      atomic.Pointer[error]
}

func newLeader() *leader {
	return &leader{lost: make(chan struct{}), released: make(chan struct{})}
}

func (l *leader) Acquire(context.Context) (controller.Leadership, error) { return l, nil }
func (l *leader) Lost() <-chan struct{}                                  { return l.lost }
func (l *leader) Release()                                               { close(l.released) }

func (l *leader) Err() error {
	if err := l.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (l *leader) isReleased() bool {
	select {
	case <-l.released:
		return true
	default:
		return false
	}
}

func TestAStopDrainsAndThenGivesUpLeadership(t *testing.T) {
	for _, test := range []struct {
		name  string
		takes time.Duration
		drain bool
	}{
		{"in time", 10 * time.Second, true},
		{"too long", time.Hour, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLeader()
				r := &runs{}
				c := newController(t, func(ctx context.Context, k kinglet.Key) (controller.Result, error) {
					r.note(k)
					select {
					case <-time.After(test.takes):
						if ctx.Err() != nil {
							t.Error("the context ended before the run")
						}
						return controller.Result{}, nil
					case <-ctx.Done():
						testbubble.Pass(time.Second)
						if l.isReleased() {
							t.Error("leadership is released while a key runs")
						}
						return controller.Result{}, context.Cause(ctx)
					}
				}, controller.Options[kinglet.Key]{Elector: l, OnError: r.report})
				_ = c.Add(key("a"), key("b"))
				stop := run(t, c)
				testbubble.Pass(time.Second)
				began := time.Now()
				err := stop()
				if test.drain {
					if err != nil || time.Since(began) != 9*time.Second {
						t.Errorf("stopped after %v: %v", time.Since(began), err)
					}
				} else {
					var drain *controller.DrainError
					if !errors.As(err, &drain) || !slices.Equal(drain.Keys, []string{"ns/a"}) || time.Since(began) != 21*time.Second {
						t.Errorf("stopped after %v: %v", time.Since(began), err)
					}
				}
				if !l.isReleased() {
					t.Error("leadership is not released")
				}
				if got := r.list(); !slices.Equal(got, []string{"a"}) {
					t.Errorf("ran %v: no run begins after the stop", got)
				}
				if err := c.Add(key("late")); !errors.Is(err, controller.ErrStopped) || !strings.Contains(err.Error(), "ns/late") {
					t.Errorf("a key that comes too late: %v", err)
				}
			})
		})
	}
}

// One key runs for its changes, and another because it fails.
func TestAKeyThatRunsOftenIsNamedWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, inf := informerOf(t, newPod("a"), newPod("b"))
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			if k.Name == "b" { // it runs as often, to be tried again
				return controller.Result{}, controller.RetryAfter(time.Second, errors.New("no"))
			}
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{OnError: func(error) {}})
		mustWatch(t, c, inf)
		stop := start(t, c, inf)
		for i := range 20 {
			p := newPod("a")
			p.Labels = map[string]string{"i": fmt.Sprint(i)}
			put(t, src, p)
			testbubble.Pass(time.Second)
		}
		hot := c.Status().Hot
		if len(hot) != 1 || hot[0].Key != "ns/a" || hot[0].Runs < 20 || hot[0].Causes["pods: Live"] < 19 {
			t.Errorf("hot keys: %+v", hot)
		}
		testbubble.Pass(3 * time.Minute)
		if hot := c.Status().Hot; len(hot) != 0 {
			t.Errorf("hot keys after three quiet minutes: %+v", hot)
		}
		stop()
	})
}

func TestAFunctionThatPanicsLosesNoOtherChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := informerOf(t, newPod("a"), newPod("bad"), newPod("c"))
		r := &runs{}
		c := newController(t, r.reconcile, controller.Options[kinglet.Key]{OnError: r.report})
		mustWatch(t, c, inf, controller.WatchOptions[pod]{If: func(change controller.Change[pod]) bool {
			if change.Key.Name == "bad" {
				panic("oh")
			}
			return true
		}})
		stop := start(t, c, inf)
		synctest.Wait()
		got := r.list()
		slices.Sort(got)
		if !slices.Equal(got, []string{"a", "c"}) {
			t.Errorf("ran %v", got)
		}
		errs := r.errors()
		var mapping *controller.MapError
		if len(errs) != 1 || !errors.As(errs[0], &mapping) || !strings.Contains(errs[0].Error(), "ns/bad") {
			t.Errorf("reported %v", errs)
		}
		stop()
	})
}

func TestAKeyThatDoesNotEqualItselfIsReportedAndTheOthersOfItsChangeRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := informerOf(t, newPod("a"))
		r, ran := &runs{}, 0.0
		c, err := controller.New(controller.ReconcilerFunc[float64](func(_ context.Context, key float64) (controller.Result, error) {
			ran += key
			return controller.Result{}, nil
		}), controller.Options[float64]{OnError: r.report})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := controller.Watch(c, inf, func(controller.Change[pod]) iter.Seq[float64] {
			return slices.Values([]float64{math.NaN(), 1, 2})
		}); err != nil {
			t.Fatal(err)
		}
		stop := start(t, c, inf)
		synctest.Wait()
		var mapping *controller.MapError
		if errs := r.errors(); len(errs) != 1 || !errors.As(errs[0], &mapping) || c.Status().Unmapped != 1 || ran != 3 {
			t.Errorf("reported %v, ran keys of sum %v", errs, ran)
		}
		stop()
	})
}

func TestBadInputIsRefusedWithAnErrorThatNamesIt(t *testing.T) {
	ok := controller.ReconcilerFunc[int](func(context.Context, int) (controller.Result, error) { return controller.Result{}, nil })
	for _, test := range []struct {
		name string
		r    controller.Reconciler[int]
		o    controller.Options[int]
		want []string
	}{
		{"no reconciler", nil, controller.Options[int]{}, []string{"the reconciler is nil"}},
		{"a nil function", controller.ReconcilerFunc[int](nil), controller.Options[int]{}, []string{"the reconciler is nil"}},
		{"all at once", ok, controller.Options[int]{Name: "x", Workers: -1, Timeout: -1, Backoff: controller.Backoff{Base: -1}},
			[]string{"controller x", "Workers is -1", "Timeout", "Backoff.Base"}},
		{"backoff", ok, controller.Options[int]{Backoff: controller.Backoff{Base: 2, Max: 1}}, []string{"Backoff.Max"}},
	} {
		_, err := controller.New(test.r, test.o)
		if err == nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in: %v", test.name, want, err)
			}
		}
	}

	c, err := controller.New(ok, controller.Options[int]{})
	if err != nil {
		t.Fatal(err)
	}
	_, inf := informerOf(t)
	if _, err := controller.Watch[pod, int](c, inf, nil); err == nil || !strings.Contains(err.Error(), "nil") {
		t.Errorf("watch without a function: %v", err)
	}
	if _, err := controller.Watch[pod, int](c, nil, nil); err == nil || !strings.Contains(err.Error(), "informer is nil") {
		t.Errorf("watch of nil: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Run(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Run(ctx); !errors.Is(err, controller.ErrAlreadyRun) {
		t.Errorf("a second Run: %v", err)
	}
	if _, err := controller.Watch(c, inf, func(controller.Change[pod]) iter.Seq[int] { return nil }); !errors.Is(err, controller.ErrStopped) {
		t.Errorf("a Watch after Run: %v", err)
	}
}
