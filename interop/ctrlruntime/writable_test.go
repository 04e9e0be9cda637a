package ctrlruntime

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/testclock"
)

// fullPod returns a pod with something to share in each part.
func fullPod() *corev1.Pod {
	p := pod("a", "p", "n1", map[string]string{"x": "1"})
	p.Finalizers = []string{"f"}
	p.Spec.Containers = []corev1.Container{{Name: "c", Args: []string{"a"}, Env: []corev1.EnvVar{{Name: "e"}}}}
	p.Status.Conditions = []corev1.PodCondition{{Type: "Ready"}}
	return p
}

// sameMap reports whether two maps are the same.
func sameMap(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

func TestWritableCopiesWhatItNamesAndSharesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(fullPod())
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		ctx := context.Background()
		cl, err := client.New(w.server.Config(), client.Options{Mapper: mapper(), Scheme: scheme.Scheme, Cache: &client.CacheOptions{Reader: c}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := ctrlruntime.For[*corev1.Pod](c)
		if err != nil {
			t.Fatal(err)
		}
		var got corev1.Pod
		// Through a client, which passes its options on to the cache.
		if err := cl.Get(ctx, keyed("a", "p"), &got, ctrlruntime.Writable("status"), ctrlruntime.Writable("metadata.finalizers", "spec.containers.env")); err != nil {
			t.Fatal(err)
		}
		held, _ := v.Get(keyed("a", "p"))
		want := held.DeepCopy()
		want.APIVersion, want.Kind = "v1", "Pod"
		if !reflect.DeepEqual(&got, want) {
			t.Errorf("got %+v", got)
		}
		check := func(got *corev1.Pod) {
			t.Helper()
			if !sameMap(got.Labels, held.Labels) || &got.Spec.Containers[0].Args[0] != &held.Spec.Containers[0].Args[0] {
				t.Error("it copies what is not to be written")
			}
			if &got.Status.Conditions[0] == &held.Status.Conditions[0] || &got.Finalizers[0] == &held.Finalizers[0] ||
				&got.Spec.Containers[0] == &held.Spec.Containers[0] || &got.Spec.Containers[0].Env[0] == &held.Spec.Containers[0].Env[0] {
				t.Error("it shares what is to be written, or what leads there")
			}
		}
		check(&got)
		var list corev1.PodList
		if err := cl.List(ctx, &list, ctrlruntime.Writable("status", "metadata.finalizers", "spec.containers.env"), client.UnsafeDisableDeepCopy); err != nil || len(list.Items) != 1 {
			t.Fatal(err, list.Items)
		}
		check(&list.Items[0])
		if list.Items[0].Kind != "Pod" {
			t.Errorf("the kind is %q", list.Items[0].Kind)
		}
	})
}

func TestWritableWorksForMetadataAndUnstructuredObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(fullPod())
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		ctx := context.Background()
		meta := func(opts ...client.GetOption) *metav1.PartialObjectMetadata {
			m := &metav1.PartialObjectMetadata{}
			m.SetGroupVersionKind(podKind)
			if err := c.Get(ctx, keyed("a", "p"), m, opts...); err != nil {
				t.Fatal(err)
			}
			return m
		}
		a, b := meta(ctrlruntime.Writable("metadata.finalizers")), meta(ctrlruntime.Writable("metadata.finalizers"))
		if !sameMap(a.Labels, b.Labels) || &a.Finalizers[0] == &b.Finalizers[0] || a.Kind != "Pod" {
			t.Errorf("metadata: %+v", a)
		}
		untyped := func(opts ...client.GetOption) map[string]any {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(podKind)
			if err := c.Get(ctx, keyed("a", "p"), u, opts...); err != nil {
				t.Fatal(err)
			}
			return u.Object
		}
		whole := untyped()
		x, y := untyped(ctrlruntime.Writable("spec.containers.env", "status.nothing")), untyped(ctrlruntime.Writable("spec.containers.env"))
		if !reflect.DeepEqual(whole, x) {
			t.Errorf("unstructured: %v, want %v", x, whole)
		}
		container := func(o map[string]any) map[string]any {
			return o["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)
		}
		if sameMap(x, y) || sameMap(x["spec"], y["spec"]) || sameMap(container(x), container(y)) ||
			&container(x)["env"].([]any)[0] == &container(y)["env"].([]any)[0] {
			t.Error("unstructured: it shares what is to be written, or what leads there")
		}
		if !sameMap(x["metadata"], y["metadata"]) || &container(x)["args"].([]any)[0] != &container(y)["args"].([]any)[0] {
			t.Error("unstructured: it copies what is not to be written")
		}
	})
}

func TestAPathThatATypeDoesNotHaveNamesTheClosestField(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(fullPod())
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		ctx := context.Background()
		for want, opt := range map[string]ctrlruntime.ReadOption{
			`cannot make "statu" of v1.Pod writable: no field "statu"; the nearest is "status"`: ctrlruntime.Writable("metadata", "statu"),
			`no field "x" in "metadata.labels"; the nearest is "metadata.labels"`:               ctrlruntime.Writable("metadata.labels.x"),
			`empty name`: ctrlruntime.Writable("status."),
			`no field`:   ctrlruntime.Writable(),
		} {
			var wrong *ctrlruntime.WritableError
			if err := c.Get(ctx, keyed("a", "p"), &corev1.Pod{}, opt); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
				t.Errorf("Get: %v, want %s", err, want)
			}
			if err := c.List(ctx, &corev1.PodList{}, opt); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
				t.Errorf("List: %v, want %s", err, want)
			}
		}
	})
}

// compared waits until the detector has checked all objects. The object that it creates
// puts the check after everything so far: the race detector has nothing to report.
func (w *world) compared(name string) {
	synctest.Wait()
	w.create(pod("a", name, "n1", nil))
	testclock.Elapse(3 * time.Second)
}

func TestAWriteOutsideOfWhatIsWritableIsReportedWithKeyAndPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(fullPod())
		found := make(chan *kinglet.MutationError, 10)
		options := ctrlruntime.Options{
			MutationDetection: kinglet.MutationDetection{All: true},
			OnMutation: func(kind schema.GroupVersionKind, err *kinglet.MutationError) {
				if kind != podKind {
					t.Errorf("reported of %v", kind)
				}
				found <- err
			},
		}
		c, end := w.run(options.NewCache, cache.Options{})
		defer end()
		var got corev1.Pod
		if err := c.Get(context.Background(), keyed("a", "p"), &got, ctrlruntime.Writable("status", "metadata.finalizers")); err != nil {
			t.Fatal(err)
		}
		got.Status.Conditions[0].Status = "True"
		got.Finalizers[0] = "mine"
		got.Spec.NodeName = "mine"
		w.compared("x")
		if len(found) > 0 {
			t.Fatalf("a write to what is writable: %v", <-found)
		}
		got.Spec.Containers[0].Args[0] = "theirs"
		w.compared("y")
		if len(found) != 1 {
			t.Fatalf("%d writes are reported", len(found))
		}
		if err := <-found; err.Key.String() != "a/p" || err.Path != "spec.containers[0].args[0]" {
			t.Errorf("reported %v", err)
		}
	})
}

func TestWrongMutationDetectionIsAnErrorOfNewCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := ctrlruntime.Options{MutationDetection: kinglet.MutationDetection{Sample: -1}}
		if _, _, err := newWorld(t).start(options.NewCache, cache.Options{}); err == nil || !strings.Contains(err.Error(), "-1") {
			t.Errorf("the error is %v", err)
		}
	})
}
