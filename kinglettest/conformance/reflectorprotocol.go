package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

// reflectorProtocolTests are the part of the row "reflector" that is about
// what is asked of the server.
func reflectorProtocolTests() []test {
	return []test{
		{sentence: "a watch-list asks for initial events, bookmarks and a state not older than what it has", run: protocolWatchList},
		{sentence: "a server without watch-list is listed", run: protocolFallback},
		{sentence: "the first list may be served from a cache", run: protocolFirstList},
		{sentence: "a watch begins at the version of the list, has bookmarks and a random end", run: protocolWatch},
		{sentence: "a longer minimum of watches is honoured, a shorter is not", run: protocolWatchTimeout},
		{sentence: "an expired watch is followed by a list not older than what it has", run: protocolExpiredWatch},
		{sentence: "an expired list is followed by a consistent one", run: protocolExpiredList},
		{sentence: "a change that the server cannot read from its storage is followed by a list", run: protocolStoreRead},
		{sentence: "an Error event without a status is followed by a list", run: protocolNoStatus},
		{sentence: "a version that is too large is followed by a consistent list", run: protocolTooLarge},
		{sentence: "pages are fetched until there are no more, and replace once", run: protocolPages},
		{sentence: "a page that expired is followed by a full list", run: protocolExpiredPage},
		{sentence: "too many requests, and refused connections, are waited out without a list", run: protocolRetriable},
		{sentence: "internal errors of a watch are waited out as long as asked for", run: protocolInternalErrors},
		{sentence: "a watch-list that breaks off replaces nothing", run: protocolBrokenWatchList},
		{sentence: "a bookmark that does not mark the end of a watch-list ends nothing", run: protocolOtherBookmark},
		{sentence: "failures are asked about less and less often", run: protocolBackoff},
		{sentence: "watches that end at once are not asked for in a loop", run: protocolVeryShortWatch},
		{sentence: "a source that says it knows no watch-list is not asked for one", run: protocolNoWatchListSemantics},
	}
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

func protocolWatchList(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	reflecting(t, im, o)
	requests := o.asked()
	same(t, "requests", inWords(requests), `watch-list from ""`)
	options := requests[0].options
	if options.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || !options.AllowWatchBookmarks || options.TimeoutSeconds == nil {
		t.Errorf("a watch-list asks for %q, bookmarks %v, an end %v",
			options.ResourceVersionMatch, options.AllowWatchBookmarks, options.TimeoutSeconds)
	}
}

func protocolFallback(t *testing.T, im Implementation) {
	for _, err := range []error{
		apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil),
		apierrors.NewBadRequest("sendInitialEvents is not known"),
	} {
		o := newOrigin(pod("ns", "a"))
		o.failWatches(err)
		_, s := reflecting(t, im, o)
		testclock.Elapse(time.Minute)
		s.told(t, "replace [ns/a@101] at 101")
		requests := o.verbs()
		if len(requests) < 3 || requests[0] != `watch-list from ""` || !strings.HasPrefix(requests[1], "list") || requests[2] != `watch from "101"` {
			t.Errorf("requests: %v", requests)
		}
	}
}

func protocolFirstList(t *testing.T, im Implementation) {
	o := listOnly(pod("ns", "a"))
	reflecting(t, im, o)
	requests := besides("watch-list", o.asked())
	same(t, "requests", inWords(requests), `list from "0"`, `watch from "101"`)
}

func protocolWatch(t *testing.T, im Implementation) {
	o := listOnly(pod("ns", "a"))
	reflecting(t, im, o)
	timeouts := map[int64]bool{}
	for range 20 {
		requests := besides("watch-list", o.asked())
		options := requests[len(requests)-1].options
		if !options.AllowWatchBookmarks || options.TimeoutSeconds == nil {
			t.Fatalf("a watch asks for bookmarks %v, an end %v", options.AllowWatchBookmarks, options.TimeoutSeconds)
		}
		timeouts[*options.TimeoutSeconds] = true
		if s := *options.TimeoutSeconds; s < 300 || s > 600 {
			t.Errorf("a watch is to end after %d s", s)
		}
		testclock.Elapse(time.Minute)
		o.put(pod("ns", "a"))
		synctest.Wait()
		o.end()
		testclock.Elapse(time.Minute)
	}
	if len(timeouts) < 3 {
		t.Errorf("20 watches were to end after %v s", timeouts)
	}
}

func protocolWatchTimeout(t *testing.T, im Implementation) {
	for _, c := range []struct {
		minimum   time.Duration
		low, high int64
	}{{20 * time.Minute, 1200, 2400}, {time.Minute, 300, 600}} {
		o := listOnly()
		r := im.NewReflectorWithOptions(o, &corev1.Pod{}, &sink{}, kc.ReflectorOptions{MinWatchTimeout: c.minimum})
		running(t, r.RunWithContext)
		requests := o.asked()
		options := requests[len(requests)-1].options
		if options.TimeoutSeconds == nil || *options.TimeoutSeconds < c.low || *options.TimeoutSeconds > c.high {
			t.Errorf("with a minimum of %v a watch is to end after %v s", c.minimum, options.TimeoutSeconds)
		}
	}
}

func protocolExpiredWatch(t *testing.T, im Implementation) {
	for _, byEvent := range []bool{false, true} {
		o := listOnly(pod("ns", "a"))
		_, s := reflecting(t, im, o)
		testclock.Elapse(10 * time.Second)
		o.asked()
		s.take()
		if byEvent {
			status := apierrors.NewResourceExpired("too old").Status()
			o.put(pod("ns", "b"))
			o.send(watch.Event{Type: watch.Error, Object: &status})
			o.end()
		} else {
			o.behindItsBack(func() { o.put(pod("ns", "b")) })
		}
		testclock.Elapse(time.Minute)
		requests := inWords(besides("watch-list", o.asked()))
		if byEvent {
			same(t, "requests", requests, `list from "102"`, `watch from "102"`)
			s.told(t, "add ns/b@102", "replace [ns/a@101 ns/b@102] at 102")
		} else {
			same(t, "requests", requests, `watch from "101"`, `list from "101"`, `watch from "102"`)
			s.told(t, "replace [ns/a@101 ns/b@102] at 102")
		}
	}
}

func protocolExpiredList(t *testing.T, im Implementation) {
	for _, err := range []error{apierrors.NewResourceExpired("too old"), gone()} {
		o := listOnly(pod("ns", "a"))
		_, s := reflecting(t, im, o)
		testclock.Elapse(10 * time.Second)
		o.asked()
		s.take()
		o.failLists(err)
		o.behindItsBack(func() { o.put(pod("ns", "b")) })
		testclock.Elapse(time.Minute)
		same(t, "requests", inWords(besides("watch-list", o.asked())),
			`watch from "101"`, `list from "101"`, `list from ""`, `watch from "102"`)
		s.told(t, "replace [ns/a@101 ns/b@102] at 102")
	}
}

// gone is how servers before Kubernetes 1.18 said that a version has expired.
func gone() error {
	return apierrors.NewGenericServerResponse(http.StatusGone, "watch", corev1.Resource("pods"), "", "gone", 0, false)
}

// A corrupt object is deleted: the server cannot tell its last state, ends the
// watch with that error, and tells no later watch of the delete.
func protocolStoreRead(t *testing.T, im Implementation) {
	status := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonStoreReadError,
		Message: "failed to prepare current and previous objects: corrupt object has been deleted",
	}
	for _, advanced := range []bool{false, true} {
		o := listOnly(pod("ns", "a"), pod("ns", "corrupt"))
		_, s := reflecting(t, im, o)
		testclock.Elapse(10 * time.Second)
		if advanced {
			o.put(pod("ns", "b"))
			synctest.Wait()
		}
		o.asked()
		s.take()
		o.loseDelete("ns", "corrupt")
		o.send(watch.Event{Type: watch.Error, Object: &status})
		o.end()
		testclock.Elapse(10 * time.Second)
		requests := inWords(besides("watch-list", o.asked()))
		if advanced {
			same(t, "requests", requests, `list from "103"`, `watch from "104"`)
			s.told(t, "replace [ns/a@101 ns/b@103] at 104")
		} else {
			same(t, "requests", requests, `list from "102"`, `watch from "103"`)
			s.told(t, "replace [ns/a@101] at 103")
		}
	}
}

func protocolTooLarge(t *testing.T, im Implementation) {
	o := listOnly(pod("ns", "a"))
	_, s := reflecting(t, im, o)
	o.asked()
	s.take()
	// The server was restored: what it has now is older.
	o.failLists(o.tooLargeLocked("9999"))
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testclock.Elapse(time.Minute)
	requests := inWords(besides("watch-list", o.asked()))
	if !slices.Contains(requests, `list from ""`) {
		t.Errorf("requests: %v", requests)
	}
	s.told(t, "replace [ns/a@101 ns/b@102] at 102")
}

func protocolPages(t *testing.T, im Implementation) {
	o := listOnly()
	o.pages = true
	for i := range 5 {
		o.put(pod("ns", fmt.Sprint("p", i)))
	}
	s := &sink{}
	r := im.NewReflector(o, &corev1.Pod{}, s, 0)
	r.WatchListPageSize = 2
	running(t, r.RunWithContext)
	s.told(t, "replace [ns/p0@101 ns/p1@102 ns/p2@103 ns/p3@104 ns/p4@105] at 105")
	requests := besides("watch-list", o.asked())
	if len(requests) != 4 || requests[0].options.Limit != 2 || requests[1].options.Continue == "" || requests[2].options.Continue == "" {
		t.Errorf("requests: %v", requests)
	}
}

func protocolExpiredPage(t *testing.T, im Implementation) {
	o := listOnly()
	o.pages = true
	for i := range 5 {
		o.put(pod("ns", fmt.Sprint("p", i)))
	}
	o.failLists(nil, apierrors.NewResourceExpired("the continue token is too old"))
	s := &sink{}
	r := im.NewReflector(o, &corev1.Pod{}, s, 0)
	r.WatchListPageSize = 2
	running(t, r.RunWithContext)
	testclock.Elapse(time.Minute)
	s.told(t, "replace [ns/p0@101 ns/p1@102 ns/p2@103 ns/p3@104 ns/p4@105] at 105")
}

func protocolRetriable(t *testing.T, im Implementation) {
	refused := fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	for _, err := range []error{apierrors.NewTooManyRequests("slow down", 1), refused} {
		o := listOnly(pod("ns", "a"))
		_, s := reflecting(t, im, o)
		o.asked()
		s.take()
		o.failWatches(err, err, err)
		o.put(pod("ns", "a"))
		synctest.Wait()
		o.end()
		testclock.Elapse(time.Minute)
		o.put(pod("ns", "b"))
		s.told(t, "update ns/a@102", "add ns/b@103")
		same(t, fmt.Sprint("requests after ", err), inWords(besides("watch-list", o.asked())),
			`watch from "102"`, `watch from "102"`, `watch from "102"`, `watch from "102"`)
	}
}

func protocolInternalErrors(t *testing.T, im Implementation) {
	o := listOnly(pod("ns", "a"))
	s := &sink{}
	r := im.NewReflector(o, &corev1.Pod{}, s, 0)
	r.MaxInternalErrorRetryDuration = time.Minute
	running(t, r.RunWithContext)
	o.asked()
	for range 3 {
		status := apierrors.NewInternalError(errBad).Status()
		o.send(watch.Event{Type: watch.Error, Object: &status})
		o.end()
		testclock.Elapse(10 * time.Second)
	}
	for _, r := range besides("watch-list", o.asked()) {
		if r.verb != "watch" {
			t.Errorf("an internal error of a watch is followed by a %v", r)
		}
	}
	o.put(pod("ns", "b"))
	s.told(t, "replace [ns/a@101] at 101", "add ns/b@102")
}

func protocolBrokenWatchList(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"), pod("ns", "b"))
	broken := watch.NewFakeWithChanSize(4, false)
	broken.Add(pod("ns", "a", at("101")))
	broken.Stop()
	o.answerWatches(broken)
	_, s := reflecting(t, im, o)
	testclock.Elapse(time.Minute)
	s.told(t, "replace [ns/a@101 ns/b@102] at 102")
}

func protocolBackoff(t *testing.T, im Implementation) {
	o := listOnly()
	o.failLists(slices.Repeat([]error{errBad}, 10_000)...)
	reflecting(t, im, o)
	testclock.Elapse(10 * time.Minute)
	// Waits of 0.8 s, doubled up to 30 s, each with a random up to twice as
	// much. With waits of a minute alone there are at least 10 lists. If the
	// waits began anew every two minutes, which client-go's do, each two
	// minutes have at most 0.8+1.6+3.2+6.4+12.8+25.6+30+30 s in eight lists,
	// and one for the end.
	lists := 0
	for _, r := range o.asked() {
		if r.verb == "list" {
			lists++
		}
	}
	if lists < 10 || lists > 5*9 {
		t.Errorf("%d lists in ten minutes of failures", lists)
	}
}

func protocolVeryShortWatch(t *testing.T, im Implementation) {
	o := listOnly(pod("ns", "a"))
	for range 10_000 {
		w := watch.NewFakeWithChanSize(1, false)
		w.Stop()
		o.answerWatches(w)
	}
	reflecting(t, im, o)
	testclock.Elapse(10 * time.Minute)
	if n := len(o.asked()); n < 12 || n > 120 {
		t.Errorf("%d requests in ten minutes of watches that end at once", n)
	}
}

// withoutWatchList says, as fake clients do, that it knows no watch-list.
type withoutWatchList struct{ *origin }

func (withoutWatchList) IsWatchListSemanticsUnSupported() bool { return true }

func protocolNoWatchListSemantics(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	_, s := reflecting(t, im, withoutWatchList{o})
	s.told(t, "replace [ns/a@101] at 101")
	same(t, "requests", o.verbs(), `list from "0"`, `watch from "101"`)
}
