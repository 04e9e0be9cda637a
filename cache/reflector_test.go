package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// running is a reflector that runs over a script.
type running struct {
	*Reflector
	script *script
	store  *taker
}

// reflecting reflects what lists say, in a bubble, and calls during beside it.
func reflecting(t *testing.T, lists []func() (runtime.Object, error), options ReflectorOptions, set func(*Reflector), during func(*testing.T, *running)) {
	t.Helper()
	silenced(t)
	synctest.Test(t, func(t *testing.T) {
		r := &running{script: &script{lists: lists}, store: &taker{}}
		r.Reflector = NewReflectorWithOptions(r.script, &corev1.Pod{}, r.store, options)
		if set != nil {
			set(r.Reflector)
		}
		stop := start(r.RunWithContext)
		synctest.Wait()
		during(t, r)
		stop()
	})
}

// silenced collects what is reported, so that it does not fill the log.
func silenced(t *testing.T) *[]string {
	var list []string
	before := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, msg string, _ ...any) {
		text := msg
		if err != nil {
			text += ": " + err.Error()
		}
		list = append(list, text)
	}}
	t.Cleanup(func() { utilruntime.ErrorHandlers = before })
	return &list
}

func TestAReflectorKeepsAnyStoreEqualAndTellsItsVersion(t *testing.T) {
	reflecting(t, []func() (runtime.Object, error){lists("5", pod("a", "3"), pod("b", "4"))}, ReflectorOptions{Name: "me"}, nil,
		func(t *testing.T, r *running) {
			want(t, "asked", r.script.heard(), "list 0 limit 500, watch 5")
			want(t, "told", r.store.heard(), "replace [a@3 b@4] at 5, version 5")
			want(t, "version", r.LastSyncResourceVersion(), "5")
			w := r.script.watched()
			w.Add(pod("c", "6"))
			synctest.Wait()
			w.Modify(pod("a", "7"))
			synctest.Wait()
			w.Delete(pod("b", "8"))
			synctest.Wait()
			want(t, "told", r.store.heard(), "add c@6, version 6, update a@7, version 7, delete b@8, version 8")
			w.Action(watch.Bookmark, pod("", "9"))
			synctest.Wait()
			want(t, "told", r.store.heard(), "bookmark 9, version 9")
			want(t, "version", r.LastSyncResourceVersion(), "9")
			want(t, "name", r.Name(), "me")
			want(t, "type", r.TypeDescription(), "*v1.Pod")
		})
}

func TestAReflectorIsNamedAfterWhoMadeIt(t *testing.T) {
	for what, r := range map[string]*Reflector{
		"NewReflector":        outside(func() *Reflector { return NewReflector(&script{}, nil, &taker{}, 0) }),
		"NewNamedReflector":   NewNamedReflector("given", &script{}, nil, &taker{}, 0),
		"NewNamespaceKeyed …": outside(func() *Reflector { _, r := NewNamespaceKeyedIndexerAndReflector(&script{}, nil, 0); return r }),
	} {
		if got := r.Name(); what == "NewNamedReflector" && got != "given" || what != "NewNamedReflector" && !strings.Contains(got, "testing/allocs.go:") {
			t.Errorf("%s: %s", what, got)
		}
		want(t, "type", r.TypeDescription(), "<unspecified>")
	}
	u := &unstructured.Unstructured{}
	want(t, "without kind", describeType(u), "*unstructured.Unstructured")
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "K"})
	want(t, "with kind", describeType(u), "g/v1, Kind=K")
}

func TestEveryDurationMayBeTheLongestThereIs(t *testing.T) {
	for _, d := range []time.Duration{math.MaxInt64, math.MaxInt64/2 + 1} {
		NewInformerWithOptions(InformerOptions{ListerWatcher: &script{}, Handler: ResourceEventHandlerFuncs{}, ResyncPeriod: d, MinWatchTimeout: d})
		reflecting(t, nil, ReflectorOptions{ResyncPeriod: d, MinWatchTimeout: d}, nil, func(t *testing.T, r *running) {
			testbubble.Pass(4 * time.Minute)
			want(t, "asked", r.script.heard(), "list 0 limit 500, watch 1")
		})
	}
}

// outside calls f from a goroutine of which only package testing is outside of
// this package.
func outside(f func() *Reflector) *Reflector {
	var r *Reflector
	testing.AllocsPerRun(1, func() { r = f() })
	return r
}

func TestPublicFieldsSetAfterConstructionCount(t *testing.T) {
	var resync atomic.Bool
	reflecting(t, nil, ReflectorOptions{ResyncPeriod: time.Minute},
		func(r *Reflector) {
			r.WatchListPageSize = 7
			r.ShouldResync = func() bool { return resync.Load() }
			r.MaxInternalErrorRetryDuration = time.Minute
		},
		func(t *testing.T, r *running) {
			want(t, "asked", r.script.heard(), "list 0 limit 7, watch 1")
			r.store.heard()
			testbubble.Elapse(61 * time.Second)
			want(t, "told when it should not resync", r.store.heard(), "")
			resync.Store(true)
			testbubble.Elapse(time.Minute)
			want(t, "told when it should", r.store.heard(), "resync")
			internal := &apierrors.NewInternalError(errBoom).ErrStatus
			r.script.heard()
			for range 4 {
				r.script.watched().Error(internal)
				testbubble.Elapse(14 * time.Second)
			}
			if heard := r.script.heard(); strings.Contains(heard, "list") || strings.Count(heard, "watch 1") != 4 {
				t.Errorf("asked after internal errors: %s", heard)
			}
		})
}

func TestEachListAndWatchLists(t *testing.T) {
	silenced(t)
	synctest.Test(t, func(t *testing.T) {
		s := &script{lists: []func() (runtime.Object, error){listFails(errBoom), lists("5", pod("a", "5")), lists("7", pod("a", "7"))}}
		store := &taker{}
		r := NewReflector(s, &corev1.Pod{}, store, 0)
		if err := r.ListAndWatchWithContext(t.Context()); !errors.Is(err, errBoom) {
			t.Fatal(err)
		}
		for i, asked := range []string{"list 0 limit 500, list 0 limit 500, watch 5", "list 6 limit 0, watch 7"} {
			ctx, cancel := context.WithCancel(t.Context())
			returned := make(chan error, 1)
			go func() { returned <- r.ListAndWatchWithContext(ctx) }()
			synctest.Wait()
			if i == 0 {
				s.watched().Add(pod("b", "6"))
				synctest.Wait()
			}
			cancel()
			if err := <-returned; err != nil {
				t.Error(err)
			}
			want(t, "asked", s.heard(), asked)
			want(t, "version", r.LastSyncResourceVersion(), []string{"6", "7"}[i])
		}
		want(t, "told", store.heard(), "replace [a@5] at 5, version 5, add b@6, version 6, replace [a@7] at 7, version 7")
	})
}

func TestWhatTheServerRefusesIsReportedAndTriedAgain(t *testing.T) {
	for _, err := range []error{
		errBoom,
		apierrors.NewTooManyRequestsError("slow down"),
		apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errBoom),
		syscall.ECONNREFUSED,
	} {
		var reported *[]string
		set := func(*Reflector) { reported = silenced(t) }
		reflecting(t, []func() (runtime.Object, error){listFails(err), lists("5")}, ReflectorOptions{}, set,
			func(t *testing.T, r *running) {
				testbubble.Elapse(5 * time.Second)
				want(t, "asked", r.script.heard(), "list 0 limit 500, list 0 limit 500, watch 5")
				if len(*reported) != 1 || !strings.Contains((*reported)[0], err.Error()) {
					t.Errorf("%v: reported %q", err, *reported)
				}
			})
	}
}

// runners returns the Run of each thing that lists and watches.
func runners() map[string]func(ListerWatcher) func(context.Context) {
	return map[string]func(ListerWatcher) func(context.Context){
		"informer": func(lw ListerWatcher) func(context.Context) {
			return NewSharedIndexInformer(lw, &corev1.Pod{}, 0, Indexers{}).RunWithContext
		},
		"controller": func(lw ListerWatcher) func(context.Context) {
			return New(&Config{
				Queue: NewFIFO(MetaNamespaceKeyFunc), ListerWatcher: lw, Process: func(any, bool) error { return nil },
			}).RunWithContext
		},
		"reflector": func(lw ListerWatcher) func(context.Context) {
			return NewReflector(lw, &corev1.Pod{}, &taker{}, 0).RunWithContext
		},
	}
}

// A Backoff of the program, and the first waits of client-go's Reflector, would be shorter.
func TestWhatTheServerAsksToRepeatIsNotRepeatedSooner(t *testing.T) {
	options := ReflectorOptions{Backoff: &wait.Backoff{Duration: time.Millisecond, Steps: 1}}
	all := runners()
	all["reflector with a backoff"] = func(lw ListerWatcher) func(context.Context) {
		return NewReflectorWithOptions(lw, &corev1.Pod{}, &taker{}, options).RunWithContext
	}
	for name, run := range all {
		for _, err := range []error{apierrors.NewTooManyRequests("", 60), apierrors.NewServerTimeout(schema.GroupResource{}, "list", 60)} {
			for verb, s := range map[string]*script{
				"list":  {lists: []func() (runtime.Object, error){listFails(err), listFails(err)}},
				"watch": {watches: []func() (watch.Interface, error){watchFails(err), watchFails(err)}},
			} {
				t.Run(fmt.Sprint(name, ", ", verb, ", ", apierrors.ReasonForError(err)), func(t *testing.T) {
					silenced(t)
					synctest.Test(t, func(t *testing.T) {
						stop := start(run(s))
						defer stop()
						for i := range 2 {
							testbubble.Elapse(59*time.Second + time.Duration(i)*time.Second)
							if asked := s.heard(); strings.Count(asked, verb) != 1 {
								t.Errorf("within a minute asked for %s", asked)
							}
						}
						testbubble.Elapse(2 * time.Minute)
						if asked := s.heard(); !strings.HasSuffix(asked, "watch 1") {
							t.Errorf("asked at last for %s", asked)
						}
					})
				})
			}
		}
	}
}

type fallsOver struct{ error }

func (fallsOver) Is(error) bool { panic("Is fell over") }

// closed is a watch that has ended, and that panics when it is stopped or read.
type closed struct{ stopped, read bool }

func (c closed) Stop() {
	if c.stopped {
		panic("Stop fell over")
	}
}

func (c closed) ResultChan() <-chan watch.Event {
	if c.read {
		panic("ResultChan fell over")
	}
	none := make(chan watch.Event)
	close(none)
	return none
}

// As with client-go: the panic goes to the panic handlers, and everything is listed again.
// An error whose methods panic is an error, of which the panic handlers need not hear.
func TestAPanicOfAListOrWatchFunctionIsSurvivedIfTheProgramSurvivesPanics(t *testing.T) {
	falls := func() (runtime.Object, error) { panic("it fell over") }
	lists := func(err error) *script {
		return &script{lists: []func() (runtime.Object, error){func() (runtime.Object, error) { return nil, err }}}
	}
	watches := func(w watch.Interface, err error) *script {
		return &script{watches: []func() (watch.Interface, error){func() (watch.Interface, error) { return w, err }}}
	}
	for name, run := range runners() {
		for what, s := range map[string]*script{
			"List panics":                                     {lists: []func() (runtime.Object, error){falls}},
			"Watch panics":                                    {watches: []func() (watch.Interface, error){func() (watch.Interface, error) { _, err := falls(); return nil, err }}},
			"Watch returns what panics when read":             watches(closed{read: true}, nil),
			"Watch returns what panics when stopped":          watches(closed{stopped: true}, nil),
			"List returns a nil pointer for an error":         lists((*apierrors.StatusError)(nil)),
			"Watch returns a nil pointer for an error":        watches(nil, (*apierrors.StatusError)(nil)),
			"List returns an error whose Is panics":           lists(fallsOver{errBoom}),
			"Watch returns an error whose Is panics":          watches(nil, fallsOver{errBoom}),
			"List returns an error with a nil pointer in it":  lists(fmt.Errorf("list: %w", fallsOver{})),
			"Watch returns an error with a nil pointer in it": watches(nil, fmt.Errorf("watch: %w", (*apierrors.StatusError)(nil))),
		} {
			verb, _, _ := strings.Cut(what, " ")
			handled := int32(0)
			if !strings.Contains(what, "error") {
				handled = 1
			}
			t.Run(name+", "+what, func(t *testing.T) {
				silenced(t)
				crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
				t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
				var panics atomic.Int32
				utilruntime.ReallyCrash = false
				utilruntime.PanicHandlers = []func(context.Context, any){func(context.Context, any) { panics.Add(1) }}
				synctest.Test(t, func(t *testing.T) {
					stop := start(run(s))
					testbubble.Elapse(time.Minute)
					if n := panics.Load(); n != handled {
						t.Errorf("%d panics were handled", n)
					}
					if asked := s.heard(); !strings.HasSuffix(asked, "watch 1") || strings.Count(asked, strings.ToLower(verb)) != 2 {
						t.Errorf("asked %s", asked)
					}
					stop()
				})
			})
		}
	}
}

func TestAnObjectOfAnotherTypeIsReportedAndLeftOut(t *testing.T) {
	reflecting(t, nil, ReflectorOptions{}, nil, func(t *testing.T, r *running) {
		reports := silenced(t)
		r.store.heard()
		w := r.script.watched()
		w.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: "2"}})
		synctest.Wait()
		w.Add(pod("a", "3"))
		synctest.Wait()
		want(t, "told", r.store.heard(), "add a@3, version 3")
		if len(*reports) != 1 {
			t.Errorf("reported: %v", *reports)
		}
	})
}

// With the UID it is that pod, in a form that cannot be read.
func TestAnObjectOfAnotherTypeInAListIsNotTheHeldOneWithoutItsUID(t *testing.T) {
	for uid, want := range map[types.UID]int{"": 1, "uid-of-any": 2} {
		silenced(t)
		synctest.Test(t, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: pod("b", "6").ObjectMeta}
			node.UID = uid
			s := &script{lists: []func() (runtime.Object, error){lists("5", pod("a", "5"), pod("b", "5")), func() (runtime.Object, error) {
				return &corev1.List{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []runtime.RawExtension{{Object: pod("a", "5")}, {Object: node}}}, nil
			}}}
			store := NewStore(MetaNamespaceKeyFunc)
			r := NewReflector(s, &corev1.Pod{}, store, 0)
			for _, held := range []int{2, want} {
				ctx, cancel := context.WithCancel(t.Context())
				returned := make(chan error, 1)
				go func() { returned <- r.ListAndWatchWithContext(ctx) }()
				testbubble.Elapse(time.Second)
				if got := len(store.List()); got != held {
					t.Errorf("UID %q: %d are held, want %d", uid, got, held)
				}
				cancel()
				<-returned
			}
		})
	}
}

func TestAListThatTheStoreDidNotTakeComesAgain(t *testing.T) {
	silenced(t)
	synctest.Test(t, func(t *testing.T) {
		s, store := &script{}, &taker{}
		store.set("replace", errBoom)
		r := NewReflector(s, &corev1.Pod{}, store, 0)
		err := r.ListAndWatchWithContext(t.Context())
		if !errors.Is(err, errBoom) || err.Error() != "unable to sync list result: boom" {
			t.Errorf("ListAndWatch returned %v", err)
		}
		want(t, "version", r.LastSyncResourceVersion(), "")
		stop := start(r.RunWithContext)
		testbubble.Elapse(time.Minute)
		if store.heard() == "" {
			t.Error("not listed again")
		}
		store.set("", nil)
		testbubble.Elapse(2 * time.Minute)
		if got := store.heard(); !strings.HasSuffix(got, "replace [] at 1, version 1") {
			t.Errorf("told %s", got)
		}
		want(t, "version", r.LastSyncResourceVersion(), "1")
		stop()
	})
}

func TestObjectsWithoutAKeyDoNotKeepOutTheOthers(t *testing.T) {
	silenced(t)
	synctest.Test(t, func(t *testing.T) {
		s := &script{lists: []func() (runtime.Object, error){lists("5", pod("a", "3"), pod("bad", "4"), pod("b", "4"))}}
		store := NewStore(func(obj any) (string, error) {
			if obj.(*corev1.Pod).Name == "bad" {
				return "", errBoom
			}
			return MetaNamespaceKeyFunc(obj)
		})
		r := NewReflector(s, &corev1.Pod{}, store, 0)
		stop := start(r.RunWithContext)
		synctest.Wait()
		if keys := store.ListKeys(); len(keys) != 2 {
			t.Errorf("the store has %v", keys)
		}
		stop()
	})
}

// A transformer may write to what it is given, so nothing may share memory
// with it.
func TestWhatAReflectorHandsOverIsNobodyElses(t *testing.T) {
	silenced(t)
	synctest.Test(t, func(t *testing.T) {
		p := pod("a", "3")
		p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{"cpu": resource.MustParse("1")},
		}}}
		s := &script{lists: []func() (runtime.Object, error){lists("5", p)}}
		queue := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, Transformer: func(obj any) (any, error) {
			obj.(*corev1.Pod).Spec.Containers[0].Name = "changed"
			return obj, nil
		}})
		r := NewReflector(s, &corev1.Pod{}, queue, 0)
		stop := start(r.RunWithContext)
		synctest.Wait()
		popped := Pop(queue).(Deltas)[0].Object.(ReplacedAllInfo)
		if got := popped.Objects[0].(*corev1.Pod).Spec.Containers[0].Name; got != "changed" || popped.ResourceVersion != "5" {
			t.Errorf("popped %v of %+v", got, popped)
		}
		stop()
	})
}
