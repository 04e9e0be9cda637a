package conformance

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// informerDifferences are those of informers and reflectors.
func informerDifferences() []Difference {
	return []Difference{
		{
			ID:           "recreated-unseen",
			Situation:    "an object is deleted and created again while the watch is away",
			Reference:    "handlers get an Update from one object to the other",
			Right:        "handlers get a Delete, then an Add",
			Source:       "https://github.com/kubernetes/kubernetes/issues/133565",
			Outcome:      recreatedUnseen,
			WeakOutcome:  "update ns/a@101 to ns/a@103",
			RightOutcome: "delete ns/a@101, final state unknown; add ns/a@103",
		},
		{
			ID:           "removed-by-hand-changes",
			Situation:    "an object is deleted from an informer's store by hand, and the watch brings its next state",
			Reference:    "handlers get a second Add",
			Right:        "handlers that know it get an Update",
			Outcome:      removedByHandChanges,
			WeakOutcome:  "early: add ns/a@102; late: add ns/a@102",
			RightOutcome: "early: update ns/a@101 to ns/a@102; late: add ns/a@102",
		},
		{
			ID:           "removed-by-hand-unseen",
			Situation:    "an object is deleted from an informer's store by hand, and from the server while the watch is away",
			Reference:    "handlers never hear that it is gone",
			Right:        "handlers that know it get a Delete",
			Outcome:      removedByHandUnseen,
			WeakOutcome:  "early: ; late: ",
			RightOutcome: "early: delete ns/a@101, final state unknown; late: ",
		},
		{
			ID:           "put-by-hand",
			Situation:    "a program puts two objects into an informer's store by hand before it runs, and the first list has a newer version of one and lacks the other",
			Reference:    "handlers get an Update of the one and a Delete of the other, without an Add before",
			Right:        "they get an Add of the one, and nothing of the other",
			Outcome:      putByHand,
			WeakOutcome:  "delete ns/gone@7, final state unknown; update ns/lives@7 to ns/lives@101",
			RightOutcome: "add ns/lives@101 initial",
		},
		{
			ID:           "version-backwards",
			Situation:    "a list is served by a server that lags behind",
			Reference:    "the published version and the objects go backwards",
			Right:        "they never do",
			Source:       "https://github.com/kubernetes/kubernetes/issues/59848",
			Outcome:      versionBackwards,
			WeakOutcome:  "went backwards",
			RightOutcome: "never went backwards",
		},
		{
			ID:           "numbers-anew",
			Situation:    "a server in memory restarts, loses objects and numbers anew, and a watch is asked for again",
			Reference:    "objects that it lost stay for ever",
			Right:        "the events of that watch are applied, and when it ends everything is listed",
			Outcome:      numbersAnew,
			WeakOutcome:  "[ns/a@5 ns/b@901] while the watch lives, [ns/a@5 ns/b@901] after it",
			RightOutcome: "[ns/a@5 ns/b@901] while the watch lives, [ns/a@5] after it",
		},
		{
			ID:           "deleted-before-watch",
			Situation:    "a test deletes an object of a fake clientset as soon as the informer has synced",
			Reference:    "the object may stay for ever: the watch may not be open yet, and a fake sends no delete from before",
			Right:        "the informer has synced once its watch is open",
			Outcome:      deletedBeforeWatch,
			WeakOutcome:  "[ns/a@1]",
			RightOutcome: "[]",
		},
		{
			ID:           "store-during-watch",
			Situation:    "a Watch function looks at the reflector's store and version after a list",
			Reference:    "both are the list's",
			Right:        "they are empty: a list is published once the watch after it is open",
			Outcome:      storeDuringWatch,
			WeakOutcome:  "[ns/a@1], version 1",
			RightOutcome: "[], version ",
		},
		{
			ID:           "changed-in-place",
			Situation:    "a watch without versions adds one and the same object twice, and the test has written into it in between",
			Reference:    "handlers get an Update from the object to itself",
			Right:        "nobody is told: such a watch begins by repeating what exists, and an informer's objects must not be written to",
			Outcome:      changedInPlace,
			WeakOutcome:  "add ns/a; update ns/a to ns/a",
			RightOutcome: "add ns/a",
		},
		{
			ID:           "bad-object-first",
			Situation:    "the transform fails for one object of a list",
			Reference:    "nothing is stored and the informer never syncs",
			Right:        "the others are stored, the informer syncs, and the one is reported and quarantined",
			Outcome:      badObjectFirst,
			WeakOutcome:  "synced false, store [], reported true",
			RightOutcome: "synced true, store [ns/good@102], reported true",
		},
		{
			ID:           "bad-object-later",
			Situation:    "the transform fails for a new version of an object and there is another watch-list",
			Reference:    "handlers are told that the object, which lives, was deleted",
			Right:        "its last good version stays, marked stale",
			Outcome:      badObjectLater,
			WeakOutcome:  "store [ns/good@104], told of a delete true",
			RightOutcome: "store [ns/good@104 ns/worse@101], told of a delete false",
		},
		{
			ID:           "unbounded-buffer",
			Situation:    "a handler stands still while one object changes for ever",
			Reference:    "every update waits in memory, without bound",
			Right:        "up to a stated bound all wait, beyond it the updates of a key fold; adds and deletes never do",
			Source:       "https://github.com/kubernetes/kubernetes/issues/137314, https://github.com/kubernetes/client-go/issues/1326",
			Outcome:      unboundedBuffer,
			WeakOutcome:  "every update was kept; all adds and deletes kept; ends with the newest",
			RightOutcome: "updates folded; all adds and deletes kept; ends with the newest",
		},
		{
			ID:           "relist-unchanged",
			Situation:    "a relist finds an object as it was",
			Reference:    "handlers get an Update from the object to itself",
			Right:        "nobody is told; who wants to hear of every object asks for a resync",
			Outcome:      relistUnchanged,
			WeakOutcome:  "update ns/a@101 to ns/a@101",
			RightOutcome: "",
		},
		{
			ID:           "listed-type",
			Situation:    "an object of a list is not of the expected type",
			Reference:    "it is stored, since only watched objects are looked at",
			Right:        "it is reported and left out, as a watched one is",
			Outcome:      listedType,
			WeakOutcome:  "store [n@101 ns/a@102]",
			RightOutcome: "store [ns/a@102]",
		},
		{
			ID:           "silent-watch",
			Situation:    "a watch neither ends when it was asked to nor brings anything, as one that died unnoticed",
			Reference:    "it is waited for, without end",
			Right:        "it is given up, and the next goes on from where it was",
			Outcome:      silentWatch,
			WeakOutcome:  "one watch in an hour",
			RightOutcome: "more than one watch in an hour",
		},
		{
			ID:           "backoff-starts-anew",
			Situation:    "a server fails for an hour",
			Reference:    "waits grow, but begin anew at 0.8 s every two minutes",
			Right:        "waits grow to 30 to 60 s and stay there",
			Outcome:      backoffStartsAnew,
			WeakOutcome:  "more than 120 lists in an hour",
			RightOutcome: "at most 120 lists in an hour",
		},
		{
			ID:           "handler-panic",
			Situation:    "a handler panics",
			Reference:    "the process ends without a word of which object",
			Right:        "the process ends, and the panic names handler and key",
			Outcome:      handlerPanic,
			WeakOutcome:  "the process ended, without the key",
			RightOutcome: "the process ended, with handler and key",
			Real:         true,
		},
		{
			ID:           "consistent-list",
			Situation:    "a list not older than what a reflector has is refused, as that version is gone",
			Reference:    "the latest state is asked for in one piece",
			Right:        "it is asked for in pages",
			Outcome:      consistentList,
			WeakOutcome:  `version "", limit 0`,
			RightOutcome: `version "", limit 500`,
		},
		{
			ID:           "paged-relist",
			Situation:    "pages are asked for (WatchListPageSize), and everything has to be listed again",
			Reference:    "a list names the version alone, which servers take for that very one",
			Right:        "it asks for a state not older than that",
			Outcome:      pagedRelist,
			WeakOutcome:  `version "101", match "", limit 7`,
			RightOutcome: `version "101", match "NotOlderThan", limit 7`,
		},
	}
}

func recreatedUnseen(t *testing.T, im Implementation) string {
	o := newOrigin(pod("ns", "a", identity("first")))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.take()
	o.behindItsBack(func() {
		o.remove("ns", "a")
		o.put(pod("ns", "a", identity("second")))
	})
	testbubble.Elapse(time.Minute)
	return strings.Join(r.take(), "; ")
}

func versionBackwards(t *testing.T, im Implementation) string {
	o := newOrigin(pod("ns", "a"))
	o.noWatchList = true
	informer := podInformer(im, o)
	running(t, informer.RunWithContext)
	for range 9 {
		o.put(pod("ns", "a"))
	}
	testbubble.Elapse(10 * time.Second)
	highest, back := 0, false
	see := func(version string) {
		v, err := strconv.Atoi(version)
		if err != nil || v < highest {
			back = true
		}
		highest = max(highest, v)
	}
	look := func() {
		see(informer.LastSyncResourceVersion())
		for _, obj := range informer.GetStore().List() {
			see(obj.(*corev1.Pod).ResourceVersion)
		}
		highest = 0
		see(informer.LastSyncResourceVersion())
	}
	look()
	before := highest
	o.answerLists(func() runtime.Object {
		return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "105"}, Items: []corev1.Pod{*pod("ns", "a", at("105"), identity("uid-101"))}}
	})
	status := apierrors.NewResourceExpired("too old").Status()
	o.send(watch.Event{Type: watch.Error, Object: &status})
	o.end()
	// The next request begins at the published version, so it shows that version even
	// if it was published only for a moment.
	for range 600 {
		testbubble.Elapse(100 * time.Millisecond)
		item, exists, _ := informer.GetStore().GetByKey("ns/a")
		if version := informer.LastSyncResourceVersion(); version < strconv.Itoa(before) || !exists || item.(*corev1.Pod).ResourceVersion < "110" {
			back = true
		}
	}
	for _, r := range o.asked() {
		if r.verb == "watch" && r.options.ResourceVersion == "105" {
			back = true
		}
	}
	if back {
		return "went backwards"
	}
	return "never went backwards"
}

// failingFor is a transform that fails for pods with a certain label.
func failingFor(obj any) (any, error) {
	if p := obj.(*corev1.Pod); p.Labels["bad"] != "" {
		return nil, errBad
	}
	return obj, nil
}

func badObjectFirst(t *testing.T, im Implementation) string {
	o := listOnly(pod("ns", "bad", label("bad", "yes")), pod("ns", "good"))
	informer := podInformer(im, o)
	must(t, informer.SetTransform(failingFor))
	reports.drain()
	running(t, informer.RunWithContext)
	testbubble.Elapse(5 * time.Minute)
	return fmt.Sprintf("synced %v, store %v, reported %v",
		informer.HasSynced(), names(informer.GetStore().List()), len(reports.drain()) > 0)
}

func badObjectLater(t *testing.T, im Implementation) string {
	o := newOrigin(pod("ns", "worse"), pod("ns", "good"))
	informer := podInformer(im, o)
	must(t, informer.SetTransform(failingFor))
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	o.put(pod("ns", "worse", label("bad", "yes")))
	testbubble.Elapse(10 * time.Second)
	o.behindItsBack(func() { o.put(pod("ns", "good")) })
	testbubble.Elapse(5 * time.Minute)
	deleted := strings.Contains(strings.Join(r.take(), "; "), "delete ns/worse")
	return fmt.Sprintf("store %v, told of a delete %v", names(informer.GetStore().List()), deleted)
}

func unboundedBuffer(t *testing.T, im Implementation) string {
	n := im.HandlerBound + 10_000
	o := newOrigin(pod("ns", "a"))
	o.room = 2000
	informer := podInformer(im, o)
	g := newGate()
	r := &recorder{before: g.wait}
	value(informer.AddEventHandler(r))(t)
	running(t, informer.RunWithContext)
	others := 0
	for i := range n {
		o.put(pod("ns", "a"))
		if i%1000 == 0 {
			others++
			o.put(pod("ns", fmt.Sprint("other", i)))
			o.remove("ns", fmt.Sprint("other", i))
		}
		if i%500 == 0 {
			synctest.Wait()
		}
	}
	synctest.Wait()
	g.open()
	synctest.Wait()
	log := r.take()
	updates, adds, deletes := 0, 0, 0
	for _, what := range log {
		switch {
		case strings.HasPrefix(what, "update"):
			updates++
		case strings.HasPrefix(what, "add ns/other"):
			adds++
		case strings.HasPrefix(what, "delete ns/other"):
			deletes++
		}
	}
	what := "every update was kept"
	if updates < n {
		what = "updates folded"
	}
	kept := "all adds and deletes kept"
	if adds != others || deletes != others {
		kept = fmt.Sprintf("%d adds and %d deletes of %d kept", adds, deletes, others)
	}
	end := "ends with the newest"
	item, _, _ := informer.GetStore().GetByKey("ns/a")
	last := ""
	for _, l := range log {
		if strings.HasPrefix(l, "update ns/a@") {
			last = l
		}
	}
	if !strings.HasSuffix(last, " to "+describe(item)) {
		end = "ends with " + last
	}
	return what + "; " + kept + "; " + end
}

func relistUnchanged(t *testing.T, im Implementation) string {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.take()
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testbubble.Elapse(time.Minute)
	// The new object shows that there was a relist.
	log := r.take()
	if !slices.Contains(log, "add ns/b@102") {
		t.Errorf("told: %v", log)
	}
	return strings.Join(slices.DeleteFunc(log, func(what string) bool { return what == "add ns/b@102" }), "; ")
}

func listedType(t *testing.T, im Implementation) string {
	o := newOrigin(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, pod("ns", "a"))
	o.noWatchList = true
	o.newList = func() runtime.Object { return &metav1.List{} }
	informer := im.NewSharedIndexInformer(o, &corev1.Pod{}, 0, kc.Indexers{})
	running(t, informer.RunWithContext)
	testbubble.Elapse(time.Minute)
	return fmt.Sprintf("store %v", names(informer.GetStore().List()))
}

func silentWatch(t *testing.T, im Implementation) string {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	running(t, informer.RunWithContext)
	testbubble.Elapse(time.Hour)
	requests := o.asked()
	for _, r := range requests[1:] {
		if r.String() != `watch from "101"` {
			t.Errorf("asked for a %v", r)
		}
	}
	if len(requests) > 1 {
		return "more than one watch in an hour"
	}
	return "one watch in an hour"
}

func backoffStartsAnew(t *testing.T, im Implementation) string {
	o := newOrigin()
	o.noWatchList = true
	for range 1000 {
		o.failLists(errBad)
	}
	informer := podInformer(im, o)
	running(t, informer.RunWithContext)
	testbubble.Elapse(10 * time.Minute)
	o.asked()
	testbubble.Elapse(time.Hour)
	lists := 0
	for _, r := range o.asked() {
		if r.verb == "list" {
			lists++
		}
	}
	// An hour has 120 waits of 30 s, and 60 of a minute.
	if lists > 120 {
		return "more than 120 lists in an hour"
	}
	return "at most 120 lists in an hour"
}

func consistentList(t *testing.T, im Implementation) string {
	o := listOnly(pod("ns", "a"))
	reflecting(t, im, withoutWatchList{o})
	testbubble.Elapse(10 * time.Second)
	o.asked()
	o.failLists(gone())
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testbubble.Elapse(time.Minute)
	lists := besides("watch", o.asked())
	if len(lists) != 2 {
		return fmt.Sprint(lists)
	}
	return fmt.Sprintf("version %q, limit %d", lists[1].options.ResourceVersion, lists[1].options.Limit)
}

func pagedRelist(t *testing.T, im Implementation) string {
	o := listOnly(pod("ns", "a"))
	r := im.NewReflector(withoutWatchList{o}, &corev1.Pod{}, &sink{}, 0)
	r.WatchListPageSize = 7
	running(t, r.RunWithContext)
	testbubble.Elapse(10 * time.Second)
	o.asked()
	o.behindItsBack(func() { o.put(pod("ns", "b")) })
	testbubble.Elapse(time.Minute)
	lists := besides("watch", o.asked())
	if len(lists) != 1 {
		return fmt.Sprint(lists)
	}
	options := lists[0].options
	return fmt.Sprintf("version %q, match %q, limit %d", options.ResourceVersion, options.ResourceVersionMatch, options.Limit)
}

// panicVariable is set in the child process that is to panic.
const panicVariable = "KINGLET_CONFORMANCE_PANIC"

// panickingHandler panics for one object.
type panickingHandler struct{ kc.ResourceEventHandlerFuncs }

func (panickingHandler) OnAdd(any, bool) { panic("this is what the handler says") }

// handlerPanic runs this test in a child process, since the panic ends the process.
func handlerPanic(t *testing.T, im Implementation) string {
	if os.Getenv(panicVariable) != "" {
		panicForReal(t, im)
	}
	var pattern []string
	for _, part := range strings.Split(t.Name(), "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run="+strings.Join(pattern, "/"), "-test.timeout=50s")
	child.Env = append(os.Environ(), panicVariable+"=yes")
	output, err := child.CombinedOutput()
	if err == nil {
		return "the process went on"
	}
	if !bytes.Contains(output, []byte("this is what the handler says")) {
		t.Logf("output:\n%s", output)
		return "the process ended for another reason"
	}
	for line := range bytes.Lines(output) {
		if bytes.Contains(line, []byte("panickingHandler")) && bytes.Contains(line, []byte("somewhere/something")) {
			return "the process ended, with handler and key"
		}
	}
	return "the process ended, without the key"
}

// panicForReal runs an informer whose handler panics. It returns only if the panic does
// not end the process.
func panicForReal(t *testing.T, im Implementation) {
	o := newOrigin(pod("somewhere", "something"))
	informer := podInformer(im, o)
	value(informer.AddEventHandler(panickingHandler{}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	informer.RunWithContext(ctx)
	os.Exit(0)
}
