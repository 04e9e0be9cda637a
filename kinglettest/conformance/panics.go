package conformance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	kc "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// surviving keeps panics from ending the process until the test ends. Code that may panic
// has to be started after it, so that it ends before.
func surviving(t *testing.T) {
	before := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	t.Cleanup(func() { utilruntime.ReallyCrash = before })
}

func handlerPanicLogged(t *testing.T, im Implementation) {
	surviving(t)
	o := newOrigin(pod("ns", "a"), pod("ns", "b"), pod("ns", "c"))
	informer := podInformer(im, o)
	first, second, runs := &logs{}, &logs{}, &logs{}
	var calls logbook
	panics := kc.ResourceEventHandlerFuncs{AddFunc: func(any) {
		calls.write("called")
		panic("it fell over")
	}}
	for _, l := range []*logs{first, second} {
		logger := l.logger()
		value(informer.AddEventHandlerWithOptions(panics, kc.HandlerOptions{Logger: &logger}))(t)
	}
	running(t, func(ctx context.Context) { informer.RunWithContext(klog.NewContext(ctx, runs.logger())) })
	for range 3 {
		testbubble.Elapse(time.Millisecond)
		equal(t, "calls", len(calls.take()), 2)
		for _, l := range []*logs{first, second} {
			if list := l.with("Observed a panic", "it fell over"); len(list) != 1 {
				t.Errorf("a handler's logger was told of %q", list)
			}
		}
		testbubble.Elapse(500 * time.Millisecond)
		equal(t, "calls", len(calls.take()), 0)
		testbubble.Elapse(499 * time.Millisecond)
	}
	testbubble.Elapse(time.Minute)
	equal(t, "calls", len(calls.take()), 0)
	if list := runs.with("it fell over"); len(list) > 0 {
		t.Errorf("the informer's logger was told of %q", list)
	}
}

func oneHandlerPanics(t *testing.T, im Implementation) {
	o := newOrigin()
	calls := 0
	_, c := im.NewInformer(o, &corev1.Pod{}, 0, kc.ResourceEventHandlerFuncs{AddFunc: func(any) {
		calls++
		panic("just a panic")
	}})
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), (&logs{}).logger()))
	propagated := make(chan any, 1)
	go func() {
		defer func() { propagated <- recover() }()
		c.RunWithContext(ctx)
	}()
	synctest.Wait()
	equal(t, "runs that ended before", len(propagated), 0)
	o.put(pod("ns", "a"))
	o.put(pod("ns", "b"))
	synctest.Wait()
	if len(propagated) != 1 {
		t.Fatal("Run did not end")
	}
	equal(t, "what Run panics with", <-propagated, any("just a panic"))
	equal(t, "calls", calls, 1)
	cancel()
}
