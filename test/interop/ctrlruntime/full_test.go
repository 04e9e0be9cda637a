package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// mine selects the objects that are held whole.
var mine = labels.SelectorFromSet(labels.Set{"mine": "yes"})

func fullOptions() ctrlruntime.Options {
	return ctrlruntime.Options{Full: map[client.Object]labels.Selector{&corev1.ConfigMap{}: mine}}
}

func configMapMetadata() client.Object {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return m
}

func TestAllMetadataIsHeldAndWholeObjectsOnlyWhereTheyMatch(t *testing.T) {
	for _, first := range []string{"metadata", "typed"} {
		t.Run(first+" first", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { wholeAndMetadata(t, first) }) })
	}
}

func wholeAndMetadata(t *testing.T, first string) {
	w := newWorld(t)
	yes := map[string]string{"mine": "yes"}
	w.create(configMap("a", "mine", yes), configMap("a", "other", nil), configMap("b", "other", map[string]string{"x": "1"}))
	c, end := w.run(fullOptions().NewCache, cache.Options{})
	defer end()
	ctx := context.Background()
	var typed, metadata *told
	if first == "typed" {
		typed = newTold(t, c, &corev1.ConfigMap{})
	}
	metadata = newTold(t, c, configMapMetadata())
	if first != "typed" {
		typed = newTold(t, c, &corev1.ConfigMap{})
	}
	if err := c.IndexField(ctx, &corev1.ConfigMap{}, "a", func(obj client.Object) []string {
		return []string{obj.(*corev1.ConfigMap).Data["a"]}
	}); err != nil {
		t.Fatal(err)
	}
	expectTold(t, typed, "add a/mine")
	expectTold(t, metadata, "add a/mine, add a/other, add b/other")
	if asked := w.asked(); len(asked) != 1 || !strings.Contains(asked[0], `labels ""`) {
		t.Errorf("asked for %v", asked)
	}
	var list corev1.ConfigMapList
	for _, opts := range [][]client.ListOption{{}, {client.InNamespace("a")}, {client.MatchingFields{"a": "b"}}} {
		if err := c.List(ctx, &list, opts...); err != nil || len(list.Items) != 1 || list.Items[0].Data["a"] != "b" {
			t.Errorf("typed list %v: %+v, %v", opts, list.Items, err)
		}
	}
	for _, key := range []client.ObjectKey{keyed("a", "mine"), keyed("a", "other"), keyed("b", "other")} {
		var cm corev1.ConfigMap
		if err := c.Get(ctx, key, &cm); err != nil || cm.Data["a"] != "b" || cm.Kind != "ConfigMap" || cm.Name != key.Name {
			t.Errorf("Get %s: %+v, %v", key, cm, err)
		}
		m := configMapMetadata()
		if err := c.Get(ctx, key, m); err != nil || m.GetName() != key.Name || m.GetUID() == "" {
			t.Errorf("Get of the metadata of %s: %+v, %v", key, m, err)
		}
	}
	if err := c.Get(ctx, keyed("a", "none"), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
		t.Errorf("an object that is not there: %v", err)
	}
	w.mu.Lock()
	if w.gets != 2 {
		t.Errorf("%d objects were read from the server, want the two of which metadata is held", w.gets)
	}
	w.mu.Unlock()
	informer, err := c.GetInformer(ctx, &corev1.ConfigMap{})
	if err != nil {
		t.Fatal(err)
	}
	x := informer.(toolscache.SharedIndexInformer).GetIndexer()
	if _, ok, err := x.GetByKey("a/other"); ok || err != nil || len(x.List()) != 1 || len(x.ListKeys()) != 1 {
		t.Errorf("the store of the typed informer has %v", x.ListKeys())
	}
	v, err := ctrlruntime.For[*corev1.ConfigMap](c)
	if err != nil {
		t.Fatal(err)
	}
	if cm, ok := v.Get(keyed("a", "other")); ok {
		t.Errorf("a view has %v", cm)
	}
	// Objects begin to match, change, and no longer match.
	w.update(configMap("a", "other", yes))
	expectTold(t, typed, "add a/other")
	expectTold(t, metadata, "update a/other")
	w.update(configMap("a", "mine", nil))
	expectTold(t, typed, "delete a/mine")
	expectTold(t, metadata, "update a/mine")
	w.update(configMap("a", "mine", map[string]string{"x": "2"}))
	expectTold(t, typed, "")
	expectTold(t, metadata, "update a/mine")
	if err := c.List(ctx, &list); err != nil || len(list.Items) != 1 || list.Items[0].Name != "other" {
		t.Errorf("typed list: %+v, %v", list.Items, err)
	}
}

func TestAPartialListIsAnErrorIfReadsAreStrict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("a", "mine", map[string]string{"mine": "yes"}), configMap("a", "other", nil))
		opts := fullOptions()
		opts.Implicit = ctrlruntime.RefuseImplicit
		c, end := w.run(opts.NewCache, cache.Options{})
		defer end()
		ctx := context.Background()
		if err := c.IndexField(ctx, &corev1.ConfigMap{}, "a", func(obj client.Object) []string {
			return []string{obj.(*corev1.ConfigMap).Data["a"]}
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.GetInformer(ctx, configMapMetadata()); err != nil {
			t.Fatal(err)
		}
		var list corev1.ConfigMapList
		for _, opts := range [][]client.ListOption{{}, {client.InNamespace("a")}, {client.MatchingFields{"a": "b"}}} {
			var partial *ctrlruntime.PartialError
			if err := c.List(ctx, &list, opts...); !errors.As(err, &partial) || partial.Objects != 1 || partial.Kind.Kind != "ConfigMap" {
				t.Errorf("typed list %v: %v", opts, err)
			}
		}
		for _, opts := range [][]client.ListOption{{client.MatchingLabels{"mine": "yes"}}, {client.MatchingLabels{"mine": "yes"}, client.MatchingFields{"a": "b"}}} {
			if err := c.List(ctx, &list, opts...); err != nil || len(list.Items) != 1 {
				t.Errorf("typed list %v: %v", opts, err)
			}
		}
		all := metadataList()
		all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		if err := c.List(ctx, all); err != nil || len(all.Items) != 2 {
			t.Errorf("metadata: %v, %v", all.Items, err)
		}
	})
}

func TestOptionsFullThatAreWrongAreErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for want, full := range map[string]map[client.Object]labels.Selector{
			"no selector":  {&corev1.Pod{}: nil},
			"its metadata": {anObject(podMetadata): mine},
			"two entries":  {&corev1.Pod{}: mine, unstructuredPod(): mine},
		} {
			if _, _, err := w.start(ctrlruntime.Options{Full: full}.NewCache, cache.Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
	})
}

// A Transform sees whole objects, and applies to whatever is held of them.
func TestATransformIsOfWholeObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("a", "mine", map[string]string{"mine": "yes"}), configMap("a", "other", nil))
		mark := func(obj any) (any, error) {
			cm := obj.(*corev1.ConfigMap)
			cm.Annotations = map[string]string{"data": cm.Data["a"]}
			return cm, nil
		}
		c, end := w.run(fullOptions().NewCache, cache.Options{DefaultTransform: mark})
		defer end()
		ctx := context.Background()
		for _, name := range []string{"mine", "other"} {
			for _, obj := range []client.Object{&corev1.ConfigMap{}, configMapMetadata()} {
				if err := c.Get(ctx, keyed("a", name), obj); err != nil || obj.GetAnnotations()["data"] != "b" {
					t.Errorf("%T %s has %v, %v", obj, name, obj.GetAnnotations(), err)
				}
			}
		}
	})
}

// What is held as metadata takes as much memory as in an informer of metadata.
func TestWhatIsNotHeldWholeTakesTheMemoryOfMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		const n = 500
		for i := range n {
			cm := configMap("a", fmt.Sprint("cm", i), map[string]string{"app": fmt.Sprint("app-", i)})
			cm.Data["blob"] = strings.Repeat(fmt.Sprint(i), 20000/len(fmt.Sprint(i)))
			w.create(cm)
		}
		held := func(newCache cache.NewCacheFunc, obj client.Object) uint64 {
			c, end := w.run(newCache, cache.Options{})
			defer end()
			before, _ := memory()
			if _, err := c.GetInformer(context.Background(), obj); err != nil {
				t.Fatal(err)
			}
			after, _ := memory()
			if c.Get(context.Background(), keyed("a", "cm1"), obj) != nil {
				t.Error("nothing is held")
			}
			return after - before
		}
		metadata := held(ctrlruntime.NewCache, configMapMetadata())
		reduced := held(fullOptions().NewCache, configMapMetadata())
		whole := held(ctrlruntime.NewCache, &corev1.ConfigMap{})
		t.Logf("%d objects: %d bytes as metadata, %d by Full, %d whole", n, metadata, reduced, whole)
		if reduced > 2*metadata || whole < 10*metadata {
			t.Errorf("%d bytes as metadata, %d by Full, %d whole", metadata, reduced, whole)
		}
	})
}
