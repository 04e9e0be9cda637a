package conformance

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// sharedInformerRow leaves out what client-go's own tests say of indexers that are added
// later and of transforms: `make peers-cache` runs them over package cache.
func sharedInformerRow() row {
	return row{
		ID:    "shared informer",
		Needs: []string{"NewShared*", "ShutDownEventHandler", "MetaNamespaceIndexFunc"},
		Tests: slices.Concat(
			bothWays("the store, its indexes and the handlers follow the origin", informerFollows),
			bothWays("what was missed is told by the next list", informerRelists),
			[]test{
				{Sentence: "the store takes direct writes before Run, and tells nobody", Run: informerDirectWrites},
				{Sentence: "direct writes move the store's version, and not the informer's", Run: informerVersions},
				{Sentence: "a bookmark moves the version and tells nobody", Run: informerBookmark},
				{Sentence: "a watch that ends goes on from where it was", Run: informerRewatches},
				{Sentence: "a wrong type is reported and left out, and the stream goes on", Run: informerWrongType},
				{Sentence: "events of another type change nothing, a delete no less", Run: informerOtherType},
				{Sentence: "events of a fake count as they arrive, whatever their versions", Run: informerFakeStream},
				{Sentence: "a bookmark without a version ends the initial events", Run: informerBareBookmark},
				{Sentence: "the watch error handler is told of errors, and by whom", Run: informerWatchErrorHandler},
				{Sentence: "running twice is refused", Run: informerRunsOnce},
				{Sentence: "Run returns when everything has ended, the handlers included", Run: informerRunWaits},
				{Sentence: "a stopped informer takes no handler, no indexer and does not start again", Run: informerStopped},
				{Sentence: "one that was stopped before it synced has not synced", Run: informerStoppedEarly},
				{Sentence: "the controller says what the informer says, and does not run", Run: informerController},
			},
			byHandTests(),
			informerKeyTests(),
			handlerLifeTests(),
			resyncTests(),
		),
	}
}

func informerFollows(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a", on("n1")))
	o.put(pod("ns", "b", on("n1")))
	informer := podInformer(im, o)
	r, reg := handle(t, informer)
	equal(t, "synced before Run", informer.HasSynced() || reg.HasSynced(), false)
	equal(t, "version before Run", informer.LastSyncResourceVersion(), "")
	running(t, informer.RunWithContext)

	equal(t, "synced", informer.HasSynced(), true)
	equal(t, "done", isDone(informer.HasSyncedChecker()), true)
	equal(t, "the handler has synced", reg.HasSynced(), true)
	equal(t, "the handler is done", isDone(reg.HasSyncedChecker()), true)
	if informer.HasSyncedChecker().Name() == "" || reg.HasSyncedChecker().Name() == "" {
		t.Error("what is waited for has no name")
	}
	equal(t, "version", informer.LastSyncResourceVersion(), "102")
	r.toldInAnyOrder(t, "add ns/a@101 initial", "add ns/b@102 initial")
	same(t, "objects", names(informer.GetStore().List()), "ns/a@101", "ns/b@102")

	o.put(pod("ns", "c", on("n2")))
	o.put(pod("ns", "a", on("n2")))
	o.remove("ns", "b")
	o.put(pod("ns", "b", on("n3")))
	synctest.Wait()
	r.told(t, "add ns/c@103", "update ns/a@101 to ns/a@104", "delete ns/b@105", "add ns/b@106")
	same(t, "objects", names(informer.GetIndexer().List()), "ns/a@104", "ns/b@106", "ns/c@103")
	same(t, "on n2", names(value(informer.GetIndexer().ByIndex("node", "n2"))(t)), "ns/a@104", "ns/c@103")
	same(t, "nodes", sorted(informer.GetIndexer().ListIndexFuncValues("node")), "n2", "n3")
	equal(t, "version", informer.LastSyncResourceVersion(), "106")
	equal(t, "version of the store", informer.GetStore().LastStoreSyncResourceVersion(), "106")
}

func informerRelists(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "gone"))
	o.put(pod("ns", "changed"))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.take()
	o.behindItsBack(func() {
		o.put(pod("ns", "changed", on("n1")))
		o.remove("ns", "gone")
		o.put(pod("ns", "new"))
	})
	testbubble.Elapse(time.Minute)
	r.toldInAnyOrder(t,
		"update ns/changed@102 to ns/changed@103", "delete ns/gone@101, final state unknown", "add ns/new@105")
	same(t, "objects", names(informer.GetStore().List()), "ns/changed@103", "ns/new@105")
	equal(t, "version", informer.LastSyncResourceVersion(), "105")
	o.put(pod("ns", "live"))
	synctest.Wait()
	r.told(t, "add ns/live@106")
}

func informerDirectWrites(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	must(t, informer.GetIndexer().Add(pod("ns", "x", on("n1"))))
	must(t, informer.GetStore().Add(pod("ns", "y", on("n1"))))
	must(t, informer.GetStore().Update(pod("ns", "y", on("n2"))))
	must(t, informer.GetStore().Add(pod("ns", "z")))
	must(t, informer.GetStore().Delete(pod("ns", "z")))
	synctest.Wait()
	r.told(t)
	same(t, "objects", names(informer.GetStore().List()), "ns/x", "ns/y")
	same(t, "on n2", names(value(informer.GetIndexer().ByIndex("node", "n2"))(t)), "ns/y")
	item, exists, err := informer.GetIndexer().GetByKey("ns/x")
	if err != nil || !exists || item.(*corev1.Pod).Name != "x" {
		t.Errorf("ns/x is %v, %v, %v", item, exists, err)
	}
	must(t, informer.GetIndexer().Replace([]any{pod("ns", "r")}, "1"))
	same(t, "objects after Replace", names(informer.GetStore().List()), "ns/r")
	equal(t, "synced", informer.HasSynced(), false)
	equal(t, "requests", len(o.asked()), 0)
	running(t, informer.RunWithContext)
	same(t, "objects after Run", names(informer.GetStore().List()), "ns/a@101")
}

func informerBookmark(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.take()
	o.asked()
	o.bookmark()
	synctest.Wait()
	r.told(t)
	equal(t, "version", informer.LastSyncResourceVersion(), "102")
	equal(t, "version of the store", informer.GetStore().LastStoreSyncResourceVersion(), "102")
	o.end()
	testbubble.Elapse(time.Minute)
	same(t, "requests", o.verbs(), `watch from "102"`)
}

func informerRewatches(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	for range 5 {
		r.take()
		o.asked()
		o.put(pod("ns", "a"))
		testbubble.Elapse(10 * time.Second)
		o.end()
		o.put(pod("ns", "a"))
		testbubble.Elapse(time.Minute)
		equal(t, "changes told", len(r.take()), 2)
		requests := o.asked()
		if len(requests) != 1 || requests[0].verb != "watch" {
			t.Fatalf("after the end of a watch: %v", requests)
		}
		options := requests[0].options
		if !options.AllowWatchBookmarks || options.TimeoutSeconds == nil {
			t.Errorf("a watch asks for bookmarks: %v, and a timeout: %v", options.AllowWatchBookmarks, options.TimeoutSeconds)
		}
	}
}

func informerWatchErrorHandler(t *testing.T, im Implementation) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errBad)
	for _, withContext := range []bool{false, true} {
		o := newOrigin(pod("ns", "a"))
		o.noWatchList = true
		o.failLists(forbidden, forbidden)
		informer := im.NewSharedIndexInformerWithOptions(o, &corev1.Pod{}, kc.SharedIndexInformerOptions{ObjectDescription: "my pods"})
		var errs []error
		var descriptions []string
		plain := func(r *kc.Reflector, err error) {
			errs = append(errs, err)
			descriptions = append(descriptions, r.TypeDescription())
		}
		if withContext {
			must(t, informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *kc.Reflector, err error) {
				if ctx.Value(contextKey{}) != "a value" {
					t.Error("the context is not that of Run")
				}
				plain(r, err)
			}))
		} else {
			must(t, informer.SetWatchErrorHandler(func(*kc.Reflector, error) { t.Error("the first handler is called") }))
			must(t, informer.SetWatchErrorHandler(plain))
		}
		stop := running(t, func(ctx context.Context) {
			informer.RunWithContext(context.WithValue(ctx, contextKey{}, "a value"))
		})
		testbubble.Elapse(time.Minute)
		if len(errs) != 2 || !apierrors.IsForbidden(errs[0]) {
			t.Errorf("errors: %v", errs)
		}
		same(t, "descriptions", descriptions, "my pods", "my pods")
		equal(t, "synced", informer.HasSynced(), true)
		stop()
	}
}

type contextKey struct{}

func informerRunsOnce(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	running(t, informer.RunWithContext)
	o.asked()
	second := make(chan struct{})
	go func() { informer.Run(t.Context().Done()); close(second) }()
	equal(t, "a second Run returns", ended(second), true)
	equal(t, "stopped", informer.IsStopped(), false)
	equal(t, "requests of a second Run", len(o.asked()), 0)
	o.put(pod("ns", "b"))
	synctest.Wait()
	same(t, "objects", names(informer.GetStore().List()), "ns/a@101", "ns/b@102")
}

func informerRunWaits(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	g := newGate()
	value(informer.AddEventHandler(&recorder{before: g.wait}))(t)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { informer.Run(stop); close(done) }()
	testbubble.Elapse(time.Minute)
	equal(t, "stopped while it runs", informer.IsStopped(), false)
	equal(t, "open watches", o.open(), 1)
	close(stop)
	equal(t, "Run returns while a handler stands still", ended(done), false)
	g.open()
	equal(t, "Run returns", ended(done), true)
	equal(t, "stopped", informer.IsStopped(), true)
	equal(t, "open watches", o.open(), 0)
}

func informerStopped(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	r, reg := handle(t, informer)
	stop := running(t, informer.RunWithContext)
	stop()
	equal(t, "stopped", informer.IsStopped(), true)
	r.take()
	if _, err := informer.AddEventHandler(&recorder{}); err == nil {
		t.Error("a handler is taken")
	}
	if err := informer.AddIndexers(kc.Indexers{"late": byNode}); err == nil {
		t.Error("an indexer is taken")
	}
	must(t, informer.RemoveEventHandler(reg))
	must(t, informer.RemoveEventHandler(reg))
	o.asked()
	again := make(chan struct{})
	go func() { informer.RunWithContext(t.Context()); close(again) }()
	equal(t, "Run returns", ended(again), true)
	equal(t, "requests", len(o.asked()), 0)
	same(t, "objects", names(informer.GetStore().List()), "ns/a@101")
	equal(t, "version", informer.LastSyncResourceVersion(), "101")
	equal(t, "synced", informer.HasSynced() && reg.HasSynced(), true)
	r.told(t)
}

func informerStoppedEarly(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	o.noWatchList = true
	o.failLists(slices.Repeat([]error{errBad}, 100)...)
	informer := podInformer(im, o)
	_, reg := handle(t, informer)
	stop := running(t, informer.RunWithContext)
	testbubble.Elapse(5 * time.Second)
	stop()
	equal(t, "synced", informer.HasSynced() || reg.HasSynced(), false)
	equal(t, "stopped", informer.IsStopped(), true)
	same(t, "objects", informer.GetStore().List())
}

func informerController(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	c := informer.GetController()
	equal(t, "synced", c.HasSynced(), false)
	c.Run(nil)
	c.RunWithContext(t.Context())
	equal(t, "requests", len(o.asked()), 0)
	running(t, informer.RunWithContext)
	equal(t, "synced", c.HasSynced() && isDone(c.HasSyncedChecker()), true)
	equal(t, "version", c.LastSyncResourceVersion(), "101")
}

func informerVersions(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	for _, c := range []struct {
		what string
		make func() (kc.Store, kc.Controller)
	}{
		{"a shared informer", func() (kc.Store, kc.Controller) {
			informer := podInformer(im, o)
			return informer.GetStore(), informer
		}},
		{"an informer", func() (kc.Store, kc.Controller) {
			return im.NewInformerWithOptions(kc.InformerOptions{ListerWatcher: o, ObjectType: &corev1.Pod{}, Handler: &recorder{}})
		}},
	} {
		store, informer := c.make()
		versions := func(after, store1, informer1 string) {
			t.Helper()
			synctest.Wait()
			equal(t, c.what+"'s store's version "+after, store.LastStoreSyncResourceVersion(), store1)
			equal(t, c.what+"'s version "+after, informer.LastSyncResourceVersion(), informer1)
		}
		must(t, store.Add(pod("ns", "mine", at("7"))))
		versions("after a write before Run", "7", "")
		stop := running(t, informer.RunWithContext)
		at1 := strconv.Itoa(o.version)
		versions("after the list", at1, at1)
		must(t, store.Add(pod("ns", "mine", at("7"))))
		versions("after an Add", "7", at1)
		must(t, store.Update(pod("ns", "mine", at("8"))))
		versions("after an Update", "8", at1)
		must(t, store.Delete(pod("ns", "mine", at("9"))))
		versions("after a Delete", "9", at1)
		must(t, store.Replace(nil, "10"))
		versions("after a Replace", "10", at1)
		must(t, store.Replace(nil, ""))
		versions("after a Replace without a version", "", at1)
		o.put(pod("ns", "b"))
		at2 := strconv.Itoa(o.version)
		versions("after an event", at2, at2)
		stop()
	}
}

func informerWrongType(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.take()
	reports.drain()
	o.send(watch.Event{Type: watch.Added, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})
	o.put(pod("ns", "b"))
	testbubble.Elapse(time.Minute)
	r.told(t, "add ns/b@102")
	same(t, "objects", names(informer.GetStore().List()), "ns/a@101", "ns/b@102")
	if len(reports.drain()) == 0 {
		t.Error("nothing was reported")
	}

	widget := func(name string, kind string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("example.com/v1")
		u.SetKind(kind)
		u.SetNamespace("ns")
		u.SetName(name)
		return u
	}
	o = newOrigin(widget("a", "Widget"))
	o.newList = func() runtime.Object {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("example.com/v1")
		list.SetKind("WidgetList")
		return list
	}
	o.newBookmark = func() runtime.Object { return widget("", "Widget") }
	informer = im.NewSharedIndexInformer(o, widget("", "Widget"), 0, kc.Indexers{})
	r, _ = handle(t, informer)
	running(t, informer.RunWithContext)
	r.told(t, "add ns/a@101 initial")
	reports.drain()
	o.put(widget("x", "Gadget"))
	o.put(widget("b", "Widget"))
	testbubble.Elapse(time.Minute)
	r.told(t, "add ns/b@103")
	if len(reports.drain()) == 0 {
		t.Error("nothing was reported of another kind")
	}
	any1 := im.NewSharedIndexInformer(o, &unstructured.Unstructured{}, 0, kc.Indexers{})
	running(t, any1.RunWithContext)
	same(t, "objects of any kind", names(any1.GetStore().List()), "ns/a@101", "ns/b@103", "ns/x@102")
	any2 := im.NewSharedIndexInformer(o, nil, 0, kc.Indexers{})
	running(t, any2.RunWithContext)
	same(t, "objects of any type", names(any2.GetStore().List()), "ns/a@101", "ns/b@103", "ns/x@102")
}
