package ctrlruntime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// mine selects the objects that are held whole.
var mine = labels.SelectorFromSet(labels.Set{"mine": "yes"})

func wholeOptions() ctrlruntime.Options {
	return ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{&corev1.ConfigMap{}: {Whole: mine}}}
}

func TestWhatGetReadsOnDemandIsKeptWhileTheMetadataHasItsVersion(t *testing.T) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	for name, example := range map[string]client.Object{"typed": &corev1.ConfigMap{}, "unstructured": u} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.create(configMap("a", "one", nil), configMap("a", "two", nil))
				opts := ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{example: {Whole: labels.Nothing(), OnDemand: 1 << 20}}}
				c, end := w.run(opts.NewCache, cache.Options{})
				defer end()
				expect := func(name, data string, gets int) {
					t.Helper()
					into := example.DeepCopyObject().(client.Object)
					if err := c.Get(context.Background(), keyed("a", name), into); err != nil {
						t.Fatal(err)
					}
					cm := &corev1.ConfigMap{}
					if u, ok := into.(*unstructured.Unstructured); !ok {
						cm = into.(*corev1.ConfigMap)
					} else if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, cm); err != nil {
						t.Fatal(err)
					} else {
						u.Object["data"].(map[string]any)["a"] = "written to"
					}
					if cm.Data["a"] != data || cm.Kind != "ConfigMap" || source.IsPartial(cm) {
						t.Errorf("Get %s: %v, want data %q", name, cm, data)
					}
					cm.Data["a"] = "written to"
					w.mu.Lock()
					defer w.mu.Unlock()
					if w.gets != gets {
						t.Errorf("after Get %s the server was asked %d times, want %d", name, w.gets, gets)
					}
				}
				expect("one", "b", 1)
				expect("one", "b", 1)
				expect("two", "b", 2)
				changed := configMap("a", "one", nil)
				changed.Data["a"] = "c"
				w.update(changed)
				synctest.Wait()
				expect("one", "c", 3)
				expect("one", "c", 3)
				expect("two", "b", 3)
				// A server that is restored has another content under the same version.
				revision := w.storage.Revision()
				changed.Data["a"] = "d"
				w.update(changed)
				synctest.Wait()
				expect("one", "d", 4)
				if err := w.storage.Restore(revision); err != nil {
					t.Fatal(err)
				}
				w.server.Disconnect()
				testbubble.Pass(10 * time.Minute)
				changed.Data["a"] = "e"
				w.update(changed)
				synctest.Wait()
				expect("one", "e", 5)
				expect("one", "e", 5)
				// The Transform of a namespace may change with its settings.
				if err := ctrlruntime.SetNamespaces(context.Background(), c, example, map[string]cache.Config{"a": {}}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				expect("one", "e", 6)
			})
		})
	}
}

// The base came from the cache as well. Annotations are not held.
func TestAnObjectThatIsNotWholeIsPatchedHoweverItIsChanged(t *testing.T) {
	for change, c := range map[string]struct {
		change func(obj client.Object)
		want   string // what the server has then
	}{
		"an annotation is set in the map": {func(obj client.Object) {
			all := obj.GetAnnotations()
			all["a"] = "b"
			obj.SetAnnotations(all)
		}, "map[a:b theirs:1] map[l:1] []"},
		"an annotation is set by a new map": {func(obj client.Object) { obj.SetAnnotations(map[string]string{"a": "b"}) }, "map[a:b theirs:1] map[l:1] []"},
		"a label is set":                    {func(obj client.Object) { obj.SetLabels(map[string]string{"a": "b"}) }, "map[theirs:1] map[a:b] []"},
		"a finalizer is added":              {func(obj client.Object) { controllerutil.AddFinalizer(obj, "a.b/c") }, "map[theirs:1] map[l:1] [a.b/c]"},
	} {
		for _, form := range []string{"typed", "unstructured"} {
			for kind, from := range map[string]func(client.Object) client.Patch{
				"merge": client.MergeFrom,
				"locked": func(obj client.Object) client.Patch {
					return client.MergeFromWithOptions(obj, client.MergeFromWithOptimisticLock{})
				},
				"strategic": func(obj client.Object) client.Patch { return client.StrategicMergeFrom(obj) },
			} {
				if kind == "strategic" && form == "unstructured" {
					continue // there is none
				}
				t.Run(change+"/"+form+"/"+kind, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						w := newWorld(t)
						cm := configMap("ns", "a", map[string]string{"l": "1"})
						cm.Annotations = map[string]string{"theirs": "1"}
						w.create(cm)
						by := map[client.Object]ctrlruntime.ByObject{object(form, "", ""): {Keep: []string{"immutable"}}}
						r, end := w.withClient(ctrlruntime.Options{ByObject: by}, cache.Options{})
						defer end()
						obj, whole := object(form, "", ""), object(form, "ns", "a")
						if err := r.Get(context.Background(), keyed("ns", "a"), obj); err != nil {
							t.Fatal(err)
						}
						base := obj.DeepCopyObject().(client.Object)
						whole.SetResourceVersion(obj.GetResourceVersion())
						c.change(obj)
						var refused *ctrlruntime.NotWholeError
						if err := r.Patch(context.Background(), base.DeepCopyObject().(client.Object), from(whole)); !errors.As(err, &refused) {
							t.Errorf("the difference from a whole object: %v", err)
						}
						if err := r.Patch(context.Background(), obj, from(base)); err != nil || source.IsPartial(obj) {
							t.Errorf("%v; patched: %v", err, obj)
						}
						now, _ := w.storage.List(corev1.Resource("configmaps"))
						m := now[0].(*corev1.ConfigMap)
						if got := fmt.Sprint(m.Annotations, m.Labels, m.Finalizers); got != c.want || m.Data["a"] != "b" {
							t.Errorf("the server has %s and %v, want %s", got, m.Data, c.want)
						}
					})
				})
			}
		}
	}
}

// What a Transform of before has made is not kept, whenever its read began and ended.
func TestAReadOnDemandThatANewTransformOvertakesIsNotKept(t *testing.T) {
	for name, change := range map[string]time.Duration{"before the read": 0, "during the read": 5 * time.Second, "after the read": 15 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				storage := apiserver.NewStorage(apiserver.ConfigMaps)
				w := &world{t: t, requests: map[string]int{}, storage: storage}
				w.server = apiserver.New(storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
					if r.Verb == "get" {
						return &apiserver.Fault{Delay: 10 * time.Second}
					}
					return nil
				}})
				defer w.server.Close()
				w.create(configMap("ns", "a", nil))
				made := func(by string) map[string]cache.Config {
					return map[string]cache.Config{"ns": {Transform: func(obj any) (any, error) {
						obj.(client.Object).SetAnnotations(map[string]string{"made by": by})
						return obj, nil
					}}}
				}
				opts := ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{&corev1.ConfigMap{}: {Whole: labels.Nothing(), OnDemand: 1 << 20}}}
				c, end := w.run(opts.NewCache, cache.Options{DefaultNamespaces: made("the first")})
				defer end()
				if _, err := c.GetInformer(context.Background(), &corev1.ConfigMap{}); err != nil {
					t.Fatal(err)
				}
				get := func() string {
					var cm corev1.ConfigMap
					if err := c.Get(context.Background(), keyed("ns", "a"), &cm); err != nil {
						t.Error(err)
					}
					return cm.Annotations["made by"]
				}
				first := make(chan string)
				if change > 0 {
					go func() { first <- get() }()
					testbubble.Pass(change)
				} else {
					close(first)
				}
				if change > 10*time.Second {
					<-first
				}
				if err := ctrlruntime.SetNamespaces(context.Background(), c, &corev1.ConfigMap{}, made("the second")); err != nil {
					t.Fatal(err)
				}
				if change == 5*time.Second {
					go get() // it does not share the first read
					<-first
				}
				testbubble.Pass(time.Minute)
				if by := get(); by != "the second" {
					t.Errorf("%s has made what Get returns", by)
				}
			})
		})
	}
}

// The server has an object that the cache's selectors do not select any more, or another one
// under its name: the watch is about to say so, and a Get that asks the server says it now.
func TestWhatGetReadsFromTheServerIsSelected(t *testing.T) {
	byNode := cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Field: fields.OneTermEqualSelector("spec.nodeName", "n1")}}}
	byShard := labels.SelectorFromSet(labels.Set{"shard": "1"})
	shard := func(n string) client.Object { return pod("ns", "a", "n1", map[string]string{"shard": n}) }
	deployment := func(n string) client.Object {
		return &appsv1.Deployment{ObjectMeta: shard(n).(*corev1.Pod).ObjectMeta}
	}
	for _, c := range []struct {
		name          string
		opts          cache.Options
		before, after client.Object
		found         bool
	}{
		{"labels", cache.Options{DefaultLabelSelector: byShard}, shard("1"), shard("2"), false},
		{"labels of the namespace", cache.Options{DefaultNamespaces: map[string]cache.Config{"ns": {LabelSelector: byShard}, "other": {}}}, shard("1"), shard("2"), false},
		{"labels of another namespace", cache.Options{DefaultNamespaces: map[string]cache.Config{"other": {LabelSelector: byShard}, cache.AllNamespaces: {}}}, shard("1"), shard("2"), true},
		{"labels that still match", cache.Options{DefaultLabelSelector: byShard}, shard("1"), pod("ns", "a", "n1", map[string]string{"shard": "1", "x": "2"}), true},
		{"labels of another group's kind", cache.Options{DefaultLabelSelector: byShard}, deployment("1"), deployment("2"), false},
		{"labels of another group's kind that still match", cache.Options{DefaultLabelSelector: byShard}, deployment("1"), deployment("1"), true},
		{"another node", byNode, pod("ns", "a", "n1", nil), pod("ns", "a", "n2", nil), false},
		{"no node yet", byNode, pod("ns", "a", "n1", nil), pod("ns", "a", "", nil), false},
		{"another pod of the node", byNode, pod("ns", "a", "n1", nil), pod("ns", "a", "n1", map[string]string{"x": "2"}), true},
	} {
		gvk, err := apiutil.GVKForObject(c.before, scheme.Scheme)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		for keeps, example := range map[int64]client.Object{0: c.before, 1 << 20: u} {
			t.Run(fmt.Sprintf("%s, %T, keeps %d", c.name, example, keeps), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.storage.Define(deployments)
					w.create(c.before)
					o := ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{example: {Whole: mine, OnDemand: keeps}}}
					got, end := w.run(o.NewCache, c.opts)
					defer end()
					if _, err := got.GetInformer(context.Background(), example); err != nil {
						t.Fatal(err)
					}
					w.mu.Lock()
					w.refuse = func(r *apiserver.Request) error {
						if byName(r) {
							return nil
						}
						return apierrors.NewInternalError(errors.New("the informer is not to see what comes"))
					}
					w.mu.Unlock()
					w.server.Disconnect()
					if _, err := w.storage.Delete(schema.GroupResource{Group: gvk.Group, Resource: strings.ToLower(gvk.Kind) + "s"}, keyed("ns", "a"), nil); err != nil {
						t.Fatal(err)
					}
					w.create(c.after)
					read := example.DeepCopyObject().(client.Object)
					err := got.Get(context.Background(), keyed("ns", "a"), read)
					if c.found && (err != nil || !maps.Equal(read.GetLabels(), c.after.GetLabels()) || read.GetObjectKind().GroupVersionKind() != gvk) {
						t.Errorf("%v, %v", read, err)
					}
					if !c.found && !apierrors.IsNotFound(err) {
						t.Errorf("found %v, %v", read, err)
					}
				})
			})
		}
	}
}

func TestOnDemandNeedsMetadataToReadBy(t *testing.T) {
	for name, by := range map[string]ctrlruntime.ByObject{
		"everything whole": {OnDemand: 1}, "some fields": {Keep: []string{"data"}, Whole: mine, OnDemand: 1}, "negative": {Whole: mine, OnDemand: -1},
	} {
		_, err := ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{&corev1.ConfigMap{}: by}}.NewCache(&rest.Config{}, cache.Options{})
		if err == nil || !strings.Contains(err.Error(), "OnDemand") {
			t.Errorf("%s: %v", name, err)
		}
	}
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
	c, end := w.run(wholeOptions().NewCache, cache.Options{})
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

// The update that removes the last finalizer may change the labels, too: the event that says
// that the object is gone has labels which no event had before.
func TestATypedHandlerIsToldTheEndOfJustWhatItWasToldOf(t *testing.T) {
	yes := map[string]string{"mine": "yes"}
	for _, c := range []struct {
		name         string
		before, last map[string]string
		told         string
	}{
		{"it stops to match", yes, nil, "delete a/x"},
		{"it begins to match", nil, yes, ""},
		{"it still matches", yes, yes, "delete a/x"},
		{"it never matches", nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				cm := configMap("a", "x", c.before)
				cm.Finalizers = []string{"example.com/f"}
				w.create(cm)
				got, end := w.run(wholeOptions().NewCache, cache.Options{})
				defer end()
				typed, metadata := newTold(t, got, &corev1.ConfigMap{}), newTold(t, got, configMapMetadata())
				informer, err := got.GetInformer(context.Background(), &corev1.ConfigMap{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
					if cm, ok := obj.(*corev1.ConfigMap); !ok || source.IsPartial(cm) || cm.Data["a"] != "b" {
						t.Errorf("the end of %v", obj)
					}
				}}); err != nil {
					t.Fatal(err)
				}
				typed.take()
				if _, err := w.storage.Delete(apiserver.ConfigMaps.GroupResource(), keyed("a", "x"), nil); err != nil {
					t.Fatal(err)
				}
				typed.take()
				metadata.take()
				w.update(configMap("a", "x", c.last))
				expectTold(t, typed, c.told)
				expectTold(t, metadata, "delete a/x")
			})
		})
	}
}

func TestAPartialListIsAnErrorIfReadsAreStrict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("a", "mine", map[string]string{"mine": "yes"}), configMap("a", "other", nil))
		opts := wholeOptions()
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

func TestOptionsByObjectThatAreWrongAreErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for want, by := range map[string]map[client.Object]ctrlruntime.ByObject{
			"its metadata":                   {anObject(podMetadata): {Whole: mine}},
			"two entries":                    {&corev1.Pod{}: {Whole: mine}, unstructuredPod(): {Whole: mine}},
			"has Whole and Drop":             {&corev1.Pod{}: {Whole: mine, Drop: []string{"spec"}}},
			`the nearest is "spec.nodeName"`: {&corev1.Pod{}: {Keep: []string{"spec.nodename"}}},
			`needs its "metadata.labels"`:    {&corev1.Pod{}: {Drop: []string{"metadata.labels"}}},
		} {
			if _, _, err := w.start(ctrlruntime.Options{ByObject: by}.NewCache, cache.Options{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
	})
}

// A Transform is called with what is held, and its result is what is read.
func TestATransformGetsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("a", "mine", map[string]string{"mine": "yes"}), configMap("a", "other", nil))
		mark := func(obj any) (any, error) {
			cm := obj.(*corev1.ConfigMap)
			cm.Annotations = map[string]string{"data": cm.Data["a"]}
			return cm, nil
		}
		c, end := w.run(wholeOptions().NewCache, cache.Options{DefaultTransform: mark})
		defer end()
		ctx := context.Background()
		for name, held := range map[string]string{"mine": "b", "other": ""} {
			m, cm := configMapMetadata(), &corev1.ConfigMap{}
			if err := c.Get(ctx, keyed("a", name), m); err != nil || m.GetAnnotations()["data"] != held {
				t.Errorf("the metadata of %s has %v, %v", name, m.GetAnnotations(), err)
			}
			if err := c.Get(ctx, keyed("a", name), cm); err != nil || cm.Annotations["data"] != "b" {
				t.Errorf("%s has %v, %v", name, cm.Annotations, err)
			}
		}
	})
}

// Of a kind with Keep, all reads have what is kept, own writes too, in whatever form the
// program reads it. What is not whole is patched, and not written back.
func TestAnObjectOfWhichSomeIsKeptIsPatchedAndNotWrittenBack(t *testing.T) {
	for _, form := range []string{"typed", "unstructured"} {
		t.Run(form, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { keepsSome(t, form) }) })
	}
}

func keepsSome(t *testing.T, form string) {
	w := newWorld(t)
	cm := configMap("a", "x", map[string]string{"l": "1"})
	cm.Annotations, cm.BinaryData = map[string]string{"an": "1"}, map[string][]byte{"big": []byte("some")}
	w.create(cm)
	opts := ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{object(form, "", ""): {Keep: []string{"data"}}}}
	r, end := w.withClient(opts, cache.Options{}, form, "metadata")
	defer end()
	ctx := context.Background()
	read := func(form string) (obj client.Object, whole *corev1.ConfigMap) {
		t.Helper()
		obj, whole = object(form, "", ""), &corev1.ConfigMap{}
		if err := r.Get(ctx, keyed("a", "x"), obj); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(obj)
		if err == nil {
			err = json.Unmarshal(b, whole)
		}
		if err != nil {
			t.Fatal(err)
		}
		return obj, whole
	}
	obj, held := read(form)
	if held.Data["a"] != "b" || held.BinaryData != nil || held.Annotations["an"] != "" || held.Labels["l"] != "1" || !source.IsPartial(obj) {
		t.Errorf("held is %+v", held)
	}
	if _, m := read("metadata"); m.Annotations["an"] != "1" || source.IsPartial(m) {
		t.Errorf("metadata is %+v", m)
	}
	for verb, write := range map[string]func(client.Object) error{
		"create":            func(obj client.Object) error { return r.Create(ctx, obj) },
		"update":            func(obj client.Object) error { return r.Update(ctx, obj) },
		"update its status": func(obj client.Object) error { return r.Status().Update(ctx, obj) },
		//lint:ignore SA1019 programs still use it
		"apply": func(obj client.Object) error { return r.Patch(ctx, obj, client.Apply, client.FieldOwner("o")) },
	} {
		var refused *ctrlruntime.NotWholeError
		if err := write(obj); !errors.As(err, &refused) || refused.Key != keyed("a", "x") || refused.Kind.Kind != "ConfigMap" || !strings.HasPrefix(verb, refused.Verb) && refused.Verb != "patch" {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if form == "typed" {
		var leftOut *source.LeftOutError
		if err := r.cache.IndexField(ctx, &corev1.ConfigMap{}, "binary", func(obj client.Object) []string {
			return slices.Collect(maps.Keys(obj.(*corev1.ConfigMap).BinaryData))
		}); !errors.As(err, &leftOut) || leftOut.Path != "binaryData" {
			t.Errorf("an index of what is left out: %v", err)
		}
		if err := r.cache.IndexField(ctx, &corev1.ConfigMap{}, "data", func(obj client.Object) []string {
			return slices.Collect(maps.Keys(obj.(*corev1.ConfigMap).Data))
		}); err != nil {
			t.Error(err)
		}
	}
	live := object(form, "a", "x")
	raw, err := client.New(w.server.Config(), client.Options{Scheme: scheme.Scheme, Mapper: mapper()})
	if err == nil {
		err = raw.Get(ctx, keyed("a", "x"), live)
	}
	if err != nil {
		t.Fatal(err)
	}
	var refused *ctrlruntime.NotWholeError
	if err := r.Patch(ctx, obj.DeepCopyObject().(client.Object), client.MergeFrom(live)); !errors.As(err, &refused) {
		t.Errorf("a patch of what a whole object has more: %v", err)
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		if err := r.Apply(ctx, client.ApplyConfigurationFromUnstructured(u.DeepCopy()), client.FieldOwner("o")); !errors.As(err, &refused) {
			t.Errorf("an apply: %v", err)
		}
	}
	if err := r.Patch(ctx, obj.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"1"}}}`))); err != nil {
		t.Errorf("a patch by its bytes: %v", err)
	}
	base := obj.DeepCopyObject().(client.Object)
	obj.SetLabels(map[string]string{"l": "2"})
	if err := r.Patch(ctx, obj, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	if source.IsPartial(obj) || len(obj.GetAnnotations()) != 1 {
		t.Errorf("the patch's answer is not whole: %v", obj)
	}
	obj.SetLabels(map[string]string{"l": "3"})
	if err := r.Update(ctx, obj); err != nil {
		t.Errorf("an update with a whole object: %v", err)
	}
	if obj, held = read(form); held.Labels["l"] != "3" || held.Data["a"] != "b" || held.BinaryData != nil || !source.IsPartial(obj) {
		t.Errorf("after own writes held is %+v", held)
	}
}

// A transform may clear whatever it likes: what it gets in part is no more whole after it.
func TestATransformMakesNothingLookWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("a", "other", nil))
		c, end := w.run(wholeOptions().NewCache, cache.Options{DefaultTransform: func(obj any) (any, error) {
			obj.(client.Object).SetSelfLink("")
			return obj, nil
		}})
		defer end()
		var list corev1.ConfigMapList
		if err := c.List(context.Background(), &list); err != nil || len(list.Items) > 0 {
			t.Errorf("%v, %v", list.Items, err)
		}
		cm := &corev1.ConfigMap{}
		if err := c.Get(context.Background(), keyed("a", "other"), cm); err != nil || cm.Data["a"] != "b" {
			t.Errorf("%v, %v", cm, err)
		}
	})
}

// The entry of metadata holds whichever form is asked for first.
func TestAnEntryOfMetadataIsOfItsOwnInformer(t *testing.T) {
	for _, forms := range [][]string{{"metadata", "typed"}, {"typed", "metadata"}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			cm := configMap("a", "x", nil)
			cm.Annotations = map[string]string{"an": "1"}
			w.create(cm)
			opts := ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{configMapMetadata(): {Drop: []string{"metadata.annotations"}}}}
			c, end := w.run(opts.NewCache, cache.Options{})
			defer end()
			for _, form := range forms {
				obj := object(form, "", "")
				if err := c.Get(context.Background(), keyed("a", "x"), obj); err != nil || (obj.GetAnnotations()["an"] != "") != (form == "typed") {
					t.Errorf("%v, %s: %v, %v", forms, form, obj.GetAnnotations(), err)
				}
			}
		})
	}
}

// An object that is held as metadata takes about what it does in an informer of metadata.
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
		reduced := held(wholeOptions().NewCache, configMapMetadata())
		whole := held(ctrlruntime.NewCache, &corev1.ConfigMap{})
		t.Logf("%d objects: %d bytes as metadata, %d by Whole, %d whole", n, metadata, reduced, whole)
		if reduced > 2*metadata || whole < 10*metadata {
			t.Errorf("%d bytes as metadata, %d by Whole, %d whole", metadata, reduced, whole)
		}
	})
}
