package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// writer is a client of NewClient over a cache, in a world whose watches stand still.
type writer struct {
	*world
	client.Client
	cache cache.Cache
}

// withClient runs a cache, and stops the watches once it has informers of config maps
// in the given forms.
func (w *world) withClient(o ctrlruntime.Options, opts cache.Options, forms ...string) (*writer, func()) {
	w.t.Helper()
	c, end := w.run(o.NewCache, opts)
	cl, err := o.NewClient(w.config(), client.Options{
		Scheme: scheme.Scheme, Mapper: mapper(), Cache: &client.CacheOptions{Reader: c, Unstructured: true},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	r := &writer{world: w, Client: cl, cache: c}
	for _, form := range forms {
		if _, err := c.GetInformer(context.Background(), object(form, "", "")); err != nil {
			w.t.Fatal(err)
		}
	}
	synctest.Wait()
	w.server.Hold()
	return r, end
}

// The forms of a config map.
var allForms = []string{"typed", "unstructured", "metadata"}

func object(form, namespace, name string) client.Object {
	var obj client.Object
	switch form {
	case "typed":
		obj = &corev1.ConfigMap{}
	case "unstructured":
		obj = &unstructured.Unstructured{}
		obj.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	case "metadata":
		obj = &metav1.PartialObjectMetadata{}
		obj.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

func list(form string) client.ObjectList {
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMapList")
	switch form {
	case "unstructured":
		l := &unstructured.UnstructuredList{}
		l.SetGroupVersionKind(gvk)
		return l
	case "metadata":
		l := &metav1.PartialObjectMetadataList{}
		l.SetGroupVersionKind(gvk)
		return l
	}
	return &corev1.ConfigMapList{}
}

// reads returns what reads of a form show of a config map: its label x, with what Get and
// List agree on, or "absent". It reports how long they waited.
func (w *writer) reads(form, namespace, name string, opts ...client.ListOption) (x string, waited time.Duration) {
	w.t.Helper()
	began := time.Now()
	obj, of := object(form, "", ""), "absent"
	switch err := w.Get(context.Background(), keyed(namespace, name), obj); {
	case err == nil:
		of = obj.GetLabels()["x"]
	case !apierrors.IsNotFound(err):
		w.t.Errorf("Get of %s: %v", form, err)
	}
	l, listed := list(form), "absent"
	if err := w.List(context.Background(), l, append(opts, client.InNamespace(namespace))...); err != nil {
		w.t.Errorf("List of %s: %v", form, err)
	}
	each(l, func(obj client.Object) {
		if obj.GetName() == name {
			listed = obj.GetLabels()["x"]
		}
	})
	if of != listed {
		w.t.Errorf("%s of %s: Get shows %q, and List %q", name, form, of, listed)
	}
	return of, time.Since(began)
}

func each(l client.ObjectList, do func(client.Object)) {
	switch l := l.(type) {
	case *corev1.ConfigMapList:
		for i := range l.Items {
			do(&l.Items[i])
		}
	case *unstructured.UnstructuredList:
		for i := range l.Items {
			do(&l.Items[i])
		}
	case *metav1.PartialObjectMetadataList:
		for i := range l.Items {
			do(&l.Items[i])
		}
	}
}

// shows fails unless reads of a form show a label x of ns/a, at once.
func (w *writer) shows(after, form, want string) {
	w.t.Helper()
	if x, waited := w.reads(form, "ns", "a"); x != want || waited != 0 {
		w.t.Errorf("%s: %s shows %q after %v, want %q at once", after, form, x, waited, want)
	}
}

func labelled(obj client.Object, x string) client.Object {
	obj.SetLabels(map[string]string{"x": x})
	return obj
}

// slim is a transform that leaves out what no reader needs: the UID, and the mark for deletion.
func slim(obj any) (any, error) {
	m := obj.(metav1.Object)
	m.SetUID("")
	m.SetDeletionTimestamp(nil)
	return obj, nil
}

func TestWhatAClientWroteIsInEveryFollowingReadAtOnce(t *testing.T) {
	transforms := map[string]toolscache.TransformFunc{"": nil, " slim": slim}
	// The forms that can be read: protobuf cannot be read into unstructured objects.
	for writes, reads := range map[string][]string{"typed": {"typed", "metadata"}, "unstructured": allForms} {
		for _, path := range []string{
			"", "/k8s/clusters/c-1", "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy", "/api/v1/namespaces/vc/services/https:vc:443/proxy/",
		} {
			for name, transform := range transforms {
				t.Run(writes+name+path, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { clientWrites(t, path, writes, reads, transform) })
				})
			}
		}
	}
}

func clientWrites(t *testing.T, path, writes string, reads []string, transform toolscache.TransformFunc) {
	world := newWorld(t)
	world.path = path
	w, end := world.withClient(ctrlruntime.Options{}, cache.Options{DefaultTransform: transform}, reads...)
	defer end()
	ctx := context.Background()
	show := func(after, want string) {
		t.Helper()
		for _, form := range reads {
			w.shows(after, form, want)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	obj := labelled(object(writes, "ns", "a"), "created")
	must(w.Create(ctx, obj))
	show("Create", "created")
	must(w.Update(ctx, labelled(obj, "updated")))
	show("Update", "updated")
	before := obj.DeepCopyObject().(client.Object)
	must(w.Patch(ctx, labelled(obj, "patched"), client.MergeFrom(before)))
	show("Patch", "patched")
	must(w.Apply(ctx, corev1ac.ConfigMap("a", "ns").WithLabels(map[string]string{"x": "applied"}), client.FieldOwner("me")))
	if writes == "typed" {
		show("Apply", "applied")
	}
	obj = object(writes, "ns", "a")
	must(w.Get(ctx, keyed("ns", "a"), obj))
	obj.SetFinalizers([]string{"example.com/f"})
	must(w.Update(ctx, labelled(obj, "final")))
	must(w.Delete(ctx, obj))
	for _, form := range reads {
		marked := object(form, "ns", "a")
		if err := w.Get(ctx, keyed("ns", "a"), marked); err != nil || transform == nil && marked.GetDeletionTimestamp() == nil {
			t.Errorf("%s is not marked for deletion: %v", form, err)
		}
	}
	must(w.Get(ctx, keyed("ns", "a"), obj))
	obj.SetFinalizers(nil)
	must(w.Update(ctx, obj))
	show("the last finalizer is gone", "absent")
	must(w.Create(ctx, labelled(object(writes, "ns", "a"), "again")))
	show("another one", "again")
	must(w.Delete(ctx, object(writes, "ns", "a")))
	show("Delete", "absent")
	w.server.Release()
	synctest.Wait()
	show("the watch has come", "absent")
}

// behindBy releases the watches after a time.
func (w *writer) behindBy(lag time.Duration) {
	w.t.Helper()
	go func() {
		testbubble.Pass(lag)
		w.server.Release()
	}()
}

func TestReadsOfAFormThatCannotReadTheAnswerWaitForTheWriteAndNoOtherReadDoes(t *testing.T) {
	for name, c := range map[string]struct{ writes, reads string }{
		"protobuf for unstructured": {"typed", "unstructured"},
		"metadata for typed":        {"metadata", "typed"},
		"metadata for unstructured": {"metadata", "unstructured"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.create(configMap("ns", "a", map[string]string{"x": "before"}), configMap("ns", "b", nil), configMap("other", "c", nil))
				r, end := w.withClient(ctrlruntime.Options{}, cache.Options{}, c.reads)
				defer end()
				ctx := context.Background()
				patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"x":"after"}}}`))
				if err := r.Patch(ctx, object(c.writes, "ns", "a"), patch); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if err := r.Get(ctx, keyed("ns", "b"), object(c.reads, "", "")); err != nil {
					t.Error(err)
				}
				if err := r.List(ctx, list(c.reads), client.InNamespace("other")); err != nil {
					t.Error(err)
				}
				if waited := time.Since(began); waited != 0 {
					t.Errorf("reads of what was not written waited for %v", waited)
				}
				r.behindBy(3 * time.Second)
				if x, waited := r.reads(c.reads, "ns", "a"); x != "after" || waited != 3*time.Second {
					t.Errorf("reads show %q after %v", x, waited)
				}
				if x, waited := r.reads(c.reads, "ns", "a"); x != "after" || waited != 0 {
					t.Errorf("then reads show %q after %v", x, waited)
				}
				// The answer to a delete has a UID, which works for every form.
				w.server.Hold()
				if err := r.Delete(ctx, object(c.writes, "ns", "a")); err != nil {
					t.Fatal(err)
				}
				r.shows("Delete", c.reads, "absent")
			})
		})
	}
}

func TestAWaitForAWriteIsBoundedAndItsErrorNamesKindAndVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("ns", "a", nil))
		r, end := w.withClient(ctrlruntime.Options{}, cache.Options{}, "unstructured")
		defer end()
		ctx := context.Background()
		obj := &corev1.ConfigMap{}
		if err := r.Get(ctx, keyed("ns", "a"), obj); err == nil {
			t.Log("typed reads make an informer")
		}
		written := configMap("ns", "new", nil)
		if err := r.Create(ctx, written); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func() error{
			func() error { return r.Get(ctx, keyed("ns", "new"), object("unstructured", "", "")) },
			func() error { return r.List(ctx, list("unstructured")) },
		} {
			began := time.Now()
			err := read()
			var not *kinglet.WriteNotSeenError
			if !errors.As(err, &not) || not.ResourceVersion != written.ResourceVersion || !strings.Contains(err.Error(), "ConfigMap") || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
			if waited := time.Since(began); waited != 10*time.Second {
				t.Errorf("it waited for %v", waited)
			}
		}
		if err := r.List(ctx, list("unstructured"), client.DisableReadYourWritesConsistency); err != nil {
			t.Errorf("a read that does not want to wait: %v", err)
		}
		testbubble.Pass(2 * time.Minute)
		began := time.Now()
		if err := r.List(ctx, list("unstructured")); err != nil || time.Since(began) != 0 {
			t.Errorf("two minutes later: %v after %v", err, time.Since(began))
		}
	})
}

func TestWritesOutsideOfTheCacheAreNotShownAndStallNoRead(t *testing.T) {
	mine := cache.Config{LabelSelector: labels.SelectorFromSet(labels.Set{"mine": "yes"})}
	for name, opts := range map[string]cache.Options{
		"label selector":      {DefaultLabelSelector: mine.LabelSelector},
		"field selector":      {DefaultFieldSelector: fields.OneTermEqualSelector("metadata.name", "a")},
		"several namespaces":  {DefaultNamespaces: map[string]cache.Config{"ns": mine, "two": {}}},
		"one namespace":       {DefaultNamespaces: map[string]cache.Config{"ns": mine}},
		"all other namespace": {DefaultNamespaces: map[string]cache.Config{"ns": mine, "": mine}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, writes := range allForms[:2] {
				for _, reads := range allForms {
					synctest.Test(t, func(t *testing.T) { outside(t, opts, writes, reads) })
				}
			}
		})
	}
}

// outside writes objects that the cache covers and objects that it does not. It covers
// the name a, and the label mine.
func outside(t *testing.T, opts cache.Options, writes, reads string) {
	w := newWorld(t)
	r, end := w.withClient(ctrlruntime.Options{}, opts, reads)
	defer end()
	ctx := context.Background()
	write := func(namespace, name, mine string) client.Object {
		obj := object(writes, namespace, name)
		obj.SetLabels(map[string]string{"x": "1", "mine": mine})
		if err := r.Create(ctx, obj); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	write("ns", "stranger", "no")
	write("foreign", "b", "no")
	if x, waited := r.reads(reads, "ns", "stranger"); x != "absent" || waited != 0 {
		t.Errorf("%s → %s: the stranger is %q after %v", writes, reads, x, waited)
	}
	a := write("ns", "a", "yes")
	if writes == "typed" && reads == "unstructured" {
		w.server.Release()
		synctest.Wait()
	}
	if x, waited := r.reads(reads, "ns", "a"); x != "1" || waited != 0 {
		t.Errorf("%s → %s: a is %q after %v", writes, reads, x, waited)
	}
	if opts.DefaultFieldSelector != nil || writes == "typed" && reads == "unstructured" {
		return
	}
	a.SetLabels(map[string]string{"mine": "no"})
	if err := r.Update(ctx, a); err != nil {
		t.Fatal(err)
	}
	if x, waited := r.reads(reads, "ns", "a"); x != "absent" || waited != 0 {
		t.Errorf("%s → %s: a has left, and is %q after %v", writes, reads, x, waited)
	}
}

func TestAFieldSelectorOfOtherFieldsIsDecidedHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, end := w.run(ctrlruntime.NewCache, cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {Field: fields.OneTermEqualSelector("spec.nodeName", "n1")}}})
		defer end()
		cl, err := ctrlruntime.NewClient(w.server.Config(), client.Options{Scheme: scheme.Scheme, Mapper: mapper(), Cache: &client.CacheOptions{Reader: c}})
		if err != nil {
			t.Fatal(err)
		}
		ctx := context.Background()
		if err := cl.List(ctx, &corev1.PodList{}); err != nil {
			t.Fatal(err)
		}
		w.server.Hold()
		here, there := pod("ns", "here", "n1", nil), pod("ns", "there", "n2", nil)
		for _, p := range []*corev1.Pod{here, there} {
			if err := cl.Create(ctx, p); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(when string, want ...string) {
			t.Helper()
			var pods corev1.PodList
			if err := cl.List(ctx, &pods); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range pods.Items {
				got = append(got, p.Name)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
		expect("created", "here")
		here.Spec.NodeName, there.Spec.NodeName = "n2", "n1"
		for _, p := range []*corev1.Pod{here, there} {
			if err := cl.Update(ctx, p); err != nil {
				t.Fatal(err)
			}
		}
		expect("exchanged", "there")
	})
}

func TestAClientRecordsNothingWithoutKinglet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv("KINGLET", "off")
		w := newWorld(t)
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		cl, err := ctrlruntime.NewClient(w.server.Config(), client.Options{Scheme: scheme.Scheme, Mapper: mapper(), Cache: &client.CacheOptions{Reader: c}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.GetInformer(context.Background(), &corev1.ConfigMap{}); err != nil {
			t.Fatal(err)
		}
		w.server.Hold()
		if err := cl.Create(context.Background(), configMap("ns", "a", nil)); err != nil {
			t.Fatal(err)
		}
		if err := cl.Get(context.Background(), keyed("ns", "a"), &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("controller-runtime's cache shows it: %v", err)
		}
	})
}

func TestAWriteThatDoesNotWantToBeRecordedIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("ns", "a", map[string]string{"x": "before"}))
		r, end := w.withClient(ctrlruntime.Options{}, cache.Options{}, "typed")
		defer end()
		ctx, out := context.Background(), client.DisableReadYourWritesConsistency
		obj := &corev1.ConfigMap{}
		if err := r.Get(ctx, keyed("ns", "a"), obj); err != nil {
			t.Fatal(err)
		}
		if err := r.Update(ctx, labelled(obj, "after"), out); err != nil {
			t.Fatal(err)
		}
		r.shows("Update", "typed", "before")
		if err := r.Delete(ctx, obj, out); err != nil {
			t.Fatal(err)
		}
		r.shows("Delete", "typed", "before")
		if err := r.Create(ctx, configMap("ns", "b", nil), out); err != nil {
			t.Fatal(err)
		}
		if x, _ := r.reads("typed", "ns", "b"); x != "absent" {
			t.Errorf("b is %q", x)
		}
	})
}

// What a program puts into an informer's store, or removes from it, at whatever version, says
// nothing of how far the watch has come.
func TestOwnWritesAreReadWhateverIsWrittenToTheStoreByHand(t *testing.T) {
	for form, opts := range map[string]cache.Options{"typed": {}, "unstructured": {DefaultNamespaces: spaces("ns", "other")}} {
		for name, byHand := range map[string]func(s toolscache.Store, obj client.Object) error{
			"Add":    func(s toolscache.Store, obj client.Object) error { return s.Add(obj) },
			"Update": func(s toolscache.Store, obj client.Object) error { return s.Update(obj) },
			"Delete": func(s toolscache.Store, obj client.Object) error { return s.Delete(obj) },
			"Replace": func(s toolscache.Store, obj client.Object) error {
				return s.Replace([]any{obj}, obj.GetResourceVersion())
			},
			"Bookmark": func(s toolscache.Store, obj client.Object) error { s.Bookmark(obj.GetResourceVersion()); return nil },
		} {
			t.Run(form+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					w.create(configMap("ns", "a", map[string]string{"x": "old"}), configMap("ns", "z", nil), configMap("ns", "gone", nil))
					r, end := w.withClient(ctrlruntime.Options{}, opts, form)
					defer end()
					before := list(form)
					ok(t, r.List(t.Context(), before, client.InNamespace("ns")))
					ok(t, r.Update(t.Context(), labelled(object(form, "ns", "a"), "new")))
					ok(t, r.Delete(t.Context(), configMap("ns", "gone", nil)))
					i, err := r.cache.GetInformer(t.Context(), object(form, "", ""))
					ok(t, err)
					z := object(form, "ns", "z")
					z.SetResourceVersion("9000")
					ok(t, byHand(i.(toolscache.SharedIndexInformer).GetStore(), z))
					r.shows("what was written by hand", form, "new")
					if x, _ := r.reads(form, "ns", "gone"); x != "absent" {
						t.Error("an object that the program has deleted is back")
					}
					after := list(form)
					ok(t, r.List(t.Context(), after, client.InNamespace("ns")))
					if was, is := before.GetResourceVersion(), after.GetResourceVersion(); is != was {
						t.Errorf("the watch is at version %s, and a list says %s", was, is)
					}
				})
			})
		}
	}
}

func TestAListByAFieldWithoutAnIndexFailsInTheSameWordsInEveryForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, end := newWorld(t).run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		for _, form := range allForms {
			err := c.List(t.Context(), list(form), client.MatchingFields{"node": "n1"})
			if err == nil || err.Error() != "Index with name field:node does not exist" { // as controller-runtime's
				t.Errorf("%s: %v", form, err)
			}
		}
	})
}
