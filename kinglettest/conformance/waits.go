package conformance

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func waitsRow() row {
	return row{
		ID:    "waits",
		Needs: []string{"WaitFor*", "IsDone", "NewSharedIndexInformer"},
		Tests: []test{
			{Sentence: "WaitForCacheSync waits until all have synced, or for the end", Run: waitForCacheSync},
			{Sentence: "WaitFor waits without polling, and says whether all were done", Run: waitFor},
			{Sentence: "waits of informers and handlers end when they have synced", Run: waitForInformer},
			{Sentence: "a wait inside of a function that a wait asks ends when both are told to", Run: waitInsideOfAWait},
			{Sentence: "a round of questions ends with the first no, and none follows the end of a wait", Run: waitAsks},
			{Sentence: "WaitFor reports each checker as soon as it is done, and at the end those that are not", Run: waitReports},
		},
	}
}

func waitForCacheSync(t *testing.T, im Implementation) {
	stop := make(chan struct{})
	equal(t, "waiting for nothing", im.WaitForCacheSync(stop), true)
	yes, no := func() bool { return true }, func() bool { return false }
	equal(t, "waiting for what has synced", im.WaitForCacheSync(stop, yes, yes), true)
	equal(t, "waiting by name for what has synced", im.WaitForNamedCacheSync("mine", stop, yes), true)
	from := time.Now()
	later := func() bool { return time.Since(from) > time.Minute }
	equal(t, "waiting for what syncs later", im.WaitForCacheSync(stop, yes, later), true)
	if waited := time.Since(from); waited < time.Minute || waited > time.Minute+time.Second {
		t.Errorf("waited %v for what syncs after a minute", waited)
	}
	for _, wait := range []func(stop chan struct{}) bool{
		func(stop chan struct{}) bool { return im.WaitForCacheSync(stop, yes, no) },
		func(stop chan struct{}) bool { return im.WaitForNamedCacheSync("mine", stop, no) },
	} {
		stop, done := make(chan struct{}), make(chan bool, 1)
		go func() { done <- wait(stop) }()
		testbubble.Elapse(time.Hour)
		equal(t, "waits that returned", len(done), 0)
		close(stop)
		equal(t, "waiting for what never syncs", <-done, false)
		// Each function is asked once, whether or not the wait has any time.
		equal(t, "waiting for what has synced, without time to wait", im.WaitForCacheSync(stop, yes, yes), true)
		equal(t, "waiting for what has not synced, without time to wait", im.WaitForCacheSync(stop, yes, no), false)
	}
}

// checker is a DoneChecker of a test.
type checker struct{ done chan struct{} }

func newChecker() checker               { return checker{make(chan struct{})} }
func (checker) Name() string            { return "a checker" }
func (c checker) Done() <-chan struct{} { return c.done }

func waitFor(t *testing.T, im Implementation) {
	a, b := newChecker(), newChecker()
	equal(t, "done", im.IsDone(a), false)
	equal(t, "waiting for nothing", im.WaitFor(t.Context(), ""), true)
	ctx, cancel := context.WithCancel(t.Context())
	from := time.Now()
	done := make(chan bool, 1)
	go func() { done <- im.WaitFor(ctx, "two checkers", a, b) }()
	synctest.Wait()
	close(a.done)
	synctest.Wait()
	equal(t, "waits that returned", len(done), 0)
	equal(t, "done", im.IsDone(a), true)
	close(b.done)
	synctest.Wait()
	equal(t, "waits that returned", len(done), 1)
	equal(t, "all were done", <-done, true)
	equal(t, "time that passed", time.Since(from), 0)

	go func() { done <- im.WaitFor(ctx, "", a, newChecker()) }()
	synctest.Wait()
	cancel()
	equal(t, "all were done", <-done, false)
	equal(t, "what is done is done when the context has ended", im.WaitFor(ctx, "", a, b), true)
}

func waitForInformer(t *testing.T, im Implementation) {
	o := listOnly(pod("ns", "a"))
	o.failLists(errBad)
	informer := podInformer(im, o)
	_, reg := handle(t, informer)
	running(t, informer.RunWithContext)
	equal(t, "synced", informer.HasSynced(), false)
	if !im.WaitFor(t.Context(), "pods", informer.HasSyncedChecker(), reg.HasSyncedChecker()) {
		t.Error("WaitFor gave up")
	}
	equal(t, "synced", informer.HasSynced() && reg.HasSynced(), true)
	equal(t, "WaitForCacheSync", im.WaitForCacheSync(t.Context().Done(), informer.HasSynced, reg.HasSynced), true)
}

func waitInsideOfAWait(t *testing.T, im Implementation) {
	no := func() bool { return false }
	type wait func(stop <-chan struct{}, synced func() bool) bool
	plain := func(stop <-chan struct{}, synced func() bool) bool { return im.WaitForCacheSync(stop, synced) }
	named := func(stop <-chan struct{}, synced func() bool) bool {
		return im.WaitForNamedCacheSync("mine", stop, synced)
	}
	for _, outer := range []wait{plain, named} {
		for _, inner := range []wait{plain, named} {
			stop, done := make(chan struct{}), make(chan bool, 1)
			go func() {
				done <- outer(stop, func() bool { return inner(stop, func() bool { return inner(stop, no) }) })
			}()
			testbubble.Elapse(time.Minute)
			close(stop)
			synctest.Wait()
			if len(done) == 0 {
				t.Fatal("a wait inside of a wait does not return")
			}
			equal(t, "waiting for what never syncs", <-done, false)
		}
	}
}

func waitAsks(t *testing.T, im Implementation) {
	stop := make(chan struct{})
	over := false
	first, second, third := 0, 0, 0
	count := func(n *int, answer bool) func() bool {
		return func() bool {
			if over {
				t.Error("a function is called after the end of the wait")
			}
			*n++
			return answer
		}
	}
	done := make(chan bool, 1)
	go func() {
		done <- im.WaitForCacheSync(stop, count(&first, true), count(&second, false), count(&third, true))
	}()
	testbubble.Elapse(time.Minute + time.Millisecond)
	if first < 500 || first != second || third != 0 {
		t.Errorf("in a minute the functions are called %d, %d and %d times", first, second, third)
	}
	over = true
	close(stop)
	equal(t, "all had synced", <-done, false)
}

func waitReports(t *testing.T, im Implementation) {
	l := &logs{}
	ctx, cancel := context.WithCancelCause(klog.NewContext(t.Context(), l.logger()))
	never, late, soon := namedChecker{newChecker(), "never"}, namedChecker{newChecker(), "late"}, namedChecker{newChecker(), "soon"}
	done := make(chan bool, 1)
	go func() { done <- im.WaitFor(ctx, "things", never, late, soon) }()
	told := func(want ...string) {
		t.Helper()
		synctest.Wait()
		l.told(t, want...)
	}
	told("Waiting for=things")
	close(soon.done)
	told("Done waiting for=things instance=soon")
	testbubble.Elapse(time.Minute)
	close(late.done)
	told("Done waiting for=things instance=late")
	cancel(errBad)
	told("Timed out waiting for=things cause=" + errBad.Error() + " instances=[never]")
	equal(t, "all were done", <-done, false)

	equal(t, "all were done", im.WaitFor(ctx, "things", never, late, soon), false)
	log := strings.Join(sorted(l.take()), "; ")
	if !strings.Contains(log, "Done waiting for=things instance=late; Done waiting for=things instance=soon; Timed out") {
		t.Errorf("of a wait whose context has ended: %s", log)
	}
}

// namedChecker is a checker with a name of its own.
type namedChecker struct {
	checker
	name string
}

func (c namedChecker) Name() string { return c.name }
