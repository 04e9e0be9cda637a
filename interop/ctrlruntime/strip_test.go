package ctrlruntime

import (
	"context"
	"reflect"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
				ours, endOurs := w.run(ctrlruntime.NewCache, opts)
				defer endOurs()
				for step := range 2 {
					want, got := make(), make()
					for c, into := range map[cache.Cache]client.Object{theirs: want, ours: got} {
						if err := c.Get(context.Background(), keyed("ns", "p"), into); err != nil {
							t.Fatal(err)
						}
					}
					want.SetManagedFields(nil)
					if !reflect.DeepEqual(got, want) || len(got.GetManagedFields()) > 0 || (got.GetLabels() != nil) != (step == 1) {
						t.Errorf("step %d:\n%+v\ncontroller-runtime's\n%+v", step, got, want)
					}
					w.update(managed(map[string]string{"a": "b"}))
					synctest.Wait()
				}
			})
		})
	}
}
