package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/reflector"
)

// onePod lists a pod, and watches in silence; list fails with err if it returns one.
func onePod(err func() error) ListerWatcher {
	return listing{&ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (kruntime.Object, error) {
			if err := err(); err != nil {
				return nil, err
			}
			return &corev1.PodList{
				ListMeta: metav1.ListMeta{ResourceVersion: "5"},
				Items:    []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "secret-name", ResourceVersion: "4"}}},
			}, nil
		},
		WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			return watch.NewFake(), nil
		},
	}}
}

// listing cannot stream its list.
type listing struct{ *ListWatch }

func (listing) IsWatchListSemanticsUnSupported() bool { return true }

func well() error { return nil }

func names() string {
	var names []string
	for _, s := range Observed().Status() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ",")
}

func TestObservedShowsWhatRunsAndNothingElse(t *testing.T) {
	if before := names(); before != "" {
		t.Fatalf("before anything runs there are %s", before)
	}
	synctest.Test(t, func(t *testing.T) {
		informer := NewSharedIndexInformerWithOptions(onePod(well), &corev1.Pod{}, SharedIndexInformerOptions{ObjectDescription: "shared"})
		_, controller := NewInformerWithOptions(InformerOptions{ListerWatcher: onePod(well), ObjectType: &corev1.Pod{}, Handler: ResourceEventHandlerFuncs{}})
		one := NewReflectorWithOptions(onePod(well), &corev1.Pod{}, NewStore(MetaNamespaceKeyFunc), ReflectorOptions{TypeDescription: "reflected"})
		if got := names(); got != "" {
			t.Errorf("before they run there are %s", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for _, run := range []func(context.Context){informer.RunWithContext, controller.RunWithContext, one.RunWithContext} {
			running.Go(func() { run(ctx) })
			synctest.Wait()
		}
		if got, want := names(), "shared,*v1.Pod,reflected"; got != want {
			t.Errorf("there are %q, want %q", got, want)
		}
		shown, _ := Observed().Observed()
		for i, o := range shown {
			if s := o.Status(); s.Phase != reflector.Watching || !s.Synced || i < 2 && s.Objects != 1 {
				t.Errorf("%s: %+v", s.Name, s)
			}
			if inspectable, ok := o.(kinglet.Inspectable); ok != (i < 2) {
				t.Errorf("%d: to be looked into: %v", i, ok)
			} else if ok && len(inspectable.Inspect().Transitions) == 0 {
				t.Errorf("%d: no transitions", i)
			}
		}
		cancel()
		running.Wait()
		if got := names(); got != "" {
			t.Errorf("after all have stopped there are %s", got)
		}
	})
}

func TestTenThousandInformersStartedAndStoppedLeaveNothing(t *testing.T) {
	heap := func() int64 {
		for range 3 {
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	some := func(n int) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for range n {
				informer := NewSharedIndexInformer(onePod(well), &corev1.Pod{}, 0, Indexers{})
				running.Go(func() { informer.RunWithContext(ctx) })
			}
			synctest.Wait()
			if got := len(Observed().Status()); got != n {
				t.Errorf("%d of %d run", got, n)
			}
			cancel()
			running.Wait()
		})
	}
	some(100)
	before, others := heap(), goleak.IgnoreCurrent()
	for range 100 {
		some(100)
	}
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	goleak.VerifyNone(t, others)
	if got := len(Observed().Status()); got != 0 {
		t.Errorf("%d informers are left", got)
	}
}

// phases returns the lines about phases since the last time.
func phases(log *testkit.Log) (lines []string) {
	for line := range strings.Lines(log.Take()) {
		if strings.Contains(line, `"phase"=`) {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestChangesOfPhaseAreLoggedAtMostOnceAMinuteAndCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		failing := true
		lw := onePod(func() error {
			mu.Lock()
			defer mu.Unlock()
			if failing {
				return apierrors.NewInternalError(errors.New("etcd is away"))
			}
			return nil
		})
		log := &testkit.Log{}
		logger := funcr.New(func(_, args string) { fmt.Fprintln(log, args) }, funcr.Options{})
		informer := NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, SharedIndexInformerOptions{ObjectDescription: "pods"})
		if err := informer.SetWatchErrorHandler(func(*Reflector, error) {}); err != nil { // as programs do that stay silent
			t.Fatal(err)
		}
		stop := start(func(ctx context.Context) { informer.RunWithContext(klog.NewContext(ctx, logger)) })
		testbubble.Elapse(time.Hour)
		lines := phases(log)
		if len(lines) < 30 || len(lines) > 61 {
			t.Errorf("%d lines in an hour of failures", len(lines))
		}
		for _, line := range lines {
			for _, want := range []string{`"msg"="informer fails"`, `"informer"="pods"`, `"cause"="server_error"`, `"err"="list pods `, "etcd is away"} {
				if !strings.Contains(line, want) {
					t.Fatalf("%s\nhas no %s", line, want)
				}
			}
		}
		mu.Lock()
		failing = false
		mu.Unlock()
		testbubble.Elapse(10 * time.Minute)
		lines = phases(log)
		for len(lines) > 0 && strings.Contains(lines[0], "informer fails") {
			lines = lines[1:]
		}
		if len(lines) != 1 || !strings.Contains(lines[0], `"msg"="informer is well again"`) || strings.Contains(fmt.Sprint(lines), "secret-name") {
			t.Errorf("when it is well: %q", lines)
		}
		stop()
	})
}
