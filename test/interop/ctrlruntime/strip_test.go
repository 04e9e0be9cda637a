package ctrlruntime

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// TestManagedFieldsAreStrippedAsControllerRuntimeStripsThem in all forms, in the first
// list and in later versions. Ours are not decoded at all.
func TestManagedFieldsAreStrippedAsControllerRuntimeStripsThem(t *testing.T) {
	for name, make := range map[string]func() client.Object{
		"structured":    func() client.Object { return &corev1.Pod{} },
		"unstructured":  func() client.Object { return anObject(untypedPods) },
		"metadata only": func() client.Object { return anObject(podMetadata) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				managed := func(labels map[string]string) *corev1.Pod {
					p := pod("ns", "p", "n1", labels)
					p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply,
						APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}}
					return p
				}
				w.create(managed(nil))
				opts := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
				newTheirs, theirOpts := cache.New, opts
				if name == "metadata only" {
					// Their metadata informers leave a goroutine behind, so ours without a
					// transform is asked what to expect.
					newTheirs, theirOpts = ctrlruntime.NewCache, cache.Options{}
				}
				theirs, endTheirs := w.run(newTheirs, theirOpts)
				defer endTheirs()
				ours := map[string]cache.Cache{}
				type way struct {
					newCache cache.NewCacheFunc
					opts     cache.Options
				}
				ways := map[string]way{
					"the option":                 {ctrlruntime.Options{StripManagedFields: true}.NewCache, cache.Options{}},
					"their transform":            {ctrlruntime.NewCache, opts},
					"the option and a transform": {ctrlruntime.Options{StripManagedFields: true}.NewCache, cache.Options{DefaultTransform: hasNone(t)}},
					"the option, held in part":   {ctrlruntime.Options{StripManagedFields: true, ByObject: map[client.Object]ctrlruntime.ByObject{anObject(untypedPods): {Whole: labels.Everything()}}}.NewCache, cache.Options{}},
				}
				if name != "metadata only" {
					ways["the option, switched off"] = way{ctrlruntime.Options{StripManagedFields: true}.NewCache, cache.Options{NewInformer: toolscache.NewSharedIndexInformer}}
				}
				for name, way := range ways {
					c, end := w.run(way.newCache, way.opts)
					defer end()
					ours[name] = c
				}
				for step := range 2 {
					want := make()
					if err := theirs.Get(context.Background(), keyed("ns", "p"), want); err != nil {
						t.Fatal(err)
					}
					want.SetManagedFields(nil)
					for way, c := range ours {
						got := make()
						if err := c.Get(context.Background(), keyed("ns", "p"), got); err != nil {
							t.Fatal(err)
						}
						if !reflect.DeepEqual(got, want) || len(got.GetManagedFields()) > 0 || (got.GetLabels() != nil) != (step == 1) {
							t.Errorf("%s, step %d:\n%+v\ncontroller-runtime's\n%+v", way, step, got, want)
						}
					}
					w.update(managed(map[string]string{"a": "b"}))
					synctest.Wait()
				}
			})
		})
	}
}

// hasNone is a transform that expects objects without managed fields.
func hasNone(t *testing.T) func(any) (any, error) {
	return func(obj any) (any, error) {
		if len(obj.(client.Object).GetManagedFields()) > 0 {
			t.Error("a transform is called with managed fields")
		}
		return obj, nil
	}
}
