package source

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// closures is a ListerWatcher that knows no context.
type closures struct {
	list  func(metav1.ListOptions) (apiruntime.Object, error)
	watch func(metav1.ListOptions) (watch.Interface, error)
}

func (c closures) List(o metav1.ListOptions) (apiruntime.Object, error) { return c.list(o) }
func (c closures) Watch(o metav1.ListOptions) (watch.Interface, error)  { return c.watch(o) }

func TestAListerWatchersOddAnswersAreErrors(t *testing.T) {
	var answer apiruntime.Object
	var failure error
	src := must(FromListerWatcher[*corev1.Pod](closures{
		list:  func(metav1.ListOptions) (apiruntime.Object, error) { return answer, failure },
		watch: func(metav1.ListOptions) (watch.Interface, error) { return nil, failure },
	}, Options{}))
	for _, answer = range []apiruntime.Object{nil, pod("ns", "a", "1"), &apierrors.NewResourceExpired("x").ErrStatus} {
		if _, err := list(t, src, ListRequest[*corev1.Pod]{}); err == nil {
			t.Errorf("%T was taken for a list", answer)
		}
	}
	if _, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); err == nil {
		t.Error("nil was taken for a watch")
	}
	failure = apierrors.NewForbidden(schema.GroupResource{}, "", nil)
	if _, err := list(t, src, ListRequest[*corev1.Pod]{}); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	if _, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); !apierrors.IsForbidden(err) {
		t.Errorf("%v", err)
	}
	failure = nil
	answer = &metav1.List{Items: []apiruntime.RawExtension{{Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "4"}}}, {Object: pod("ns", "a", "1")}, {Object: pod("", "", "")}}}
	got, err := list(t, src, ListRequest[*corev1.Pod]{})
	if err != nil || len(got.items) != 3 || got.items[0].Err == nil || got.items[0].Key.Name != "n" || got.items[1].Err != nil || got.items[2].Err == nil {
		t.Errorf("%+v: %v", got.items, err)
	}
}

func TestWhatAListerWatchersWatchSendsBecomesEvents(t *testing.T) {
	expired := &apierrors.NewResourceExpired("x").ErrStatus
	in := []watch.Event{
		{Type: watch.Added, Object: pod("ns", "a", "1")},
		{Type: watch.Bookmark, Object: bookmarkPod("7", true)},
		{Type: watch.Bookmark, Object: &corev1.Node{}},
		{Type: watch.Modified, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}},
		{Type: watch.Modified, Object: pod("ns", "", "5")},
		{Type: watch.Modified, Object: nil},
		{Type: watch.Modified, Object: (*corev1.Pod)(nil)},
		{Type: watch.Modified, Object: expired},
		{Type: "RENAMED", Object: pod("ns", "b", "8")},
		{Type: watch.Error, Object: expired},
		{Type: watch.Error, Object: pod("ns", "b", "8")},
		{Type: watch.Deleted, Object: pod("ns", "a", "9")},
	}
	w := watch.NewFakeWithChanSize(len(in), false)
	for _, e := range in {
		w.Action(e.Type, e.Object)
	}
	src := must(FromListerWatcher[*corev1.Pod](closures{watch: func(metav1.ListOptions) (watch.Interface, error) { return w, nil }}, Options{}))
	got, err := watchOnce(t.Context(), src, WatchRequest[*corev1.Pod]{}, len(in))
	if err != errEnough {
		t.Fatal(err)
	}
	var said []string
	for _, e := range got {
		s := fmt.Sprintf("%s %s %s", e.Type, e.Key, e.ResourceVersion)
		if e.InitialEventsEnd {
			s += " end"
		}
		if e.Err != nil {
			s += " error"
		}
		said = append(said, s)
	}
	want := []string{
		"ADDED ns/a 1", "BOOKMARK  7 end", "UNKNOWN   error", "MODIFIED n  error", "MODIFIED  5 error", "UNKNOWN   error", "UNKNOWN   error",
		"ERROR   error", "UNKNOWN ns/b 8 error", "ERROR   error", "ERROR   error", "DELETED ns/a 9",
	}
	if diff := differences(want, said); diff != "" {
		t.Error(diff)
	}
	if !apierrors.IsResourceExpired(got[7].Err) || !apierrors.IsResourceExpired(got[9].Err) {
		t.Errorf("%v, %v", got[7].Err, got[9].Err)
	}
	if !w.IsStopped() {
		t.Error("the watch was left open")
	}
}

func TestEventsThatWaitJoinOneBatch(t *testing.T) {
	const events = 300
	w := watch.NewFakeWithChanSize(events, false)
	for i := range events {
		w.Add(pod("ns", fmt.Sprint("p", i), "1"))
	}
	w.Stop()
	src := must(FromListerWatcher[*corev1.Pod](closures{watch: func(metav1.ListOptions) (watch.Interface, error) { return w, nil }}, Options{}))
	got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{})
	if err != nil || len(got.events) != events || len(got.batches) != 3 {
		t.Errorf("%d events in %d batches: %v", len(got.events), len(got.batches), err)
	}
}

func TestACallThatPanicsOrEndsItsGoroutineFails(t *testing.T) {
	boom := errors.New("boom")
	for name, end := range map[string]func(){"panic": func() { panic(boom) }, "goexit": runtime.Goexit} {
		src := must(FromListerWatcher[*corev1.Pod](closures{
			list:  func(metav1.ListOptions) (apiruntime.Object, error) { end(); return nil, nil },
			watch: func(metav1.ListOptions) (watch.Interface, error) { end(); return nil, nil },
		}, Options{}))
		_, listed := list(t, src, ListRequest[*corev1.Pod]{})
		_, watched := watchAll(t, src, WatchRequest[*corev1.Pod]{})
		for verb, err := range map[string]error{"list": listed, "watch": watched} {
			var p *PanicError
			if err == nil || errors.As(err, &p) != (name == "panic") || p != nil && p.Value != boom {
				t.Errorf("%s, %s: %v", verb, name, err)
			}
		}
	}
}

// embedding has no object: its methods are those of a nil pointer.
type embedding struct{ *corev1.ConfigMap }

// TestAnObjectWhoseMethodsPanicIsAnErrorOfItsOwn sends it in every kind of event, and in a
// list, beside an object as it should be.
func TestAnObjectWhoseMethodsPanicIsAnErrorOfItsOwn(t *testing.T) {
	for _, typ := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error, "ODD"} {
		w := watch.NewFakeWithChanSize(2, false)
		w.Action(typ, embedding{})
		w.Add(pod("ns", "a", "1"))
		w.Stop()
		src := must(FromListerWatcher[*corev1.Pod](closures{watch: func(metav1.ListOptions) (watch.Interface, error) { return w, nil }}, Options{}))
		got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{})
		if err != nil || len(got.events) != 2 {
			t.Errorf("%s: %d events: %v", typ, len(got.events), err)
			continue
		}
		var p *PanicError
		if e := &got.events[0]; !errors.As(e.Err, &p) || (e.Type == Error) != (typ == watch.Error) {
			t.Errorf("%s is a %s with %v", typ, e.Type, e.Err)
		}
		if e := &got.events[1]; e.Err != nil || e.Key.Name != "a" {
			t.Errorf("after %s: %v, %v", typ, e.Key, e.Err)
		}
	}
	src := must(FromListerWatcher[*corev1.Pod](closures{list: func(metav1.ListOptions) (apiruntime.Object, error) {
		return &metav1.List{Items: []apiruntime.RawExtension{{Object: embedding{}}, {Object: pod("ns", "a", "1")}}}, nil
	}}, Options{}))
	got, err := list(t, src, ListRequest[*corev1.Pod]{})
	if err != nil || len(got.items) != 2 || got.items[0].Err == nil || got.items[1].Err != nil {
		t.Errorf("listed %+v: %v", got.items, err)
	}
}

func TestAnOnOpenThatEndsItsGoroutineEndsIt(t *testing.T) {
	w := watch.NewFake()
	defer w.Stop()
	src := must(FromListerWatcher[*corev1.Pod](closures{watch: func(metav1.ListOptions) (watch.Interface, error) { return w, nil }}, Options{}))
	ended := make(chan bool)
	go func() {
		returned := false
		defer func() { ended <- returned }()
		_ = src.Watch(t.Context(), WatchRequest[*corev1.Pod]{OnOpen: runtime.Goexit}, nil)
		returned = true
	}()
	if <-ended {
		t.Error("Watch returned")
	}
}

// Fakes return nil pointers when a reactor returns nil.
func TestACallThatReturnsANilOfAnyTypeFails(t *testing.T) {
	for _, nothing := range []closures{
		{list: func(metav1.ListOptions) (apiruntime.Object, error) { return nil, nil }, watch: func(metav1.ListOptions) (watch.Interface, error) { return nil, nil }},
		{
			list:  func(metav1.ListOptions) (apiruntime.Object, error) { return (*corev1.PodList)(nil), nil },
			watch: func(metav1.ListOptions) (watch.Interface, error) { return (*watch.FakeWatcher)(nil), nil },
		},
	} {
		src := must(FromListerWatcher[*corev1.Pod](nothing, Options{}))
		_, listed := list(t, src, ListRequest[*corev1.Pod]{})
		_, watched := watchAll(t, src, WatchRequest[*corev1.Pod]{})
		if !errors.Is(listed, errNothing) || !errors.Is(watched, errNothing) {
			t.Errorf("list: %v, watch: %v", listed, watched)
		}
	}
}

func TestAnObjectThatCannotBeCopiedIsAnError(t *testing.T) {
	obj := unstructured.Unstructured{Object: map[string]any{"kind": "A", "apiVersion": "example.com/v1", "spec": map[string]any{"replicas": 3}}} // no int64
	obj.SetName("a")
	obj.SetResourceVersion("1")
	src := must(FromListerWatcher[*unstructured.Unstructured](closures{
		list: func(metav1.ListOptions) (apiruntime.Object, error) {
			l := &unstructured.UnstructuredList{Object: map[string]any{"kind": "AList", "apiVersion": "example.com/v1"}, Items: []unstructured.Unstructured{obj}}
			l.SetResourceVersion("1")
			return l, nil
		},
	}, Options{Drop: []string{DropManagedFields}}))
	var p *PanicError
	got, err := list(t, src, ListRequest[*unstructured.Unstructured]{})
	if err != nil || len(got.items) != 1 || !errors.As(got.items[0].Err, &p) {
		t.Errorf("%+v, %v", got.items, err)
	}
	if _, err := ReadAnswer(src, Answer{Object: &obj}); !errors.As(err, &p) {
		t.Errorf("an answer: %v", err)
	}
}

// relentless is a watch that sends until it is stopped, each time waiting for
// a reader and for nobody else, as watch.Filter does.
func relentless(source watch.Interface) watch.Interface {
	return watch.Filter(source, func(e watch.Event) (watch.Event, bool) { return e, true })
}

func TestAWatchIsStoppedAndReadUntilItIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := watch.NewRaceFreeFake()
		for i := range 50 {
			inner.Add(pod("ns", fmt.Sprint("p", i), "1"))
		}
		src := must(FromListerWatcher[*corev1.Pod](closures{watch: func(metav1.ListOptions) (watch.Interface, error) { return relentless(inner), nil }}, Options{}))
		start := time.Now()
		if _, err := watchOnce(t.Context(), src, WatchRequest[*corev1.Pod]{}, 1); err != errEnough {
			t.Error(err)
		}
		// A goroutine that still waits to send fails the bubble.
		if time.Since(start) != 0 {
			t.Error("it was waited for")
		}
	})
}

// hanging is a watch whose Stop hangs until it is released.
type hanging struct {
	watch.Interface
	release chan struct{}
}

func (h hanging) Stop() { <-h.release }

func TestAWatchWhoseStopHangsIsLeftAfterASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := hanging{watch.NewFake(), make(chan struct{})}
		src := must(FromListerWatcher[*corev1.Pod](closures{
			watch: func(metav1.ListOptions) (watch.Interface, error) { return w, nil },
		}, Options{}))
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := src.Watch(ctx, WatchRequest[*corev1.Pod]{}, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute+grace {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		close(w.release)
	})
}

func TestABlockingCallDoesNotOutliveItsContextInList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		late := watch.NewRaceFreeFake()
		src := must(FromListerWatcher[*corev1.Pod](closures{
			list:  func(metav1.ListOptions) (apiruntime.Object, error) { <-release; return podList("1"), nil },
			watch: func(metav1.ListOptions) (watch.Interface, error) { <-release; return late, nil },
		}, Options{}))
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := src.List(ctx, ListRequest[*corev1.Pod]{}, nil); err != context.DeadlineExceeded || time.Since(start) != time.Minute {
			t.Errorf("list: after %v: %v", time.Since(start), err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := src.Watch(ctx, WatchRequest[*corev1.Pod]{}, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Minute {
			t.Errorf("watch: after %v: %v", time.Since(start), err)
		}
		close(release)
		synctest.Wait()
		if !late.IsStopped() {
			t.Error("a watch that came too late was left open")
		}
	})
}

// slow honours its context, and takes a while to.
type slow struct {
	closures
	takes time.Duration
	ended *atomic.Bool
}

func (s slow) ListWithContext(ctx context.Context, _ metav1.ListOptions) (apiruntime.Object, error) {
	<-ctx.Done()
	<-time.After(s.takes)
	s.ended.Store(true)
	return nil, ctx.Err()
}

func TestACallThatTakesAContextIsWaitedForWithinASecond(t *testing.T) {
	for takes, waited := range map[time.Duration]time.Duration{100 * time.Millisecond: 100 * time.Millisecond, time.Hour: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var ended atomic.Bool
			src := must(FromListerWatcher[*corev1.Pod](slow{takes: takes, ended: &ended}, Options{}))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := src.List(ctx, ListRequest[*corev1.Pod]{}, nil); err != context.Canceled {
				t.Errorf("before it began: %v", err)
			}
			ctx, cancel = context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			start := time.Now()
			err := src.List(ctx, ListRequest[*corev1.Pod]{}, nil)
			if after := time.Since(start) - time.Second; !errors.Is(err, context.DeadlineExceeded) || after != waited || ended.Load() != (takes == waited) {
				t.Errorf("ended %v after %v: %v", ended.Load(), after, err)
			}
			// The bubble ends once the call that was left behind has.
			<-time.After(2 * time.Hour)
		})
	}
}
