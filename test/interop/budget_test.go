package interop

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// budgeted returns an informer that shares a budget, over objects of 10 kB. It does not run.
func budgeted(t *testing.T, budget *kinglet.Budget, whole bool, names ...string) *demand[*corev1.ConfigMap] {
	opts := kinglet.OnDemandOptions[*corev1.ConfigMap]{Budget: budget}
	if whole {
		opts.Whole = everything
	}
	d := newDemand(t, fromConfig[*corev1.ConfigMap], opts)
	for _, name := range names {
		must(d.storage.Create(large(name, 10_000)))
	}
	return d
}

// counted returns how many objects are whole, and how many metadata.
func (d *demand[T]) counted() (whole, partial int) {
	for obj := range d.Store().All() {
		if source.IsPartial(obj) {
			partial++
		} else {
			whole++
		}
	}
	return whole, partial
}

func quiet() {
	testbubble.Pass(5 * time.Minute)
	synctest.Wait()
}

func TestWhatOneInformerHoldsMakesRoomInAnother(t *testing.T) {
	names := []string{"b1", "b2", "b3", "b4", "b5"}
	for when, hold := range map[string]func(d *demand[*corev1.ConfigMap], keys ...kinglet.Key){
		"before Run": func(d *demand[*corev1.ConfigMap], keys ...kinglet.Key) { d.Hold(keys...); d.run() },
		"after it":   func(d *demand[*corev1.ConfigMap], keys ...kinglet.Key) { d.run(); d.Hold(keys...) },
		"and grows": func(d *demand[*corev1.ConfigMap], keys ...kinglet.Key) {
			d.Hold(keys[0])
			d.run()
			must(d.storage.Update(large("b1", 50_000)))
		},
	} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				budget := kinglet.NewBudget(100_000)
				a := budgeted(t, budget, true, "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8")
				b := budgeted(t, budget, false, names...)
				a.run()
				var keys []kinglet.Key
				for _, name := range names {
					keys = append(keys, mapKey(name))
				}
				hold(b, keys...)
				quiet()
				if used, limit := budget.Used(); used > limit || used < limit-12_000 {
					t.Errorf("%d of %d are used", used, limit)
				}
			})
		})
	}
}

// Looking at an object allocates, so the allocated bytes show how many are looked at.
func TestAnEventDoesNotLookAtAllHeldObjectsThoughTheyExceedTheBudget(t *testing.T) {
	perEvent := func(limit int64) (bytes uint64) {
		synctest.Test(t, func(t *testing.T) {
			const events = 50
			d := budgeted(t, kinglet.NewBudget(limit), false)
			for i := range 4000 {
				must(d.storage.Create(configMap(fmt.Sprint("o", i), "")))
				d.Hold(mapKey(fmt.Sprint("o", i)))
			}
			d.run()
			quiet()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for i := range events {
				must(d.storage.Update(configMap("o1", fmt.Sprint(i))))
				synctest.Wait()
			}
			runtime.ReadMemStats(&after)
			bytes = (after.TotalAlloc - before.TotalAlloc) / events
		})
		return bytes
	}
	if enough, exceeded := perEvent(1<<40), perEvent(1); exceeded > 8*enough {
		t.Errorf("an event allocates %d bytes, and %d with enough room", exceeded, enough)
	}
}

func TestAnInformerThatHasStoppedTakesNothingOfItsBudget(t *testing.T) {
	budget, collected := kinglet.NewBudget(100_000), make(chan struct{}, 8)
	synctest.Test(t, func(t *testing.T) {
		a := budgeted(t, budget, true, "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.Run(ctx) }()
		synctest.Wait()
		for obj := range a.Store().All() {
			runtime.AddCleanup(obj, func(c chan struct{}) { c <- struct{}{} }, collected)
		}
		b := budgeted(t, budget, true, "b1", "b2", "b3", "b4", "b5")
		b.run()
		cancel()
		<-ended
		name := strings.Repeat("n", 100)
		kept := weak.Make(unsafe.StringData(name))
		a.Hold(mapKey(name))
		a.Release(mapKey(name))
		if runtime.GC(); kept.Value() != nil {
			t.Error("the name of an object that is held no more is kept after Run")
		}
		runtime.KeepAlive(a)
		quiet()
		if whole, partial := b.counted(); partial > 0 || whole != 5 {
			t.Errorf("%d objects are whole and %d metadata, though nobody else needs room", whole, partial)
		}
	})
	if used, _ := budget.Used(); used != 0 {
		t.Errorf("%d are used by nobody", used)
	}
	for range 100 {
		runtime.GC()
		if len(collected) > 0 {
			return
		}
	}
	t.Error("the objects of an informer that has stopped are kept by its Budget")
}

func TestAnEventDuringTheReadOfAHeldObjectCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{Budget: kinglet.NewBudget(100_000), Bytes: 1}, "a")
		must(d.storage.Create(large("k", 50_000)))
		d.run()
		d.fault.Store(&apiserver.Fault{Delay: 10 * time.Second})
		d.Hold(mapKey("k"))
		testbubble.Pass(5 * time.Second)
		must(d.storage.Update(large("k", 60_000)))
		quiet()
		if obj, _ := d.Store().Get(mapKey("k")); source.IsPartial(obj) || d.Status().Budget.Whole < 60_000 {
			t.Errorf("whole: %v; %+v", !source.IsPartial(obj), d.Status().Budget)
		}
	})
}

func TestWhatIsShortIsMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{Whole: everything, Budget: kinglet.NewBudget(100_000)})
		for i := range 40 {
			must(d.storage.Create(large(fmt.Sprint("small", i), 1_000)))
		}
		must(d.storage.Create(large("large", 40_000)))
		d.run()
		must(d.storage.Create(large("held", 45_000)))
		d.Hold(mapKey("held"))
		quiet()
		if _, partial := d.counted(); partial == 0 || d.Status().Budget.Short != partial {
			t.Errorf("%d objects are metadata; %+v", partial, d.Status().Budget)
		}
		must(d.storage.Create(large("more", 25_000)))
		quiet()
		bytes := 0
		for obj := range d.Store().All() {
			bytes += len(obj.Data["data"])
		}
		if bytes > 100_000 {
			t.Errorf("%d bytes are whole", bytes)
		}
	})
}

// atOnce is a source whose first events come in one batch with what follows them, as over a line
// that is slower than the server.
type atOnce struct {
	source.Source[*corev1.ConfigMap]
}

func (s atOnce) Watch(ctx context.Context, req source.WatchRequest[*corev1.ConfigMap], yield func([]source.Event[*corev1.ConfigMap]) error) error {
	var held []source.Event[*corev1.ConfigMap]
	return s.Source.Watch(ctx, req, func(events []source.Event[*corev1.ConfigMap]) error {
		held = append(held, events...)
		if req.SendInitialEvents && held[len(held)-1].InitialEventsEnd || len(held) == 0 {
			return nil // and what comes next
		}
		all := held
		held = nil
		return yield(all)
	})
}

func TestWhatFollowsTheInitialEventsIsShortToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(cfg *rest.Config, o source.Options) (source.Source[*corev1.ConfigMap], error) {
			src, err := fromConfig[*corev1.ConfigMap](cfg, o)
			return atOnce{src}, err
		}
		d := newDemand(t, slow, kinglet.OnDemandOptions[*corev1.ConfigMap]{Whole: everything, Budget: kinglet.NewBudget(16_500)})
		for name, size := range map[string]int{"m0": 1_000, "m1": 5_000, "m2": 10_000} {
			must(d.storage.Create(large(name, size)))
		}
		d.run()
		synctest.Wait()
		must(d.storage.Put(large("m1", 5_600)))
		testbubble.Pass(time.Minute)
		if n := d.Store().Len() - len(d.wholeOnes()); n == 0 || d.Status().Budget.Short != n {
			t.Errorf("%d objects are metadata; %+v", n, d.Status().Budget)
		}
		must(d.storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: "ns", Name: "m2"}, nil))
		testbubble.Pass(time.Minute)
		if whole := d.wholeOnes(); len(whole) != 2 {
			t.Errorf("with room for all %v are whole; %+v", whole, d.Status().Budget)
		}
	})
}

func TestACheckFindsNoDifferenceInAnObjectThatIsBecomingWholeOrMetadata(t *testing.T) {
	for name, held := range map[string]bool{"hold": false, "release": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDemand(t, fromConfig[*corev1.ConfigMap], none, "a", "b")
				if held {
					d.Hold(mapKey("a"))
				}
				d.run()
				d.fault.Store(&apiserver.Fault{Delay: time.Second})
				if held {
					d.Release(mapKey("a"))
				} else {
					d.Hold(mapKey("a"))
				}
				r, err := d.CheckConsistency(t.Context())
				if err != nil || r.Differences > 0 || r.Compared != 2 {
					t.Errorf("%+v, %v", r, err)
				}
			})
		})
	}
}

func TestSourcesOnDemandWithoutWholeObjectsAreRefusedBeforeOthersGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], none, "a")
		d.run()
		synctest.Wait()
		src := must(fromConfig[*corev1.ConfigMap](d.server.Config(), source.Options{}))
		err := d.SetSources(kinglet.ScopedSource[*corev1.ConfigMap]{Scope: kinglet.NamespaceScope("ns"), Source: src})
		if err == nil || !strings.Contains(err.Error(), "whole objects") {
			t.Errorf("refused with %v", err)
		}
		must(d.storage.Create(configMap("b", "1")))
		synctest.Wait()
		if n := d.Store().Len(); n != 2 {
			t.Errorf("it has %d objects then", n)
		}
	})
}

func TestAnObjectThatIsReleasedWhileItIsReadLacksNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{
			Budget: kinglet.NewBudget(100_000), Bytes: 1,
			Whole: func(key kinglet.Key, _ map[string]string, _ []metav1.OwnerReference) bool {
				return key.Name == "chosen"
			},
		})
		must(d.storage.Create(large("chosen", 90_000)))
		must(d.storage.Create(large("other", 50_000)))
		d.run()
		d.fault.Store(&apiserver.Fault{Delay: 10 * time.Second})
		d.Hold(mapKey("other"))
		testbubble.Pass(5 * time.Second)
		d.Release(mapKey("other"))
		testbubble.Pass(time.Minute)
		synctest.Wait()
		if b := d.Status().Budget; b.Short != 0 || b.Whole < 90_000 {
			t.Errorf("%+v", b)
		}
	})
}
