package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

// sized is a config map of about so many bytes.
func sized(namespace, name string, bytes int, set map[string]string) *corev1.ConfigMap {
	cm := configMap(namespace, name, set)
	cm.Data = map[string]string{"a": strings.Repeat("x", bytes)}
	return cm
}

// typedNames returns what a typed list has, and what it fails with.
func typedNames(t *testing.T, c client.Reader, opts ...client.ListOption) (names []string, err error) {
	t.Helper()
	var list corev1.ConfigMapList
	err = c.List(t.Context(), &list, opts...)
	for _, cm := range list.Items {
		if source.IsPartial(&cm) {
			t.Errorf("a list has %s, which is not whole", cm.Name)
		}
		names = append(names, cm.Name)
	}
	return names, err
}

func TestACacheKeepsToItsBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, size, limit = 10, 10_000, 35_000
		w := newWorld(t)
		for i := range n {
			w.create(sized("a", fmt.Sprint("m", i), size, nil))
		}
		o := ctrlruntime.Options{
			Budget:   kinglet.NewBudget(limit),
			ByObject: map[client.Object]ctrlruntime.ByObject{&corev1.ConfigMap{}: {Whole: labels.Everything(), OnDemand: 1 << 20}},
			Set:      &kinglet.Set{},
		}
		c, end := w.run(o.NewCache, cache.Options{})
		defer end()
		if err := c.IndexField(t.Context(), &corev1.ConfigMap{}, "size", func(obj client.Object) []string {
			return []string{fmt.Sprint(len(obj.(*corev1.ConfigMap).Data["a"]))}
		}); err != nil {
			t.Fatal(err)
		}
		informer, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		told := history.New("typed")
		if _, err := informer.AddEventHandler(history.Plain{History: told}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		budget := func() status.Budget { return o.Set.Status()[0].Budget }
		if b := budget(); b.Short != n-3 || b.Used > limit || b.Bytes != limit {
			t.Fatalf("%+v, want three whole objects", b)
		}
		problems := o.Set.Status()[0].Problems(time.Now())
		if !slices.ContainsFunc(problems, func(p status.Problem) bool { return p.Cause == status.CauseBudget }) {
			t.Errorf("problems: %v", problems)
		}
		// No list leaves out what there is no room for, and nobody takes it for deleted.
		view, err := ctrlruntime.For[*corev1.ConfigMap](c)
		if err != nil {
			t.Fatal(err)
		}
		for _, opts := range [][]client.ListOption{nil, {client.InNamespace("a")}, {client.MatchingFields{"size": fmt.Sprint(size)}}} {
			_, err := typedNames(t, c, opts...)
			if short, ok := errors.AsType[*ctrlruntime.PartialError](err); !ok || !short.Short || short.Objects != n-3 || !strings.Contains(err.Error(), "Options.Budget") {
				t.Errorf("list %v: %v", opts, err)
			}
			if _, err := view.List(opts...); !errors.As(err, new(*ctrlruntime.PartialError)) {
				t.Errorf("list %v of a view: %v", opts, err)
			}
		}
		if names, err := typedNames(t, c, client.InNamespace("b")); len(names) > 0 || err != nil {
			t.Errorf("an empty namespace has %v, %v", names, err)
		}
		if _, objects := told.Told(); objects != n {
			t.Errorf("the handler was told of %d objects", objects)
		}
		for i := range n {
			var cm corev1.ConfigMap
			if err := c.Get(t.Context(), keyed("a", fmt.Sprint("m", i)), &cm); err != nil || len(cm.Data["a"]) != size || source.IsPartial(&cm) || cm.Kind != "ConfigMap" {
				t.Errorf("Get m%d: %d bytes, %v", i, len(cm.Data["a"]), err)
			}
		}
		// Whoever is held is whole; another makes room.
		if err := ctrlruntime.Hold(c, &corev1.ConfigMap{}, keyed("a", "m9"), keyed("a", "new")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got, ok := view.Get(keyed("a", "m9")); !ok || source.IsPartial(got) || budget().Used > limit || budget().Short != n-3 {
			t.Errorf("held, it is %v; %+v", got, budget())
		}
		w.create(sized("a", "new", size, nil))
		synctest.Wait()
		if got, ok := view.Get(keyed("a", "new")); !ok || source.IsPartial(got) || budget().Used > limit {
			t.Errorf("created while it was held, it is %v; %+v", got, budget())
		}
		for i := range n - 2 {
			if _, err := w.storage.Delete(corev1.Resource("configmaps"), keyed("a", fmt.Sprint("m", i)), nil); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if names, err := typedNames(t, c); err != nil || !slices.Equal(names, []string{"m8", "m9", "new"}) || budget().Short != 0 {
			t.Errorf("with room for all the list has %v, %v; %+v", names, err, budget())
		}
		if wrong := told.Wrong(); len(wrong) > 0 {
			t.Error(wrong)
		}
	})
}

// A held object exceeds the budget, and is deleted. Of the others, as many become whole as fit.
func TestABudgetCountsWholeObjectsWhateverTransformThereIs(t *testing.T) {
	for name, transform := range map[string]func(any) (any, error){"none": nil, "one": func(obj any) (any, error) { return obj, nil }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n, size, limit = 40, 10_000, 60_000
				w := newWorld(t)
				w.create(sized("a", "large", limit+1_000, nil))
				for i := range n {
					w.create(sized("a", fmt.Sprint("m", i), size, nil))
				}
				o := ctrlruntime.Options{Budget: kinglet.NewBudget(limit), Set: &kinglet.Set{}, ByObject: map[client.Object]ctrlruntime.ByObject{&corev1.ConfigMap{}: {Whole: labels.Everything()}}}
				c, end := w.run(o.NewCache, cache.Options{DefaultTransform: transform})
				defer end()
				if err := ctrlruntime.Hold(c, &corev1.ConfigMap{}, keyed("a", "large")); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				w.update(sized("a", "m0", size+1, nil)) // it comes as metadata
				if _, err := w.storage.Delete(corev1.Resource("configmaps"), keyed("a", "large"), nil); err != nil {
					t.Fatal(err)
				}
				testbubble.Pass(time.Minute)
				if b := o.Set.Status()[0].Budget; b.Short != n-5 || b.Used > limit || b.Used < 5*size {
					t.Errorf("%+v, want five whole objects", b)
				}
			})
		})
	}
}

// A refusal of lists of one name says nothing about the object, and a namespace that is refused
// nothing about others.
func TestWhatIsRefusedHidesNothingThatIsHeld(t *testing.T) {
	for name, refuse := range map[string]func(r *apiserver.Request) error{
		"404 for lists of one name": func(r *apiserver.Request) error {
			if byName(r) {
				return apierrors.NewGenericServerResponse(http.StatusNotFound, "GET", schema.GroupResource{}, "", "404 page not found", 0, true)
			}
			return nil
		},
		"403 for another namespace": func(r *apiserver.Request) error {
			if r.Namespace == "b" {
				return apierrors.NewForbidden(corev1.Resource("configmaps"), "", nil)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.refuse = refuse
				w.create(configMap("a", "one", nil))
				o := ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{&corev1.ConfigMap{}: {Whole: labels.Nothing()}}}
				c, end := w.run(o.NewCache, cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}})
				defer end()
				if _, err := c.GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false)); err != nil {
					t.Fatal(err)
				}
				testbubble.Pass(time.Minute)
				if err := c.Get(t.Context(), keyed("a", "one"), &corev1.ConfigMap{}); apierrors.IsNotFound(err) {
					t.Errorf("Get of an object that is there: %v", err)
				}
				if err := ctrlruntime.Hold(c, &corev1.ConfigMap{}, keyed("a", "one")); err != nil {
					t.Fatal(err)
				}
				testbubble.Pass(time.Minute)
				if !strings.Contains(name, "another") {
					w.refused(nil)
					testbubble.Pass(time.Minute)
				}
				if names, err := typedNames(t, c, client.InNamespace("a")); err != nil || !slices.Equal(names, []string{"one"}) {
					t.Errorf("the list has %v, %v", names, err)
				}
			})
		})
	}
}

func TestHoldNeedsAKindThatHidesObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		if err := ctrlruntime.Hold(c, &corev1.ConfigMap{}, keyed("a", "b")); err == nil || !strings.Contains(err.Error(), "ByObject needs an entry") {
			t.Error(err)
		}
		if err := ctrlruntime.Release(nil, &corev1.ConfigMap{}); !errors.As(err, new(*ctrlruntime.ForeignCacheError)) {
			t.Error(err)
		}
		o := ctrlruntime.Options{Budget: kinglet.NewBudget(1), ByObject: map[client.Object]ctrlruntime.ByObject{&corev1.Pod{}: {Keep: []string{"spec"}}}}
		if _, _, err := w.start(o.NewCache, cache.Options{}); err == nil || !strings.Contains(err.Error(), "option Budget") {
			t.Error(err)
		}
	})
}

func TestATransformMayTakeTheLabelsByWhichObjectsAreHeldWhole(t *testing.T) {
	for name, c := range map[string]struct {
		budget *kinglet.Budget
		hold   bool
	}{"": {}, "with a budget": {budget: kinglet.NewBudget(1 << 20)}, "with what is held": {hold: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.create(sized("a", "m", 1, map[string]string{"mine": "yes"}), sized("a", "other", 1, nil))
				o := wholeOptions()
				o.Budget, o.Set = c.budget, &kinglet.Set{}
				strip := func(obj any) (any, error) {
					obj.(metav1.Object).SetLabels(nil)
					return obj, nil
				}
				got, end := w.run(o.NewCache, cache.Options{DefaultTransform: strip})
				defer end()
				if c.hold {
					if err := ctrlruntime.Hold(got, &corev1.ConfigMap{}, keyed("a", "other")); err != nil {
						t.Fatal(err)
					}
				}
				names, err := typedNames(t, got)
				w.update(sized("a", "m", 2, map[string]string{"mine": "yes"}))
				synctest.Wait()
				again, errAgain := typedNames(t, got)
				shown, _ := o.Set.Observed()
				quarantined := shown[0].(interface{ Quarantined() []kinglet.Quarantined }).Quarantined()
				if name == "" {
					if want := []string{"m"}; !slices.Equal(names, want) || !slices.Equal(again, want) || err != nil || errAgain != nil {
						t.Errorf("lists have %v and %v, %v, %v", names, again, err, errAgain)
					}
				} else if len(quarantined) != 1 || !strings.Contains(quarantined[0].Err.Error(), "changes the labels by which ByObject.Whole selects") {
					t.Errorf("quarantined: %v", quarantined)
				}
			})
		})
	}
}

// Writes of all sizes and labels, holds, reads, namespaces that come and go, Transforms that
// change and a server that fails: once all is quiet, reads have what the server has, lists
// have all of it or say that they have not, handlers have received a legal history, and
// nothing is metadata that would fit.
func TestACacheOfSeveralNamespacesKeepsToItsBudget(t *testing.T) {
	first := testkit.Seed(t)
	for seed := first; seed < first+uint64(testkit.Trials(60)); seed++ {
		synctest.Test(t, func(t *testing.T) { budgetTrial(t, seed) })
		if t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

func budgetTrial(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 31))
	w := newWorld(t)
	const limit = 60_000
	o := ctrlruntime.Options{
		ByObject: map[client.Object]ctrlruntime.ByObject{&corev1.ConfigMap{}: {Whole: mine, OnDemand: int64(rnd.IntN(2)) << 20}},
		Set:      &kinglet.Set{},
	}
	if rnd.IntN(4) > 0 {
		o.Budget = kinglet.NewBudget(limit)
	}
	// by is who has made the objects of a namespace.
	by := map[string]string{}
	settings := func() map[string]cache.Config {
		all := map[string]cache.Config{}
		clear(by)
		for _, ns := range []string{"a", "b", "c"} {
			if rnd.IntN(3) == 0 && len(all) > 0 {
				continue
			}
			all[ns] = cache.Config{}
			if rnd.IntN(3) == 0 {
				by[ns] = fmt.Sprint(rnd.IntN(3))
				all[ns] = cache.Config{Transform: signed(by[ns])}
			}
		}
		return all
	}
	namespaces := settings()
	c, end := w.run(o.NewCache, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Namespaces: namespaces}}})
	defer end()
	told := history.New("typed")
	informer, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := informer.AddEventHandler(history.Plain{History: told}); err != nil {
		t.Fatal(err)
	}
	held := map[client.ObjectKey]bool{}
	for range 120 {
		key := keyed(string("abc"[rnd.IntN(3)]), fmt.Sprint("m", rnd.IntN(6)))
		var set map[string]string
		if rnd.IntN(2) == 0 {
			set = map[string]string{"mine": "yes"}
		}
		switch rnd.IntN(10) {
		case 0, 1, 2:
			_, _ = w.storage.Create(sized(key.Namespace, key.Name, rnd.IntN(18_000), set))
		case 3, 4:
			_, _ = w.storage.Update(sized(key.Namespace, key.Name, rnd.IntN(18_000), set))
		case 5:
			_, _ = w.storage.Delete(corev1.Resource("configmaps"), key, nil)
		case 6:
			do := ctrlruntime.Release
			if held[key] = rnd.IntN(2) == 0; held[key] {
				do = ctrlruntime.Hold
			}
			if err := do(c, &corev1.ConfigMap{}, key); err != nil {
				t.Fatal(err)
			}
		case 7:
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_ = c.Get(ctx, key, &corev1.ConfigMap{})
			cancel()
		case 8:
			switch rnd.IntN(4) {
			case 0:
				namespaces = settings()
				if err := ctrlruntime.SetNamespaces(t.Context(), c, &corev1.ConfigMap{}, namespaces); err != nil {
					t.Fatal(err)
				}
			case 1:
				w.server.Disconnect()
			case 2:
				refused := rnd.IntN(2) == 0
				w.refused(func(r *apiserver.Request) error {
					if refused && byName(r) {
						return apierrors.NewInternalError(errors.New("no reads now"))
					}
					return nil
				})
			}
		default:
			testbubble.Pass(time.Duration(rnd.IntN(3)) * time.Second)
			synctest.Wait()
		}
	}
	w.refused(nil)
	testbubble.Pass(10 * time.Minute)
	synctest.Wait()
	budgetAtRest(t, w, c, namespaces, by, held, o, limit)
	if wrong := told.Wrong(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// signed is a Transform that marks objects.
func signed(by string) func(any) (any, error) {
	return func(obj any) (any, error) {
		labels := maps.Clone(obj.(metav1.Object).GetLabels())
		if labels == nil {
			labels = map[string]string{}
		}
		labels["by"] = by
		obj.(metav1.Object).SetLabels(labels)
		return obj, nil
	}
}

func budgetAtRest(t *testing.T, w *world, c cache.Cache, namespaces map[string]cache.Config, by map[string]string, held map[client.ObjectKey]bool, o ctrlruntime.Options, limit int64) {
	view, err := ctrlruntime.For[*corev1.ConfigMap](c)
	if err != nil {
		t.Fatal(err)
	}
	b := o.Set.Status()[0].Budget
	all, _ := w.storage.List(corev1.Resource("configmaps"))
	var want []string // what typed lists have
	var short int
	var mustHold int64
	for _, obj := range all {
		cm := obj.(*corev1.ConfigMap)
		key := client.ObjectKeyFromObject(cm)
		if _, known := namespaces[key.Namespace]; !known {
			continue
		}
		var got corev1.ConfigMap
		if err := c.Get(t.Context(), key, &got); err != nil || got.Data["a"] != cm.Data["a"] || got.ResourceVersion != cm.ResourceVersion || source.IsPartial(&got) || got.Labels["by"] != by[key.Namespace] {
			t.Errorf("Get %s: version %s by %q, %d bytes, %v; the server has version %s, %d bytes, and %q made it", key, got.ResourceVersion, got.Labels["by"], len(got.Data["a"]), err, cm.ResourceVersion, len(cm.Data["a"]), by[key.Namespace])
		}
		m := configMapMetadata()
		if err := c.Get(t.Context(), key, m); err != nil || m.GetResourceVersion() != cm.ResourceVersion {
			t.Errorf("the metadata of %s: %v, %v", key, m, err)
		}
		stored, shown := view.Get(key)
		chosen := cm.Labels["mine"] == "yes"
		switch whole := shown && !source.IsPartial(stored); {
		case !held[key] && !chosen:
			if shown {
				t.Errorf("%s is neither chosen nor held, and shown", key)
			}
			continue
		case !shown:
			t.Errorf("%s is not shown", key)
		case held[key] && !whole:
			t.Errorf("%s is held, and not whole", key)
		case !whole && o.Budget == nil:
			t.Errorf("%s is not whole, and nothing bounds it", key)
		case !whole:
			short++
			// Metadata and what Go takes for maps are less than 2,000 bytes.
			if room := limit - b.Whole; int64(len(cm.Data["a"])+2_000) < room {
				t.Errorf("%s has %d bytes, there is room for %d, and it is metadata", key, len(cm.Data["a"]), room)
			}
		}
		if held[key] {
			mustHold += int64(len(cm.Data["a"]) + 2_000)
		}
		want = append(want, cm.Name)
	}
	if b.Short != short || b.Used > max(limit, mustHold) {
		t.Errorf("%d objects are short of room, held ones take %d: %+v", short, mustHold, b)
	}
	names, err := typedNames(t, c)
	switch partial, is := errors.AsType[*ctrlruntime.PartialError](err); {
	case short > 0 && (!is || partial.Objects != short):
		t.Errorf("%d are short of room, and the list says %v", short, err)
	case short == 0 && (err != nil || len(names) != len(want)):
		t.Errorf("the list has %v, %v, want %v", names, err, want)
	}
}
