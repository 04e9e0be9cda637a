package conformance

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func waitsRow() row {
	return row{
		ID:    "waits",
		Needs: []string{"WaitFor*", "IsDone", "NewSharedIndexInformer"},
		Tests: []test{
			{Sentence: "WaitForCacheSync waits until all have synced, or for the end", Run: waitForCacheSync},
			{Sentence: "waits of informers and handlers end when they have synced", Run: waitForInformer},
			{Sentence: "a wait inside of a function that a wait asks ends when both are told to", Run: waitInsideOfAWait},
			{Sentence: "a round of questions ends with the first no, and none follows the end of a wait", Run: waitAsks},
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
