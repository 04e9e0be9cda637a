package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// reflectorRow has what neither client-go's own tests of reflectors say, which `make
// peers-cache` runs over package cache, nor the tests of package cache beside client-go.
func reflectorRow() row {
	return row{
		ID:    "reflector",
		Needs: []string{"NewReflector*", "NewStore", "NewFIFO", "NewController", "NewListWatch"},
		Tests: slices.Concat(
			bothWays("a resync that fails under Run is followed by a list", againResyncFailsRunning),
			bothWays("a backoff of the program's own says how long refused watches wait", againBackoff),
			[]test{
				{Sentence: "an Error event without a status is followed by a list", Run: protocolNoStatus},
				{Sentence: "a bookmark that does not mark the end of a watch-list ends nothing", Run: protocolOtherBookmark},
				{Sentence: "requests carry the same options", Run: againOptions},
			},
		),
	}
}

// sink is a store that records its calls.
type sink struct {
	logbook
	resyncFails atomic.Bool
}

func (s *sink) Add(obj any) error    { s.write("add " + describe(obj)); return nil }
func (s *sink) Update(obj any) error { s.write("update " + describe(obj)); return nil }
func (s *sink) Delete(obj any) error { s.write("delete " + describe(obj)); return nil }

func (s *sink) Resync() error {
	s.write("resync")
	if s.resyncFails.Load() {
		return errBad
	}
	return nil
}

func (s *sink) Replace(list []any, version string) error {
	s.write(fmt.Sprintf("replace %v at %s", names(list), version))
	return nil
}

func (s *sink) told(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	s.logbook.told(t, want...)
}

// reflecting runs a reflector into a sink.
func reflecting(t *testing.T, im Implementation, o kc.ListerWatcher) (*kc.Reflector, *sink) {
	t.Helper()
	s := &sink{}
	r := im.NewReflector(o, &corev1.Pod{}, s, 0)
	running(t, r.RunWithContext)
	return r, s
}

// listOnly makes an origin that knows no watch-list.
func listOnly(objects ...*corev1.Pod) *origin {
	o := newOrigin()
	o.noWatchList = true
	for _, p := range objects {
		o.put(p)
	}
	return o
}

// besides leaves out the requests of a verb.
func besides(verb string, requests []request) []request {
	return slices.DeleteFunc(requests, func(r request) bool { return r.verb == verb })
}

func inWords(requests []request) []string {
	var list []string
	for _, r := range requests {
		list = append(list, r.String())
	}
	return list
}

// gone is how servers before Kubernetes 1.18 said that a version has expired.
func gone() error {
	return apierrors.NewGenericServerResponse(http.StatusGone, "watch", corev1.Resource("pods"), "", "gone", 0, false)
}

// withoutWatchList says, as fake clients do, that it knows no watch-list.
type withoutWatchList struct{ *origin }

func (withoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }

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

func againResyncFailsRunning(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	s := &failingResyncs{}
	stop := running(t, im.NewReflector(o, &corev1.Pod{}, s, time.Minute).RunWithContext)
	s.told(t, "replace [ns/a@101] at 101")
	testbubble.Elapse(time.Minute + 30*time.Second)
	s.told(t)
	testbubble.Elapse(time.Minute)
	s.told(t, "replace [ns/a@101] at 101")
	stop()
	queue := &failingQueue{Queue: im.NewFIFO(im.MetaNamespaceKeyFunc), failing: &failingResyncs{}}
	running(t, im.NewController(ControllerConfig{
		Queue: queue, ListerWatcher: o, ObjectType: &corev1.Pod{}, FullResyncPeriod: time.Minute,
		Process: func(any, bool) error { return nil },
	}).RunWithContext)
	o.asked()
	testbubble.Elapse(time.Minute + 30*time.Second)
	equal(t, "requests before a resync fails", len(o.asked()), 0)
	testbubble.Elapse(time.Minute)
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
	testbubble.Elapse(time.Minute)
	o.put(pod("ns", "a"))
	testbubble.Elapse(time.Minute)
	o.asked()
	o.failWatches(refused, refused, refused, refused, refused)
	from, at := time.Now(), []time.Duration{}
	o.onRequest = func(r request) {
		if !r.probe() {
			at = append(at, time.Since(from))
		}
	}
	o.end()
	testbubble.Elapse(time.Hour)
	for i, s := range []time.Duration{0, 10, 20, 50, 120, 190} {
		if i >= len(at) || at[i] != s*time.Second {
			t.Fatalf("asked after %v", at)
		}
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
	testbubble.Elapse(10 * time.Second)
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testbubble.Elapse(time.Minute)
	same(t, "with lists", carried(o.asked()), first, f(watched, "101"), f(watched, "101"), f(relist, "101"), f(watched, "102"))

	o.failLists(gone())
	testbubble.Elapse(10 * time.Second)
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testbubble.Elapse(time.Minute)
	asked := carried(o.asked())
	if len(asked) != 4 || asked[0] != f(watched, "102") || asked[1] != f(relist, "102") || !strings.HasPrefix(asked[2], consistent) || asked[3] != f(watched, "103") {
		t.Errorf("where the list is gone: %q", asked)
	}

	o = newOrigin(pod("ns", "a"))
	reflecting(t, im, o)
	testbubble.Elapse(10 * time.Second)
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testbubble.Elapse(time.Minute)
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

// A source that is no server, such as a storage in the same process, may end a watch with
// an error of its own. Then it is not known what the watch has missed. A list follows, and
// a ListAndWatch that was called by hand returns, so that its caller knows of the gap.
func protocolNoStatus(t *testing.T, im Implementation) {
	for _, object := range []runtime.Object{nil, (*metav1.Status)(nil), pod("ns", "z"), &metav1.List{}} {
		for _, advanced := range []bool{false, true} {
			o := listOnly(pod("ns", "a"), pod("ns", "lost"))
			s := &sink{}
			r := im.NewReflector(o, &corev1.Pod{}, s, 0)
			done := make(chan error, 1)
			stop := running(t, func(ctx context.Context) { done <- r.ListAndWatchWithContext(ctx) })
			testbubble.Elapse(10 * time.Second)
			want := []string{`list from "102"`, `watch from "103"`}
			if advanced {
				o.put(pod("ns", "b"))
				want = []string{`list from "103"`, `watch from "104"`}
			}
			synctest.Wait()
			o.asked()
			s.take()
			o.loseDelete("ns", "lost")
			o.send(watch.Event{Type: watch.Error, Object: object})
			synctest.Wait()
			select {
			case err := <-done:
				must(t, err)
			default:
				t.Errorf("%T: ListAndWatch goes on", object)
			}
			stop()
			running(t, func(ctx context.Context) { _ = r.ListAndWatchWithContext(ctx) })
			testbubble.Elapse(10 * time.Second)
			same(t, "requests", inWords(besides("watch-list", o.asked())), want...)
			if advanced {
				s.told(t, "replace [ns/a@101 ns/b@103] at 104")
			} else {
				s.told(t, "replace [ns/a@101] at 103")
			}
		}
	}
}

// Only the annotation marks the end. A server that sends other bookmarks before that is
// slow; it does support watch-lists.
func protocolOtherBookmark(t *testing.T, im Implementation) {
	f := newFakeServer("1")
	f.streams = true
	_, s := reflecting(t, im, f.listerWatcher(im))
	w, _ := f.open()
	bookmark := func(version, mark string) {
		w.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: mark},
		}})
	}
	w.Add(pod("ns", "a", at("2")))
	bookmark("2", "false")
	bookmark("3", "")
	w.Add(pod("ns", "b", at("3")))
	synctest.Wait()
	testbubble.Elapse(9 * time.Second)
	s.told(t)
	bookmark("4", "true")
	synctest.Wait()
	s.told(t, "replace [ns/a@2 ns/b@3] at 4")
	if _, watches := f.open(); watches != 1 || w.IsStopped() {
		t.Errorf("%d watches, the first was stopped: %v", watches, w.IsStopped())
	}
}
