package interop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	kingletstatus "github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

var configMapGVR = corev1.SchemeGroupVersion.WithResource("configmaps")

// demand is a server of config maps, inside a bubble, and an informer on demand of them.
type demand[T metav1.Object] struct {
	*kinglet.OnDemand[T]
	t       *testing.T
	storage *apiserver.Storage
	server  *apiserver.Server
	// lists counts all lists, and reads those of one object. fault, if it is set, is what they meet, or those of
	// one name.
	reads, lists atomic.Int64
	fault        atomic.Pointer[apiserver.Fault]
	only         string
	told         *history.History
	mu           sync.Mutex
	errs         []error
}

// opener makes the sources of T.
type opener[T metav1.Object] func(cfg *rest.Config, o source.Options) (source.Source[T], error)

// openers are those of config maps, by name.
func openers() map[string]opener[*corev1.ConfigMap] {
	closures := func(cfg *rest.Config, o source.Options) (source.Source[*corev1.ConfigMap], error) {
		maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps("")
		o.Intercept = true
		return source.FromListerWatcher[*corev1.ConfigMap](listWatch(maps.List, maps.Watch), o)
	}
	return map[string]opener[*corev1.ConfigMap]{
		"protobuf": fromConfig[*corev1.ConfigMap],
		"JSON": func(cfg *rest.Config, o source.Options) (source.Source[*corev1.ConfigMap], error) {
			cfg.AcceptContentTypes = runtime.ContentTypeJSON
			return fromConfig[*corev1.ConfigMap](cfg, o)
		},
		"closures": closures,
		"intercepted": func(cfg *rest.Config, o source.Options) (source.Source[*corev1.ConfigMap], error) {
			cfg.Wrap(source.WrapTransport)
			return closures(cfg, o)
		},
	}
}

func fromConfig[T metav1.Object](cfg *rest.Config, o source.Options) (source.Source[T], error) {
	return source.FromConfig[T](cfg, configMapGVR, o)
}

func untypedClosures(cfg *rest.Config, o source.Options) (source.Source[*unstructured.Unstructured], error) {
	r := dynamic.NewForConfigOrDie(cfg).Resource(configMapGVR)
	o.Example = &unstructured.Unstructured{}
	return source.FromListerWatcher[*unstructured.Unstructured](listWatch(r.List, r.Watch), o)
}

func newDemand[T metav1.Object](t *testing.T, open opener[T], opts kinglet.OnDemandOptions[T], names ...string) *demand[T] {
	t.Helper()
	d := &demand[T]{t: t, storage: apiserver.NewStorage(apiserver.ConfigMaps), told: history.New("on demand")}
	for _, name := range names {
		must(d.storage.Create(configMap(name, "1")))
	}
	server := apiserver.New(d.storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
		if r.Verb == "list" {
			d.lists.Add(1)
		}
		if r.Verb != "list" || !strings.Contains(r.Options.FieldSelector, "metadata.name=") {
			return nil
		}
		d.reads.Add(1)
		if d.only != "" && !strings.Contains(r.Options.FieldSelector, "metadata.name="+d.only+",") {
			return nil
		}
		return d.fault.Load()
	}})
	d.server = server
	t.Cleanup(server.Close)
	opts.OnError = func(err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.errs = append(d.errs, err)
	}
	var err error
	d.OnDemand, err = kinglet.NewOnDemand(func(o source.Options) (source.Source[T], error) {
		cfg := server.Config()
		cfg.QPS = -1
		return open(cfg, o)
	}, opts)
	if err != nil {
		t.Fatal(err)
	}
	must(d.AddHandler(history.Typed[T]{History: d.told}, kinglet.HandlerOptions{}))
	return d
}

func (d *demand[T]) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	d.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			d.t.Error(err)
		}
	})
	synctest.Wait()
}

func configMap(name, data string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"data": data}},
		Data:       map[string]string{"data": data},
	}
}

func mapKey(name string) kinglet.Key { return kinglet.Key{Namespace: "ns", Name: name} }

// dataOf returns what secret put into an object; empty if that is not whole.
func dataOf(obj any) string {
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		return obj.Data["data"]
	case *unstructured.Unstructured:
		data, _, _ := unstructured.NestedString(obj.Object, "data", "data")
		return data
	}
	panic(fmt.Sprintf("a %T", obj))
}

func TestGetReadsAnObjectWholeOncePerVersion(t *testing.T) {
	for name, open := range openers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDemand(t, open, kinglet.OnDemandOptions[*corev1.ConfigMap]{}, "a", "b")
				d.run()
				held, ok := d.Store().Get(mapKey("a"))
				if !ok || !source.IsPartial(held) || dataOf(held) != "" {
					t.Fatalf("the store has %v", held)
				}
				d.expect("a", "1", 1)
				d.expect("a", "1", 1)
				must(d.storage.Update(configMap("a", "2")))
				synctest.Wait()
				d.expect("a", "2", 2)
				d.expect("b", "1", 3)
				d.expect("a", "2", 3)
				must(d.storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: "ns", Name: "a"}, nil))
				synctest.Wait()
				if _, err := d.Get(t.Context(), mapKey("a")); !apierrors.IsNotFound(err) {
					t.Errorf("an object that is gone: %v", err)
				}
				if s := d.OnDemandStats(); s.Objects != 1 || s.Hits != 2 || s.Misses != 3 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// expect gets an object, and expects so many requests to have been made by then.
func (d *demand[T]) expect(name, data string, reads int64) {
	d.t.Helper()
	obj, err := d.Get(d.t.Context(), mapKey(name))
	if err != nil || dataOf(obj) != data || source.IsPartial(obj) {
		d.t.Errorf("Get %s: %v, %v; want data %q", name, obj, err, data)
	}
	if n := d.reads.Load(); n != reads {
		d.t.Errorf("after Get %s there were %d requests, want %d", name, n, reads)
	}
}

func TestManyCallersOfOneKeyShareARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{}, "a")
		d.run()
		d.fault.Store(&apiserver.Fault{Delay: time.Second})
		ctx, cancel := context.WithCancelCause(t.Context())
		leaves := errors.New("it leaves")
		left := make(chan error)
		go func() {
			_, err := d.Get(ctx, mapKey("a"))
			left <- err
		}()
		synctest.Wait()
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { d.expect("a", "1", 1) })
		}
		synctest.Wait()
		// The caller that began the request leaves, and the others have their answer.
		cancel(leaves)
		if err := <-left; err != leaves {
			t.Errorf("a caller that left: %v", err)
		}
		calls.Wait()
		// A request that nobody waits for ends.
		must(d.storage.Update(configMap("a", "2")))
		synctest.Wait()
		ctx, cancelAll := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancelAll()
		if _, err := d.Get(ctx, mapKey("a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after its deadline: %v", err)
		}
		d.fault.Store(nil)
		d.expect("a", "2", 3)
	})
}

func TestGetSaysWhyAnObjectCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{}, "a")
		d.run()
		d.fault.Store(&apiserver.Fault{Answer: apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("not now"))})
		if _, err := d.Get(t.Context(), mapKey("a")); !apierrors.IsForbidden(err) {
			t.Errorf("a request that is refused: %v", err)
		}
		d.fault.Store(&apiserver.Fault{Damage: func(types.NamespacedName) bool { return true }})
		var item *source.ItemError
		if _, err := d.Get(t.Context(), mapKey("a")); !errors.As(err, &item) {
			t.Errorf("an object that does not decode: %v", err)
		}
		d.fault.Store(nil)
		d.expect("a", "1", 3)
	})
}

func TestHeldObjectsAreWholeForHandlersUntilTheyAreReleased(t *testing.T) {
	for name, open := range openers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDemand(t, open, kinglet.OnDemandOptions[*corev1.ConfigMap]{}, "a", "b", "c")
				var mu sync.Mutex
				var told []string
				must(d.AddHandler(kinglet.HandlerFunc[*corev1.ConfigMap](func(_ context.Context, changes []kinglet.Change[*corev1.ConfigMap]) {
					mu.Lock()
					defer mu.Unlock()
					for _, c := range changes {
						if c.Type != kinglet.Deleted {
							told = append(told, fmt.Sprintf("%s %s %q", c.Type, c.Key.Name, dataOf(c.New)))
						}
					}
				}), kinglet.HandlerOptions{EveryVersion: true, Bound: 1000}))
				expect := func(want ...string) {
					t.Helper()
					synctest.Wait()
					mu.Lock()
					defer mu.Unlock()
					if !reflect.DeepEqual(told, want) {
						t.Errorf("told %q, want %q", told, want)
					}
					told = nil
				}
				d.Hold(mapKey("a"), mapKey("d"))
				d.run()
				expect(`Added a "1"`, `Added b ""`, `Added c ""`)
				first := d.reads.Load() // of metadata lists
				d.Hold(mapKey("b"))
				expect(`Updated b "1"`)
				d.expect("b", "1", first+1)
				must(d.storage.Update(configMap("a", "2")))
				must(d.storage.Update(configMap("b", "2")))
				must(d.storage.Update(configMap("c", "2")))
				must(d.storage.Create(configMap("d", "1")))
				expect(`Updated a "2"`, `Updated b "2"`, `Updated c ""`, `Added d "1"`)
				d.Release(mapKey("a"), mapKey("e"))
				expect(`Updated a ""`)
				must(d.storage.Update(configMap("a", "3")))
				expect(`Updated a ""`)
				d.expect("a", "3", first+2)
				d.expect("d", "1", first+2)
			})
		})
	}
}

// between calls decoded once events have been decoded, before they are stored.
type between struct {
	source.Source[*corev1.ConfigMap]
	decoded *func()
}

func (b between) Watch(ctx context.Context, req source.WatchRequest[*corev1.ConfigMap], yield func([]source.Event[*corev1.ConfigMap]) error) error {
	return b.Source.Watch(ctx, req, func(events []source.Event[*corev1.ConfigMap]) error {
		(*b.decoded)()
		return yield(events)
	})
}

// Whole is not asked about what is held, until that is released.
func TestAnObjectForWhichWholePanicsOnceItIsReleasedKeepsItsForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{
			Whole: func(_ kinglet.Key, _ map[string]string, owners []metav1.OwnerReference) bool {
				return owners[0].Name == "x"
			},
		}, "a", "b")
		d.Hold(mapKey("a"))
		d.run()
		testbubble.Pass(time.Minute)
		if n, q := d.Store().Len(), d.Quarantined(); n != 1 || len(q) != 1 || q[0].Key != mapKey("b") {
			t.Errorf("%d are stored; in quarantine: %v", n, q)
		}
		d.Release(mapKey("a"))
		testbubble.Pass(time.Minute)
		if obj, ok := d.Store().Get(mapKey("a")); !ok || source.IsPartial(obj) {
			t.Errorf("it is %v", obj)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		reported := slices.ContainsFunc(d.errs, func(err error) bool {
			return strings.HasPrefix(err.Error(), "OnDemandOptions.Whole: ") && errors.As(err, new(*store.PanicError))
		})
		if !reported {
			t.Errorf("reported: %v", d.errs)
		}
	})
}

func TestAnObjectThatIsHeldOrReleasedAfterItWasDecodedHasTheRightForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		decoded := func() {}
		d := newDemand(t, func(cfg *rest.Config, o source.Options) (source.Source[*corev1.ConfigMap], error) {
			src, err := fromConfig[*corev1.ConfigMap](cfg, o)
			return between{src, &decoded}, err
		}, kinglet.OnDemandOptions[*corev1.ConfigMap]{}, "a")
		d.run()
		for i, hold := range []bool{true, false, true} {
			decoded = func() {
				if hold {
					d.Hold(mapKey("a"))
				} else {
					d.Release(mapKey("a"))
				}
				testbubble.Pass(time.Second) // until it has been looked at, in vain
			}
			must(d.storage.Update(configMap("a", fmt.Sprint(i))))
			testbubble.Pass(2 * time.Second)
			if obj, _ := d.Store().Get(mapKey("a")); source.IsPartial(obj) == hold {
				t.Errorf("held %v: the store has %v", hold, obj)
			}
		}
	})
}

func TestAHeldObjectThatCannotBeReadIsReadLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{}, "a")
		d.run()
		d.fault.Store(&apiserver.Fault{Answer: apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("not now"))})
		d.Hold(mapKey("a"))
		testbubble.Pass(10 * time.Second)
		d.mu.Lock()
		if len(d.errs) != 4 || !apierrors.IsForbidden(d.errs[0]) || !strings.Contains(d.errs[0].Error(), "ns/a is held") {
			t.Errorf("reported %v", d.errs)
		}
		d.mu.Unlock()
		d.fault.Store(nil)
		testbubble.Pass(30 * time.Second)
		if obj, _ := d.Store().Get(mapKey("a")); dataOf(obj) != "1" {
			t.Errorf("the store has %v", obj)
		}
	})
}

// Writes by others, reads, holds and releases at random: once all is quiet, what is held is
// whole, everything else is metadata, and Get returns what the server has.
func TestWhateverIsHeldGetReturnsWhatTheServerHas(t *testing.T) {
	for name, open := range openers() {
		t.Run(name, func(t *testing.T) { wheneverQuiet(t, open) })
	}
	t.Run("unstructured", func(t *testing.T) { wheneverQuiet(t, fromConfig[*unstructured.Unstructured]) })
	t.Run("unstructured closures", func(t *testing.T) { wheneverQuiet(t, untypedClosures) })
}

func wheneverQuiet[T metav1.Object](t *testing.T, open opener[T]) {
	for seed := range uint64(testkit.Trials(24)) {
		r := rand.New(rand.NewPCG(seed, 27))
		synctest.Test(t, func(t *testing.T) {
			names := []string{"a", "b", "c", "d", "e", "f"}
			const bytes = 4000
			d := newDemand(t, open, kinglet.OnDemandOptions[T]{Bytes: bytes}, names[:3]...)
			held := map[string]bool{}
			hold := func() {
				name := names[r.IntN(len(names))]
				if held[name] = r.IntN(2) == 0; held[name] {
					d.Hold(mapKey(name))
				} else {
					d.Release(mapKey(name))
				}
			}
			for range r.IntN(4) {
				hold()
			}
			d.run()
			var gets sync.WaitGroup
			for step := range 120 {
				switch name, data := names[r.IntN(len(names))], fmt.Sprint(step); r.IntN(8) {
				case 0, 1:
					_, _ = d.storage.Create(configMap(name, data))
				case 2, 3:
					_, _ = d.storage.Update(configMap(name, data))
				case 4:
					_, _ = d.storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: "ns", Name: name}, nil)
				case 5:
					hold()
				case 6:
					gets.Go(func() {
						if obj, err := d.Get(t.Context(), mapKey(name)); err == nil && source.IsPartial(obj) {
							t.Errorf("Get returned %v", obj)
						} else if err != nil && !apierrors.IsNotFound(err) {
							t.Error(err)
						}
					})
				default:
					d.compare(names, held, bytes)
				}
			}
			gets.Wait()
			d.compare(names, held, bytes)
			if wrong := d.told.Wrong(); len(wrong) > 0 {
				t.Error(wrong)
			}
			if t.Failed() {
				t.Fatal("seed", seed)
			}
		})
	}
}

// compare waits until all is quiet, and compares with the server.
func (d *demand[T]) compare(names []string, held map[string]bool, bytes int64) {
	d.t.Helper()
	synctest.Wait()
	state, _ := d.storage.List(corev1.Resource("configmaps"))
	server := map[string]*corev1.ConfigMap{}
	for _, obj := range state {
		server[obj.(*corev1.ConfigMap).Name] = obj.(*corev1.ConfigMap)
	}
	for _, name := range names {
		want := server[name]
		stored, ok := d.Store().Get(mapKey(name))
		got, err := d.Get(d.t.Context(), mapKey(name))
		switch {
		case want == nil && (ok || !apierrors.IsNotFound(err)):
			d.t.Errorf("%s is gone; the store has %v, Get %v, %v", name, stored, got, err)
		case want == nil:
		case err != nil || dataOf(got) != dataOf(want) || got.GetResourceVersion() != want.ResourceVersion:
			d.t.Errorf("Get %s: %v, %v; want %v", name, got, err, want)
		case stored.GetResourceVersion() != want.ResourceVersion || source.IsPartial(stored) == held[name]:
			d.t.Errorf("held %v: the store has %v; the server %v", held[name], stored, want)
		}
	}
	if s := d.OnDemandStats(); s.Bytes > bytes || (s.Bytes == 0) != (s.Objects == 0) {
		d.t.Errorf("kept: %+v", s)
	}
}

// everything chooses all objects.
func everything(kinglet.Key, map[string]string, []metav1.OwnerReference) bool { return true }

func large(name string, bytes int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string]string{"data": strings.Repeat("x", bytes)}}
}

// wholeOnes returns the names of the stored objects that are whole.
func (d *demand[T]) wholeOnes() (names []string) {
	synctest.Wait()
	for obj := range d.Store().All() {
		if !source.IsPartial(obj) {
			names = append(names, obj.GetName())
		}
	}
	return names
}

func TestWhatDoesNotFitInTheBudgetIsMetadataUntilThereIsRoom(t *testing.T) {
	for name, open := range openers() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n, size, budget = 20, 10_000, 55_000
				d := newDemand(t, open, kinglet.OnDemandOptions[*corev1.ConfigMap]{Whole: everything, Budget: kinglet.NewBudget(budget)})
				for i := range n {
					must(d.storage.Create(large(fmt.Sprint("m", i), size)))
				}
				d.run()
				whole := d.wholeOnes()
				status := d.Status()
				// An object that a client has decoded counts by its memory, which is more.
				if b := status.Budget; len(whole) < 4 || len(whole) > 5 || b.Short != n-len(whole) || b.Bytes != budget || b.Used > budget || b.Used < 4*size || b.Since.IsZero() {
					t.Fatalf("%v are whole; %+v", whole, b)
				}
				problems := slices.DeleteFunc(status.Problems(time.Now()), func(p kingletstatus.Problem) bool { return p.Cause == kingletstatus.CauseReadPath })
				if len(problems) != 1 || problems[0].Cause != kingletstatus.CauseBudget || !strings.Contains(problems[0].What, fmt.Sprintf("of %d objects only metadata is held", n-len(whole))) {
					t.Errorf("problems: %v", problems)
				}
				// Reads have all of them, and take nothing from those that are whole.
				for i := range n {
					if obj, err := d.Get(t.Context(), mapKey(fmt.Sprint("m", i))); err != nil || len(dataOf(obj)) != size {
						t.Errorf("Get: %v, %v", obj, err)
					}
				}
				if again := d.wholeOnes(); !reflect.DeepEqual(again, whole) {
					t.Errorf("%v are whole after reads, not %v", again, whole)
				}
				// Reads include own writes.
				d.server.Hold()
				written := must(d.storage.Update(large("m19", size+1))).(*corev1.ConfigMap)
				if err := d.Wrote(written); err != nil {
					t.Error(err)
				}
				go d.server.Release() // what is read waits for it
				if obj, err := d.Get(t.Context(), mapKey("m19")); err != nil || len(dataOf(obj)) != size+1 {
					t.Errorf("after an own write Get: %v, %v", obj, err)
				}
				d.wholeOnes()
				must(d.storage.Update(large("m19", size)))
				// One grows, and no longer fits.
				must(d.storage.Update(large(whole[0], 30_000)))
				if slices.Contains(d.wholeOnes(), whole[0]) {
					t.Error("an object that has grown beyond the budget is whole")
				}
				// They go, and the others become whole.
				for i := range n - 3 {
					must(d.storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: "ns", Name: fmt.Sprint("m", i)}, nil))
				}
				whole = d.wholeOnes()
				if status = d.Status(); len(whole) != 3 || status.Budget.Short != 0 || !status.Budget.Since.IsZero() {
					t.Errorf("with room for all %v are whole; %+v; %v", whole, status.Budget, d.errs)
				}
			})
		})
	}
}

func TestHeldObjectsAreWholeBeyondTheBudgetAndOthersMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 10_000
		d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{Whole: everything, Budget: kinglet.NewBudget(3*size + size/2)})
		for i := range 4 {
			must(d.storage.Create(large(fmt.Sprint("m", i), size)))
		}
		d.Hold(mapKey("m2"))
		d.run()
		expect := func(when string, held []string, whole int, most int64) {
			t.Helper()
			names := d.wholeOnes()
			missing := slices.DeleteFunc(held, func(name string) bool { return slices.Contains(names, name) })
			if b := d.Status().Budget; len(missing) > 0 || len(names) != whole || b.Used > most || b.Short != 4-whole {
				t.Errorf("%s %v are whole; %+v", when, names, b)
			}
		}
		expect("at first", []string{"m2"}, 3, 3.5*size)
		d.Hold(mapKey("m3"))
		expect("with two held", []string{"m2", "m3"}, 3, 3.5*size)
		d.Hold(mapKey("m0"), mapKey("m1"))
		expect("with all held", []string{"m0", "m1", "m2", "m3"}, 4, 4.5*size)
		d.Release(mapKey("m0"), mapKey("m1"))
		expect("after a release", []string{"m2", "m3"}, 3, 3.5*size)
	})
}

// none are options without any of their own.
var none kinglet.OnDemandOptions[*corev1.ConfigMap]

func TestOptionsThatLeaveFieldsOutOfWhatGetReadsAreAnError(t *testing.T) {
	for name, change := range map[string]func(*source.Options){
		"Keep": func(o *source.Options) { o.Keep = []string{"data"} },
		"Drop": func(o *source.Options) { o.Drop = []string{"binaryData"} },
		"Whole": func(o *source.Options) {
			o.Whole = func(key kinglet.Key, _ map[string]string, _ []metav1.OwnerReference) bool { return key.Name == "a" }
		},
		"managed fields": func(o *source.Options) { o.Drop = []string{source.DropManagedFields} },
	} {
		_, err := kinglet.NewOnDemand(func(o source.Options) (source.Source[*corev1.ConfigMap], error) {
			change(&o)
			return fromConfig[*corev1.ConfigMap](&rest.Config{}, o)
		}, none)
		if (err == nil) != (name == "managed fields") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := kinglet.NewOnDemand(func(source.Options) (source.Source[*corev1.ConfigMap], error) { return nil, nil }, none); err == nil {
		t.Error("no source is none")
	}
}

func TestWhatGetReturnsIsOfTheServersPresentEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], none, "a")
		d.run()
		backup := d.storage.Revision()
		must(d.storage.Update(configMap("a", "lost")))
		synctest.Wait()
		d.expect("a", "lost", 1)
		if err := d.storage.Restore(backup); err != nil {
			t.Fatal(err)
		}
		d.server.Disconnect()
		testbubble.Pass(10 * time.Minute)
		// Another content has the version that the lost one had.
		must(d.storage.Update(configMap("a", "restored")))
		synctest.Wait()
		d.expect("a", "restored", 2)
	})
}

func TestHoldAndReleaseDoNotMoveTheStoresVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], none, "a", "b")
		late, err := d.AddHandler(history.Typed[*corev1.ConfigMap]{History: history.New("late")}, kinglet.HandlerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d.run()
		must(d.storage.Update(configMap("b", "2")))
		synctest.Wait()
		at := fmt.Sprint(d.storage.Revision())
		for _, change := range []func(...kinglet.Key){d.Hold, d.Release} {
			change(mapKey("a"))
			synctest.Wait()
			if got := d.Snapshot().ResourceVersion(""); got != at || d.Status().ResourceVersion != at || late.DeliveredThrough() != at {
				t.Errorf("at %s the snapshot has %s, the status %s, and the handler %s", at, got, d.Status().ResourceVersion, late.DeliveredThrough())
			}
		}
	})
}

func TestOneReadThatFailsOrHangsDelaysNoOther(t *testing.T) {
	for name, fault := range map[string]apiserver.Fault{
		"fails": {Answer: apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("not now"))}, "hangs": {StallAfter: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var names []string
				for i := range 40 {
					names = append(names, fmt.Sprint("m", i))
				}
				d := newDemand(t, fromConfig[*corev1.ConfigMap], none, names...)
				d.only = "m0"
				d.Hold(mapKey("m39"))
				d.run()
				d.fault.Store(&fault)
				d.Hold(mapKey("m0"))
				synctest.Wait()
				reads := d.reads.Load()
				d.Release(mapKey("m39"))
				for _, name := range names[1:30] {
					d.Hold(mapKey(name))
				}
				testbubble.Pass(2 * time.Minute)
				if whole := d.wholeOnes(); len(whole) != 29 {
					t.Errorf("%v are whole; %v", whole, d.errs)
				}
				if n := d.reads.Load() - reads; n > 29+10 {
					t.Errorf("%d requests in two minutes", n)
				}
				d.fault.Store(nil)
				testbubble.Pass(2 * time.Minute)
				if whole := d.wholeOnes(); len(whole) != 30 {
					t.Errorf("once the server answers %v are whole", whole)
				}
			})
		})
	}
}

// A replica that lags shows metadata older than what another has answered with.
func TestGetDoesNotGoBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], none, "a")
		ahead := apiserver.New(d.storage, apiserver.Options{})
		defer ahead.Close()
		lean, err := fromConfig[*corev1.ConfigMap](d.server.Config(), source.Options{Whole: func(kinglet.Key, map[string]string, []metav1.OwnerReference) bool { return false }})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := fromConfig[*corev1.ConfigMap](ahead.Config(), source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d.OnDemand, err = kinglet.NewOnDemand(func(o source.Options) (source.Source[*corev1.ConfigMap], error) {
			if o.Whole != nil {
				return lean, nil
			}
			return whole, nil
		}, none)
		if err != nil {
			t.Fatal(err)
		}
		d.run()
		d.server.Hold()
		must(d.storage.Update(configMap("a", "2")))
		for range 3 {
			d.expect("a", "2", 0)
		}
		if s := d.OnDemandStats(); s.Misses != 1 {
			t.Errorf("%+v", s)
		}
		d.server.Release()
		synctest.Wait()
		d.expect("a", "2", 0)
	})
}

func TestAServerRefusesWhatIsNotWhole(t *testing.T) {
	for name, annotations := range map[string]map[string]string{"without annotations": nil, "with annotations": {"a": "b"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{})
				precious := configMap("a", "precious")
				precious.Annotations = annotations
				must(d.storage.Create(precious))
				d.run()
				obj, _ := d.Store().Get(mapKey("a"))
				changed := obj.DeepCopy()
				changed.Labels = map[string]string{"changed": "yes"}
				client := kubernetes.NewForConfigOrDie(d.server.Config())
				if _, err := client.CoreV1().ConfigMaps("ns").Update(t.Context(), changed, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "not whole") {
					t.Errorf("Update: %v", err)
				}
				if whole, err := d.Get(t.Context(), mapKey("a")); err != nil || dataOf(whole) != "precious" || !maps.Equal(whole.Annotations, annotations) {
					t.Errorf("Get: %v, %v", whole, err)
				}
			})
		})
	}
}

// lingering is a source whose lists clean up for a moment once their context has ended.
type lingering struct {
	source.Source[*corev1.ConfigMap]
	under *atomic.Int32
}

func (l lingering) List(ctx context.Context, req source.ListRequest[*corev1.ConfigMap], yield func(source.Page[*corev1.ConfigMap]) error) error {
	l.under.Add(1)
	defer l.under.Add(-1)
	err := l.Source.List(ctx, req, yield)
	if ctx.Err() != nil {
		testbubble.Pass(300 * time.Millisecond)
	}
	return err
}

// Guarantee 9.
func TestRunReturnsAfterTheReadsThatItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under atomic.Int32
		d := newDemand(t, func(cfg *rest.Config, o source.Options) (source.Source[*corev1.ConfigMap], error) {
			src, err := fromConfig[*corev1.ConfigMap](cfg, o)
			return lingering{src, &under}, err
		}, kinglet.OnDemandOptions[*corev1.ConfigMap]{}, "x")
		d.fault.Store(&apiserver.Fault{Delay: 20 * time.Second})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		synctest.Wait()
		d.Hold(mapKey("x"))
		synctest.Wait()
		if under.Load() == 0 {
			t.Error("nothing is read")
		}
		cancel()
		if err := <-ended; err != nil || under.Load() > 0 {
			t.Errorf("Run returned %v, and %d reads are under way", err, under.Load())
		}
	})
}

// What the server has in a later version is not kept in mind once it is gone.
func TestNothingIsKeptOfWhatIsGoneBeforeItWasReadWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10
		storage := apiserver.NewStorage(apiserver.ConfigMaps)
		watched, read := apiserver.New(storage, apiserver.Options{WithoutWatchList: true}), apiserver.New(storage, apiserver.Options{})
		t.Cleanup(watched.Close)
		t.Cleanup(read.Close)
		at := watched
		d := must(kinglet.NewOnDemand(func(o source.Options) (source.Source[*corev1.ConfigMap], error) {
			cfg := at.Config()
			at, cfg.QPS, o.DisableSharing = read, -1, true
			return fromConfig[*corev1.ConfigMap](cfg, o)
		}, kinglet.OnDemandOptions[*corev1.ConfigMap]{Budget: kinglet.NewBudget(100_000), Whole: everything}))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- d.Run(ctx) }()
		name := func(i int) string { return fmt.Sprint(i, strings.Repeat("-", 200)) }
		remove := func(name string) {
			must(storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: "ns", Name: name}, nil))
		}
		must(storage.Create(large("big", 90_000)))
		synctest.Wait()
		var kept []weak.Pointer[byte]
		for i := range n {
			must(storage.Create(large(name(i), 13_500)))
			synctest.Wait()
			obj, _ := d.Store().Get(mapKey(name(i)))
			kept = append(kept, weak.Make(unsafe.StringData(obj.Name)))
		}
		watched.Hold()
		remove("big") // which leaves room, as the watch shows before what follows
		for i := range n {
			must(storage.Update(large(name(i), 13_501)))
		}
		watched.Advance(1)
		testbubble.Pass(10 * time.Second)
		for i := range n {
			remove(name(i))
		}
		watched.Release()
		testbubble.Pass(10 * time.Minute)
		goruntime.GC()
		goruntime.GC()
		left := 0
		for _, k := range kept {
			if k.Value() != nil {
				left++
			}
		}
		if left > 0 || d.Store().Len() > 0 {
			t.Errorf("of %d names %d are kept; the store has %d", n, left, d.Store().Len())
		}
		goruntime.KeepAlive(d)
		cancel()
		<-ended
	})
}
