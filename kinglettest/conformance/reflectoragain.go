package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

// reflectorAgainTests are about reflectors that are run by hand, resync, wait, and end.
func reflectorAgainTests() []test {
	return slices.Concat(
		bothWays("each ListAndWatch that is called by hand begins with a list", againListAndWatch),
		bothWays("a resync that fails ends ListAndWatch without an error, and the next begins with a list", againResyncFails),
		bothWays("a resync that fails under Run is followed by a list", againResyncFailsRunning),
		bothWays("a backoff of the program's own says how long refused watches wait", againBackoff),
		[]test{
			{sentence: "what was received when the end came is stored", run: againReceived},
			{sentence: "requests carry the same options", run: againOptions},
		},
	)
}

// byHand calls ListAndWatch, waits until everything has settled, and ends it.
func byHand(t *testing.T, r *kc.Reflector) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.ListAndWatchWithContext(ctx) }()
	synctest.Wait()
	cancel()
	must(t, <-done)
}

func againListAndWatch(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	s := &sink{}
	r := im.NewReflector(o, &corev1.Pod{}, s, 0)
	byHand(t, r)
	s.told(t, "replace [ns/a@101] at 101")
	for i := range 4 {
		o.asked()
		o.put(pod("ns", "a"))
		byHand(t, r)
		s.told(t, fmt.Sprintf("replace [ns/a@%d] at %d", 102+i, 102+i))
		first := o.verbs()[0]
		if strings.HasPrefix(first, "watch from") || !strings.HasSuffix(first, fmt.Sprintf(`"%d"`, 101+i)) {
			t.Errorf("call %d begins with a %s", i+1, first)
		}
	}
}

// failingResyncs is a sink whose resyncs fail, except for the first.
type failingResyncs struct {
	sink
	resyncs atomic.Int32
}

func (s *failingResyncs) Resync() error {
	if s.resyncs.Add(1) >= 2 {
		return errBad
	}
	return nil
}

func againResyncFails(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	s := &failingResyncs{}
	r := im.NewReflector(o, &corev1.Pod{}, s, time.Minute)
	from := time.Now()
	for i := range 3 {
		must(t, r.ListAndWatchWithContext(t.Context()))
		s.told(t, "replace [ns/a@101] at 101")
		want := time.Duration(i+2) * time.Minute
		equal(t, "time that has passed", time.Since(from), want)
	}
	equal(t, "resyncs", s.resyncs.Load(), 4)
}

func againResyncFailsRunning(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	s := &failingResyncs{}
	stop := running(t, im.NewReflector(o, &corev1.Pod{}, s, time.Minute).RunWithContext)
	s.told(t, "replace [ns/a@101] at 101")
	testclock.Elapse(time.Minute + 30*time.Second)
	s.told(t)
	testclock.Elapse(time.Minute)
	s.told(t, "replace [ns/a@101] at 101")
	stop()
	queue := &failingQueue{Queue: im.NewFIFO(im.MetaNamespaceKeyFunc), failing: &failingResyncs{}}
	running(t, im.NewController(ControllerConfig{
		Queue: queue, ListerWatcher: o, ObjectType: &corev1.Pod{}, FullResyncPeriod: time.Minute,
		Process: func(any, bool) error { return nil },
	}).RunWithContext)
	o.asked()
	testclock.Elapse(time.Minute + 30*time.Second)
	equal(t, "requests before a resync fails", len(o.asked()), 0)
	testclock.Elapse(time.Minute)
	if asked := o.verbs(); len(asked) == 0 || strings.HasPrefix(asked[0], "watch from") {
		t.Errorf("requests after a resync has failed: %v", asked)
	}
}

// failingQueue is a queue whose resyncs fail, except for the first.
type failingQueue struct {
	Queue
	failing *failingResyncs
}

func (q *failingQueue) Resync() error { return q.failing.Resync() }

func againBackoff(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	refused := fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	r := im.NewReflectorWithOptions(o, &corev1.Pod{}, &sink{}, kc.ReflectorOptions{
		Backoff: &wait.Backoff{Duration: 10 * time.Second, Factor: 3, Steps: 100, Cap: 70 * time.Second},
	})
	running(t, r.RunWithContext)
	testclock.Elapse(time.Minute)
	o.put(pod("ns", "a"))
	testclock.Elapse(time.Minute)
	o.asked()
	o.failWatches(refused, refused, refused, refused, refused)
	from, at := time.Now(), []time.Duration{}
	o.onRequest = func(r request) {
		if !r.probe() {
			at = append(at, time.Since(from))
		}
	}
	o.end()
	testclock.Elapse(time.Hour)
	for i, s := range []time.Duration{0, 10, 20, 50, 120, 190} {
		if i >= len(at) || at[i] != s*time.Second {
			t.Fatalf("asked after %v", at)
		}
	}
}

func againReceived(t *testing.T, im Implementation) {
	for range 100 {
		w := watch.NewFake()
		o := listOnly(pod("ns", "a"))
		o.answerWatches(w)
		s := &sink{}
		r := im.NewReflector(withoutWatchList{o}, &corev1.Pod{}, s, 0)
		stop := running(t, r.RunWithContext)
		s.told(t, "replace [ns/a@101] at 101")
		o.version = 102
		w.Modify(pod("ns", "a", at("102"))) // returns once it was received
		stop()
		s.told(t, "update ns/a@102")
		o.asked()
		byHand(t, r)
		equal(t, "what is asked for next", o.verbs()[0], `list from "102"`)
	}
}

// carried describes the options of requests. Timeouts are random.
func carried(requests []request) []string {
	var list []string
	for _, r := range requests {
		o := r.options
		what := fmt.Sprintf("%s version=%q match=%q limit=%d continue=%q", r.verb, o.ResourceVersion, o.ResourceVersionMatch, o.Limit, o.Continue)
		if o.AllowWatchBookmarks {
			what += " bookmarks"
		}
		if o.SendInitialEvents != nil {
			what += fmt.Sprintf(" initial=%v", *o.SendInitialEvents)
		}
		if o.TimeoutSeconds != nil {
			what += " timeout"
		}
		if o.Watch {
			what += " watch"
		}
		if o.LabelSelector != "" || o.FieldSelector != "" {
			what += " selector"
		}
		list = append(list, what)
	}
	return list
}

func againOptions(t *testing.T, im Implementation) {
	const (
		first      = `list version="0" match="" limit=500 continue=""`
		watched    = `watch version=%q match="" limit=0 continue="" bookmarks timeout`
		relist     = `list version=%q match="" limit=0 continue=""`
		watchList  = `watch-list version=%q match="NotOlderThan" limit=0 continue="" bookmarks initial=true timeout`
		inPages    = `list version="0" match="" limit=2 continue=""`
		nextPage   = `list version="" match="" limit=2 continue=%q`
		consistent = `list version="" match=""`
	)
	f := fmt.Sprintf
	o := listOnly(pod("ns", "a"))
	reflecting(t, im, withoutWatchList{o})
	testclock.Elapse(10 * time.Second)
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testclock.Elapse(time.Minute)
	same(t, "with lists", carried(o.asked()), first, f(watched, "101"), f(watched, "101"), f(relist, "101"), f(watched, "102"))

	o.failLists(gone())
	testclock.Elapse(10 * time.Second)
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testclock.Elapse(time.Minute)
	asked := carried(o.asked())
	if len(asked) != 4 || asked[0] != f(watched, "102") || asked[1] != f(relist, "102") || !strings.HasPrefix(asked[2], consistent) || asked[3] != f(watched, "103") {
		t.Errorf("where the list is gone: %q", asked)
	}

	o = newOrigin(pod("ns", "a"))
	reflecting(t, im, o)
	testclock.Elapse(10 * time.Second)
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testclock.Elapse(time.Minute)
	same(t, "with watch-lists", carried(o.asked()), f(watchList, ""), f(watched, "101"), f(watchList, "101"))

	o = listOnly(pod("ns", "a"), pod("ns", "b"), pod("ns", "c"))
	o.pages = true
	r := im.NewReflector(withoutWatchList{o}, &corev1.Pod{}, &sink{}, 0)
	r.WatchListPageSize = 2
	running(t, r.RunWithContext)
	same(t, "in pages", carried(o.asked()), inPages, f(nextPage, "103:2"), f(watched, "103"))

	o = listOnly(pod("ns", "a"))
	lw := im.NewListWatch(ListWatch{
		ListWithContextFunc:  o.ListWithContext,
		WatchFuncWithContext: o.WatchWithContext,
		DisableChunking:      true,
	})
	reflecting(t, im, withoutStreams{lw})
	same(t, "through a ListWatch", carried(o.asked()), first, f(watched, "101"))
}
