package conformance

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// panicsRow is about programs that set utilruntime.ReallyCrash to false. Each test runs
// everything once for each of the program's functions, which panics once.
func panicsRow() row {
	return row{
		ID:    "panics",
		Needs: []string{"NewReflector", "NewController", "NewSharedIndexInformer", "NewInformer", "NewListWatch", "NewStore", "NewDeltaFIFO", "NewRealFIFO"},
		Tests: []test{
			{Sentence: "a panic of a store or key function ends no reflector, and what it lost is listed again", Run: panicsInReflector},
			{Sentence: "a panic of a process function or watch error handler ends no controller", Run: panicsInController},
			{Sentence: "a panic of a handler or watch error handler ends no informer", Run: panicsInInformer},
			{Sentence: "a typed nil list or watch is followed by another request", Run: panicsTypedNil},
		},
	}
}

// Places where nothing need panic.
const nilList, nilWatch = "a nil list", "a nil watch"

// trap panics the first time that anything passes a place.
type trap struct {
	place  string
	sprung atomic.Bool
}

func (tr *trap) pass(place string) {
	if place == tr.place && !tr.sprung.Swap(true) {
		panic("a panic of " + place)
	}
}

// surviving runs what start returns, with a trap at each of the places in turn, while
// pods come, change and go and requests fail, and then calls check with those that remain.
func surviving(t *testing.T, places []string, start func(*trap, kc.ListerWatcher) (run func(context.Context), check func(t *testing.T, remain ...string))) {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers }()
	utilruntime.ReallyCrash = false
	for _, place := range places {
		var panics atomic.Int32
		utilruntime.PanicHandlers = []func(context.Context, any){func(context.Context, any) { panics.Add(1) }}
		tr, o := &trap{place: place}, listOnly(pod("ns", "a"))
		o.failLists(errBad)
		run, check := start(tr, o)
		stop := running(t, run)
		testbubble.Elapse(5 * time.Minute)
		o.put(pod("ns", "b"))
		o.put(pod("ns", "c"))
		o.put(pod("ns", "b", on("n1")))
		o.bookmark()
		o.remove("ns", "c")
		testbubble.Elapse(5 * time.Minute)
		check(t, "ns/a@101", "ns/b@104")
		if n := panics.Load(); n != 1 && (n != 0 || place != nilList && place != nilWatch) {
			t.Errorf("%s: %d panics were handled", place, n)
		}
		stop()
	}
}

// trapped is a store of the program's own.
type trapped struct {
	kc.Store
	*trap
}

func (s trapped) Add(obj any) error    { s.pass("Add"); return s.Store.Add(obj) }
func (s trapped) Update(obj any) error { s.pass("Update"); return s.Store.Update(obj) }
func (s trapped) Delete(obj any) error { s.pass("Delete"); return s.Store.Delete(obj) }

func (s trapped) Replace(list []any, version string) error {
	s.pass("Replace")
	return s.Store.Replace(list, version)
}

func (s trapped) UpdateResourceVersion(string) { s.pass("UpdateResourceVersion") }

func panicsInReflector(t *testing.T, im Implementation) {
	places := []string{"Replace", "Add", "Update", "Delete", "UpdateResourceVersion", "key function"}
	surviving(t, places, func(tr *trap, o kc.ListerWatcher) (func(context.Context), func(*testing.T, ...string)) {
		s := trapped{trap: tr, Store: im.NewStore(func(obj any) (string, error) {
			tr.pass("key function")
			return kc.MetaNamespaceKeyFunc(obj)
		})}
		return im.NewReflector(o, &corev1.Pod{}, s, 0).RunWithContext, func(t *testing.T, remain ...string) {
			same(t, tr.place+": objects", names(s.List()), remain...)
		}
	})
}

func panicsInController(t *testing.T, im Implementation) {
	for name, queue := range map[string]func() kc.Queue{
		"DeltaFIFO": func() kc.Queue { return im.NewDeltaFIFO(kc.MetaNamespaceKeyFunc, nil) },
		"RealFIFO": func() kc.Queue {
			return im.NewRealFIFO(kc.MetaNamespaceKeyFunc, im.NewStore(kc.MetaNamespaceKeyFunc), nil)
		},
	} {
		surviving(t, []string{"Process", "WatchErrorHandler"}, func(tr *trap, o kc.ListerWatcher) (func(context.Context), func(*testing.T, ...string)) {
			var processed atomic.Int32
			c := im.NewController(ControllerConfig{
				Queue: queue(), ListerWatcher: o, ObjectType: &corev1.Pod{},
				Process:           func(any, bool) error { processed.Add(1); tr.pass("Process"); return nil },
				ProcessBatch:      func([]kc.Delta, bool) error { processed.Add(1); tr.pass("Process"); return nil },
				WatchErrorHandler: func(*kc.Reflector, error) { tr.pass("WatchErrorHandler") },
			})
			return c.RunWithContext, func(t *testing.T, _ ...string) {
				if n := processed.Load(); n < 3 || !c.HasSynced() {
					t.Errorf("%s, %s: processed %d times, has synced: %t", name, tr.place, n, c.HasSynced())
				}
			}
		})
	}
}

func panicsInInformer(t *testing.T, im Implementation) {
	handler := func(tr *trap) kc.ResourceEventHandler {
		return kc.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { tr.pass("OnAdd") },
			UpdateFunc: func(any, any) { tr.pass("OnUpdate") },
			DeleteFunc: func(any) { tr.pass("OnDelete") },
		}
	}
	surviving(t, []string{"OnAdd", "OnUpdate", "OnDelete", "WatchErrorHandler"}, func(tr *trap, o kc.ListerWatcher) (func(context.Context), func(*testing.T, ...string)) {
		informer := podInformer(im, o)
		value(informer.AddEventHandler(handler(tr)))(t)
		must(t, informer.SetWatchErrorHandler(func(*kc.Reflector, error) { tr.pass("WatchErrorHandler") }))
		return informer.RunWithContext, func(t *testing.T, remain ...string) {
			same(t, tr.place+": objects", names(informer.GetStore().List()), remain...)
		}
	})
	surviving(t, []string{"OnAdd", "OnUpdate", "OnDelete"}, func(tr *trap, o kc.ListerWatcher) (func(context.Context), func(*testing.T, ...string)) {
		store, c := im.NewInformer(o, &corev1.Pod{}, 0, handler(tr))
		return c.RunWithContext, func(t *testing.T, remain ...string) {
			same(t, tr.place+" of NewInformer: objects", names(store.List()), remain...)
		}
	})
}

// panicsTypedNil has a ListerWatcher that returns a nil pointer and no error once, as a
// fake clientset does whose reactor returns nil.
func panicsTypedNil(t *testing.T, im Implementation) {
	surviving(t, []string{nilList, nilWatch}, func(tr *trap, o kc.ListerWatcher) (func(context.Context), func(*testing.T, ...string)) {
		informer := podInformer(im, im.NewListWatch(ListWatch{
			ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
				if tr.place == nilList && !tr.sprung.Swap(true) {
					return (*corev1.PodList)(nil), nil
				}
				//lint:ignore SA1019 A ListFunc has no context.
				return o.List(options)
			},
			WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
				if tr.place == nilWatch && !tr.sprung.Swap(true) {
					return (*watch.FakeWatcher)(nil), nil
				}
				//lint:ignore SA1019 Nor has a WatchFunc.
				return o.Watch(options)
			},
		}))
		return informer.RunWithContext, func(t *testing.T, remain ...string) {
			same(t, tr.place+": objects", names(informer.GetStore().List()), remain...)
			equal(t, tr.place+": returned", tr.sprung.Load(), true)
		}
	})
}
