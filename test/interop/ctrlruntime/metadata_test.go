package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/ctrlruntime"
)

func unstructuredPod() client.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(podKind)
	return u
}

func metadataList() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(podKind.GroupVersion().WithKind("PodList"))
	return list
}

func TestMetadataOfAKindThatIsHeldCostsNoRequestAndIsTheServers(t *testing.T) {
	for name, obj := range map[string]client.Object{"typed": &corev1.Pod{}, "unstructured": unstructuredPod()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { metadataOfHeld(t, obj) })
		})
	}
}

func metadataOfHeld(t *testing.T, obj client.Object) {
	w := newWorld(t)
	for n := range 5 {
		p := pod(fmt.Sprint("ns", n%2), fmt.Sprint("p", n), "n1", map[string]string{"x": fmt.Sprint(n % 3)})
		p.Annotations, p.Finalizers = map[string]string{"note": fmt.Sprint(n)}, []string{"example.com/keep"}
		if n == 4 {
			p.Finalizers = nil
		}
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "u"}}
		w.create(p)
	}
	strip := ctrlruntime.Options{StripManagedFields: true}.NewCache
	// A cache that reads only metadata has it as the server makes it.
	theirs, endTheirs := w.run(strip, cache.Options{})
	defer endTheirs()
	ctx := context.Background()
	m := anObject(podMetadata)
	byNote := func(o client.Object) []string {
		return []string{o.(*metav1.PartialObjectMetadata).Annotations["note"]}
	}
	if err := theirs.IndexField(ctx, m, "note", byNote); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.GetInformer(ctx, m); err != nil {
		t.Fatal(err)
	}
	ours, endOurs := w.run(strip, cache.Options{})
	defer endOurs()
	if _, err := ours.GetInformer(ctx, obj); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	w.asked()
	if err := ours.IndexField(ctx, m, "note", byNote); err != nil {
		t.Fatal(err)
	}
	h := newTold(t, ours, m)
	synctest.Wait()
	for _, opts := range [][]client.ListOption{{}, {client.InNamespace("ns1")}, {client.MatchingLabels{"x": "1"}},
		{client.MatchingFields{"note": "3"}}, {client.MatchingFields{"note": "3"}, client.InNamespace("ns0")}} {
		want, got := metadataList(), metadataList()
		if err := errors.Join(theirs.List(ctx, want, opts...), ours.List(ctx, got, opts...)); err != nil {
			t.Fatal(err)
		}
		if len(want.Items) == 0 && len(opts) < 2 || !reflect.DeepEqual(got.Items, want.Items) && len(got.Items)+len(want.Items) > 0 {
			t.Errorf("%v: %+v\nthe server's %+v", opts, got.Items, want.Items)
		}
	}
	a, b := anObject(podMetadata), anObject(podMetadata)
	for _, into := range []client.Object{a, b} {
		if err := ours.Get(ctx, keyed("ns0", "p0"), into, client.UnsafeDisableDeepCopy); err != nil || into.GetName() != "p0" {
			t.Fatalf("Get: %v, %v", into, err)
		}
	}
	if err := ours.Get(ctx, keyed("ns0", "none"), a); !apierrors.IsNotFound(err) {
		t.Errorf("an object that is not there: %v", err)
	}
	expectTold(t, h, "add ns0/p0, add ns0/p2, add ns0/p4, add ns1/p1, add ns1/p3")
	w.delete("ns0", "p4")
	expectTold(t, h, "delete ns0/p4")
	checkMetadataInformer(t, ours)
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("asked for %v", asked)
	}
}

// checkMetadataInformer checks the informer that shows metadata as a SharedIndexInformer.
func checkMetadataInformer(t *testing.T, c cache.Cache) {
	t.Helper()
	informer, err := c.GetInformer(context.Background(), anObject(podMetadata))
	if err != nil {
		t.Fatal(err)
	}
	i := informer.(toolscache.SharedIndexInformer)
	if err := i.AddIndexers(toolscache.Indexers{"name": func(obj any) ([]string, error) {
		return []string{obj.(*metav1.PartialObjectMetadata).Name}, nil
	}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := i.AddIndexers(toolscache.Indexers{"name": nil}); err == nil {
			t.Error("an index twice is no error")
		}
	}
	x := i.GetIndexer()
	found, err := x.ByIndex("name", "p1")
	if err != nil || len(found) != 1 || found[0].(*metav1.PartialObjectMetadata).GroupVersionKind() != podKind {
		t.Errorf("by index: %v, %v", found, err)
	}
	same, err := x.Index("name", found[0])
	keys, keysErr := x.IndexKeys("name", "p1")
	if err != nil || keysErr != nil || len(same) != 1 || !slices.Equal(keys, []string{"ns1/p1"}) || !slices.Contains(x.ListIndexFuncValues("name"), "p2") {
		t.Errorf("by index: %v, %v, %v, %v", same, keys, err, keysErr)
	}
	if names := slices.Sorted(maps.Keys(x.GetIndexers())); !slices.Equal(names, []string{"field:note", "name", "namespace"}) {
		t.Errorf("indexers are %v", names)
	}
	if in, err := x.ByIndex("namespace", "ns1"); err != nil || len(in) != 2 {
		t.Errorf("in ns1: %v, %v", in, err)
	}
	obj, ok, err := x.GetByKey("ns1/p1")
	if got, is := obj.(*metav1.PartialObjectMetadata); !ok || err != nil || !is || got.Name != "p1" {
		t.Errorf("by key: %v, %v, %v", obj, ok, err)
	}
	if again, ok, err := x.Get(obj); !ok || err != nil || !reflect.DeepEqual(again, obj) {
		t.Errorf("by object: %v, %v, %v", again, ok, err)
	}
	if all, keys := x.List(), x.ListKeys(); len(all) != 4 || len(keys) != 4 {
		t.Errorf("the store has %v under %v", all, keys)
	}
	for write, err := range map[string]error{"Add": x.Add(obj), "Update": x.Update(obj), "Delete": x.Delete(obj), "Replace": x.Replace(nil, "")} {
		if err == nil {
			t.Errorf("%s is no error of a %T", write, x)
		}
	}
	if !i.HasSynced() || i.IsStopped() || i.LastSyncResourceVersion() == "" || i.SetTransform(nil) == nil {
		t.Errorf("synced %v, stopped %v, at %q", i.HasSynced(), i.IsStopped(), i.LastSyncResourceVersion())
	}
	if o, ok := i.(kingletcache.Observable); !ok || o.Status().Objects != 4 {
		t.Error("it is not observable")
	}
}

func TestMetadataStaysWhenTheInformerThatHoldsItIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		ctx := context.Background()
		typed := newTold(t, c, &corev1.Pod{})
		metadata := newTold(t, c, anObject(podMetadata))
		index(t, c)
		expectTold(t, typed, "add a/p")
		expectTold(t, metadata, "add a/p")
		w.asked()
		i, err := c.GetInformer(ctx, &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.RemoveInformer(ctx, &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		if _, err := i.AddEventHandler(typed); !i.IsStopped() || err == nil {
			t.Errorf("it has stopped: %v; a handler was added: %v", i.IsStopped(), err)
		}
		w.create(pod("a", "q", "n1", nil))
		expectTold(t, typed, "")
		expectTold(t, metadata, "add a/q")
		// The next use reads what is held, with its own indexes.
		index(t, c)
		var list corev1.PodList
		if err := c.List(ctx, &list, client.MatchingFields{"node": "n1"}); err != nil || len(list.Items) != 2 {
			t.Errorf("%v, %v", namesOf(list.Items), err)
		}
		if asked := w.asked(); len(asked) > 0 {
			t.Errorf("asked for %v", asked)
		}
		for _, obj := range []client.Object{&corev1.Pod{}, anObject(podMetadata)} {
			if err := c.RemoveInformer(ctx, obj); err != nil {
				t.Fatal(err)
			}
		}
		w.create(pod("a", "r", "n1", nil))
		expectTold(t, metadata, "")
		if err := c.Get(ctx, keyed("a", "r"), anObject(podMetadata)); err != nil {
			t.Error(err)
		}
		if asked := w.asked(); len(asked) == 0 {
			t.Error("the informer has gone on")
		}
	})
}

func TestMetadataThatCannotBeMadeOfObjectsHasItsOwnInformer(t *testing.T) {
	for name, opts := range map[string]cache.Options{
		"a transform": {DefaultTransform: func(obj any) (any, error) { return obj, nil }},
		"asked first": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.create(pod("a", "p", "n1", nil))
				c, end := w.run(ctrlruntime.NewCache, opts)
				defer end()
				forms := []client.Object{&corev1.Pod{}, anObject(podMetadata)}
				if name == "asked first" {
					slices.Reverse(forms)
				}
				for _, obj := range forms {
					if err := c.Get(context.Background(), keyed("a", "p"), obj); err != nil {
						t.Error(err)
					}
					if asked := w.asked(); len(asked) == 0 {
						t.Errorf("%T was not asked for", obj)
					}
				}
			})
		})
	}
}

// Typed objects and their metadata take at most 5 % more memory than typed objects.
func TestMetadataOfWhatIsHeldTakesNoMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const pods = 2000
		for n := range pods {
			p := pod(fmt.Sprint("ns", n%10), fmt.Sprint("p", n), fmt.Sprint("n", n%50), map[string]string{"app": fmt.Sprint("app-", n)})
			for k := range 8 {
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: fmt.Sprint("c", n, k), Image: fmt.Sprint("registry/image:", n, k)})
			}
			w.create(p)
		}
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		ctx := context.Background()
		empty, _ := memory()
		if _, err := c.GetInformer(ctx, &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		typed, goroutines := memory()
		if _, err := c.GetInformer(ctx, anObject(podMetadata)); err != nil {
			t.Fatal(err)
		}
		readAllMetadata(t, c, pods)
		both, after := memory()
		t.Logf("typed %d bytes, with metadata %d more", typed-empty, int64(both)-int64(typed))
		if both > typed && both-typed > (typed-empty)/20 {
			t.Errorf("typed objects take %d bytes, their metadata %d", typed-empty, both-typed)
		}
		if after != goroutines {
			t.Errorf("%d goroutines, %d before", after, goroutines)
		}
		runtime.KeepAlive(c)
	})
}

func readAllMetadata(t *testing.T, c cache.Cache, want int) {
	t.Helper()
	list := metadataList()
	if err := c.List(context.Background(), list); err != nil || len(list.Items) != want {
		t.Fatalf("%d, %v", len(list.Items), err)
	}
}
