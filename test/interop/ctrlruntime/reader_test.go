package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// index adds two indexes to pods.
func index(t *testing.T, c cache.Cache) {
	t.Helper()
	for field, extract := range map[string]client.IndexerFunc{
		"node": func(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} },
		"x":    func(obj client.Object) []string { return []string{obj.GetLabels()["x"], "any"} },
	} {
		if err := c.IndexField(context.Background(), &corev1.Pod{}, field, extract); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListsAreControllerRuntimes compares random lists with those of
// controller-runtime's cache, except for their order and what Limit cuts.
func TestListsAreControllerRuntimes(t *testing.T) {
	for name, opts := range map[string]cache.Options{
		"all namespaces":     {},
		"several namespaces": {DefaultNamespaces: map[string]cache.Config{"ns0": {}, "ns1": {}, "ns2": {}}},
		"and all others":     {DefaultNamespaces: map[string]cache.Config{"ns0": {}, "": {}}},
		"one namespace":      {DefaultNamespaces: map[string]cache.Config{"ns1": {}}},
	} {
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(testkit.Seed(t), 0))
			synctest.Test(t, func(t *testing.T) { compareLists(t, rnd, opts) })
		})
	}
}

func compareLists(t *testing.T, rnd *rand.Rand, opts cache.Options) {
	w := newWorld(t)
	for i := range 60 {
		w.create(pod(fmt.Sprint("ns", rnd.IntN(3)), fmt.Sprint("p", i), fmt.Sprint("n", rnd.IntN(3)), map[string]string{"x": fmt.Sprint(rnd.IntN(3))}))
	}
	theirs, endTheirs := w.run(cache.New, opts)
	defer endTheirs()
	ours, endOurs := w.run(ctrlruntime.NewCache, opts)
	defer endOurs()
	index(t, theirs)
	index(t, ours)
	for range 300 {
		var list client.ListOptions
		if rnd.IntN(2) == 0 {
			list.Namespace = fmt.Sprint("ns", rnd.IntN(4))
		}
		if rnd.IntN(2) == 0 {
			list.LabelSelector = randomSelector(t, rnd)
		}
		if rnd.IntN(2) == 0 {
			list.FieldSelector = fields.AndSelectors([]fields.Selector{
				fields.OneTermEqualSelector("node", fmt.Sprint("n", rnd.IntN(4))),
				fields.OneTermEqualSelector("x", []string{"any", "1", "2"}[rnd.IntN(3)]),
			}[:1+rnd.IntN(2)]...)
		}
		switch rnd.IntN(20) {
		case 0:
			list.FieldSelector = fields.OneTermNotEqualSelector("node", "n1")
		case 1:
			list.FieldSelector = fields.OneTermEqualSelector("none", "n1")
		case 2:
			list.FieldSelector = fields.Everything()
		case 3:
			list.Continue = "from here"
		}
		var want, got corev1.PodList
		wantErr := theirs.List(context.Background(), &want, &list)
		gotErr := ours.List(context.Background(), &got, &list)
		if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Fatalf("%+v: error %v, controller-runtime's %v", list, gotErr, wantErr)
		}
		if !slices.IsSortedFunc(got.Items, comparePods) {
			t.Fatalf("%+v: the order is %v", list, namesOf(got.Items))
		}
		slices.SortFunc(want.Items, comparePods)
		if got, want := namesOf(got.Items), namesOf(want.Items); !slices.Equal(got, want) {
			t.Fatalf("%+v: %v, controller-runtime has %v", list, got, want)
		}
		if wantErr == nil && got.Continue != want.Continue {
			t.Fatalf("continue is %q", got.Continue)
		}
		if list.Limit = 1 + rnd.Int64N(5); gotErr == nil {
			all := namesOf(got.Items)
			if err := ours.List(context.Background(), &got, &list); err != nil {
				t.Fatal(err)
			}
			if first := all[:min(int64(len(all)), list.Limit)]; !slices.Equal(namesOf(got.Items), first) {
				t.Fatalf("%+v: %v, want the first of %v", list, namesOf(got.Items), all)
			}
		}
	}
}

// randomSelector selects by labels of which pods have one.
func randomSelector(t *testing.T, rnd *rand.Rand) labels.Selector {
	t.Helper()
	selector := labels.NewSelector()
	for range 1 + rnd.IntN(2) {
		values := []string{fmt.Sprint(rnd.IntN(4))}
		ops := []selection.Operator{
			selection.Equals, selection.DoubleEquals, selection.NotEquals, selection.In, selection.NotIn,
			selection.GreaterThan, selection.Exists, selection.DoesNotExist,
		}
		op := ops[rnd.IntN(len(ops))]
		if op == selection.Exists || op == selection.DoesNotExist {
			values = nil
		}
		r, err := labels.NewRequirement([]string{"x", "x", "none"}[rnd.IntN(3)], op, values)
		if err != nil {
			t.Fatal(err)
		}
		selector = selector.Add(*r)
	}
	return selector
}

func comparePods(a, b corev1.Pod) int {
	if a.Namespace != b.Namespace {
		return slices.Compare([]byte(a.Namespace), []byte(b.Namespace))
	}
	return slices.Compare([]byte(a.Name), []byte(b.Name))
}

func namesOf(pods []corev1.Pod) (names []string) {
	for _, p := range pods {
		names = append(names, p.Namespace+"/"+p.Name)
	}
	return names
}

func TestAForbiddenNamespaceHoldsUpNoReadOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil), pod("b", "p", "n1", nil))
		w.refuse = func(r *apiserver.Request) error {
			if r.Namespace == "b" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("not for you"))
			}
			return nil
		}
		c, end := w.run(ctrlruntime.NewCache, cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}})
		defer end()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := c.Get(ctx, keyed("a", "p"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}
		var list corev1.PodList
		if err := c.List(ctx, &list, client.InNamespace("a")); err != nil || len(list.Items) != 1 || list.ResourceVersion == "" {
			t.Errorf("%d pods at version %q, %v", len(list.Items), list.ResourceVersion, err)
		}
		if err := c.Get(ctx, keyed("b", "p"), &corev1.Pod{}); !apierrors.IsTimeout(err) {
			t.Errorf("the namespace that is forbidden: %v", err)
		}
		if c.WaitForCacheSync(ctx) {
			t.Error("the cache has synced")
		}
	})
}

func TestAListHasTheVersionOfItsSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		var list corev1.PodList
		if err := c.List(context.Background(), &list); err != nil || list.ResourceVersion != fmt.Sprint(w.storage.Revision()) {
			t.Errorf("version %q, the server is at %d, %v", list.ResourceVersion, w.storage.Revision(), err)
		}
	})
}

// halfway is controller-runtime's cache with kinglet's informers, which read the wire.
func halfway(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	cfg.Wrap(source.WrapTransport)
	opts.NewInformer = kingletcache.NewSharedIndexInformer
	return cache.New(cfg, opts)
}

func TestEachFormSaysItsKind(t *testing.T) {
	several := cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}}
	for name, tc := range map[string]struct {
		newCache cache.NewCacheFunc
		opts     cache.Options
	}{
		"one":         {ctrlruntime.NewCache, cache.Options{}},
		"several":     {ctrlruntime.NewCache, several},
		"NewInformer": {halfway, cache.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.create(pod("a", "p", "n1", map[string]string{"x": "1"}))
				c, end := w.run(tc.newCache, tc.opts)
				defer end()
				u, m := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
				for _, obj := range []client.Object{&corev1.Pod{}, u, m} {
					if _, typed := obj.(*corev1.Pod); !typed {
						obj.GetObjectKind().SetGroupVersionKind(podKind)
					}
					var told []schema.GroupVersionKind
					i, err := c.GetInformer(context.Background(), obj)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
						told = append(told, o.(client.Object).GetObjectKind().GroupVersionKind())
					}}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					w.create(pod("b", fmt.Sprintf("%p", obj), "n1", nil))
					synctest.Wait()
					want := podKind
					if _, typed := obj.(*corev1.Pod); typed {
						want = schema.GroupVersionKind{}
					}
					if len(told) < 2 || slices.ContainsFunc(told, func(gvk schema.GroupVersionKind) bool { return gvk != want }) {
						t.Errorf("handlers of %T see %v", obj, told)
					}
					if err := c.Get(context.Background(), keyed("a", "p"), obj); err != nil {
						t.Fatal(err)
					}
					if obj.GetObjectKind().GroupVersionKind() != podKind || obj.GetLabels()["x"] != "1" {
						t.Errorf("%T is read as %v", obj, obj)
					}
					if shared, ok := i.(toolscache.SharedIndexInformer); !ok || len(shared.GetStore().List()) < 2 {
						t.Errorf("%T is no SharedIndexInformer with the objects of all namespaces", i)
					}
				}
			})
		})
	}
}

func TestCopiesAreTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", map[string]string{"x": "1"}))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		ctx := context.Background()
		got := corev1.Pod{Spec: corev1.PodSpec{Hostname: "stale"}}
		if err := c.Get(ctx, keyed("a", "p"), &got); err != nil || got.Spec.Hostname != "" {
			t.Fatalf("what was in the destination stays: %q, %v", got.Spec.Hostname, err)
		}
		got.Labels["x"] = "mine"
		var list corev1.PodList
		if err := c.List(ctx, &list); err != nil || list.Items[0].Labels["x"] != "1" {
			t.Fatalf("a write to a copy is in the cache: %v, %v", list.Items, err)
		}
		list.Items[0].Labels["x"] = "mine"
		var a, b corev1.Pod
		for _, p := range []*corev1.Pod{&a, &b} {
			if err := c.Get(ctx, keyed("a", "p"), p, client.UnsafeDisableDeepCopy); err != nil || p.Labels["x"] != "1" {
				t.Fatalf("%v, %v", p.Labels, err)
			}
		}
		if a.Labels["y"] = "shared"; b.Labels["y"] != "shared" || a.Kind != "" {
			t.Errorf("two reads without a copy have %v and %v of kind %q", a.Labels, b.Labels, a.Kind)
		}
	})
}

func TestErrorsAreControllerRuntimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx := context.Background()
		c, err := ctrlruntime.NewCache(w.server.Config(), cache.Options{Mapper: mapper()})
		if err != nil {
			t.Fatal(err)
		}
		var notStarted *cache.ErrCacheNotStarted
		if err := c.Get(ctx, keyed("a", "p"), &corev1.Pod{}); !errors.As(err, &notStarted) {
			t.Errorf("before Start: %v", err)
		}
		strict, end := w.run(ctrlruntime.NewCache, cache.Options{ReaderFailOnMissingInformer: true})
		defer end()
		var notCached *cache.ErrResourceNotCached
		if err := strict.List(ctx, &corev1.PodList{}); !errors.As(err, &notCached) {
			t.Errorf("an implicit informer: %v", err)
		}
		if _, err := strict.GetInformer(ctx, &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		err = strict.Get(ctx, keyed("a", "p"), &corev1.Pod{})
		var status apierrors.APIStatus
		if !apierrors.IsNotFound(err) || !errors.As(err, &status) || status.Status().Details.Kind != "Pod" {
			t.Errorf("an object that is not there: %v", err)
		}
		if err := strict.Start(ctx); err == nil || err.Error() != "informer already started" {
			t.Errorf("second Start: %v", err)
		}
	})
}

func TestNobodyWaitsForAnInformerThatIsRemoved(t *testing.T) {
	for name, opts := range map[string]cache.Options{"one": {}, "several": {DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}}} {
		t.Run(name, func(t *testing.T) { removeWhileWaiting(t, opts) })
	}
}

func removeWhileWaiting(t *testing.T, opts cache.Options) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.refuse = func(r *apiserver.Request) error {
			if r.Resource.Resource == "pods" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("not for you"))
			}
			return nil
		}
		c, end := w.run(ctrlruntime.NewCache, opts)
		defer end()
		ctx := context.Background()
		for _, obj := range []client.Object{&corev1.Pod{}, &corev1.ConfigMap{}} {
			if _, err := c.GetInformer(ctx, obj, cache.BlockUntilSynced(false)); err != nil {
				t.Fatal(err)
			}
		}
		synced, read := make(chan bool), make(chan error)
		go func() { synced <- c.WaitForCacheSync(ctx) }()
		go func() { read <- c.Get(ctx, keyed("a", "p"), &corev1.Pod{}) }()
		synctest.Wait()
		if err := c.RemoveInformer(ctx, &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		if !<-synced {
			t.Error("the cache has not synced")
		}
		if err := <-read; !apierrors.IsTimeout(err) {
			t.Errorf("a read of it: %v", err)
		}
	})
}

func TestARemovedInformerEndsAndTheNextUseMakesAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		ctx := context.Background()
		i, err := c.GetInformer(ctx, &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RemoveInformer(ctx, &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !i.IsStopped() {
			t.Error("it has not stopped")
		}
		w.create(pod("a", "q", "n1", nil))
		if err := c.Get(ctx, keyed("a", "q"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}
	})
}
