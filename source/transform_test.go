package source

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/testallocs"
)

// image is something else than a pod: not even an API type.
type image struct{ pod, name string }

var errTransform = errors.New("no image")

func toImage(p *corev1.Pod) (*image, error) {
	switch p.Name {
	case "fails":
		return nil, errTransform
	case "panics":
		panic(errTransform)
	case "nil":
		return nil, nil
	}
	img := &image{pod: p.Name, name: p.Spec.Containers[0].Image}
	// It may do with what it gets as it likes.
	p.Spec.Containers[0].Image = "spoiled"
	return img, nil
}

func TestATransformThatFailsOrPanicsIsOneItemsError(t *testing.T) {
	pods := podList("3", "a", "fails", "nil", "panics")
	src := Map(must(FromListerWatcher[*corev1.Pod](closures{
		list: func(metav1.ListOptions) (runtime.Object, error) { return pods.DeepCopy(), nil },
		watch: func(metav1.ListOptions) (watch.Interface, error) {
			w := watch.NewFakeWithChanSize(len(pods.Items), false)
			for i := range pods.Items {
				w.Add(pods.Items[i].DeepCopy())
			}
			w.Stop()
			return w, nil
		},
	}, Options{Name: "pods"})), toImage)
	check := func(it Item[*image]) {
		t.Helper()
		ie, broken := errtype.As[*ItemError](it.Err)
		if it.Key.Name == "a" {
			if broken || it.Object.name != "i" {
				t.Errorf("%+v", it)
			}
			return
		}
		if !broken || ie.Stage != StageTransform || ie.Key != it.Key || ie.ResourceVersion == "" || it.Object != nil ||
			(it.Key.Name != "nil") != errors.Is(it.Err, errTransform) {
			t.Errorf("%+v", it)
		}
	}
	for range 2 {
		got, err := list(t, src, ListRequest[*image]{})
		if err != nil || len(got.items) != 4 || got.version != "3" {
			t.Fatalf("%d items: %v", len(got.items), err)
		}
		for _, it := range got.items {
			check(it)
		}
	}
	events, err := watchAll(t, src, WatchRequest[*image]{})
	if err != nil || len(events.events) != 4 {
		t.Fatalf("%d events: %v", len(events.events), err)
	}
	for _, e := range events.events {
		check(e.Item)
	}
	if src.String() != "pods" {
		t.Errorf("it is called %s", src)
	}
}

// A check of the store must neither wait for a transform nor run it beside the watch.
func TestAnExactListOfATransformHasIdentitiesAlone(t *testing.T) {
	at := must(FromListerWatcher[*corev1.Pod](closures{list: func(o metav1.ListOptions) (runtime.Object, error) {
		if o.ResourceVersion != "3" || o.ResourceVersionMatch != metav1.ResourceVersionMatchExact || o.FieldSelector != "spec.nodeName=n,metadata.name=a" {
			t.Errorf("asked for %+v", o)
		}
		return podList("3", "a"), nil
	}}, Options{FieldSelector: "spec.nodeName=n"}))
	src := Map(at, func(*corev1.Pod) (*corev1.Pod, error) { panic("it was called") })
	var got listed[*corev1.Pod]
	err := src.List(t.Context(), ListRequest[*corev1.Pod]{ResourceVersion: "3", Exact: true, FieldSelector: "metadata.name=a"}, got.page)
	if err != nil || len(got.items) != 1 || got.items[0] != (Item[*corev1.Pod]{Key: nsName("ns", "a"), UID: "uid-of-pod", ResourceVersion: "100"}) {
		t.Errorf("%+v: %v", got, err)
	}
}

func TestObjectKeyDoesNotAllocate(t *testing.T) {
	p := pod("ns", "a", "1")
	if n := testallocs.Least(100, func() {
		if key, err := ObjectKey(p); err != nil || key.Name != "a" {
			t.Error(key, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if _, err := ObjectKey(&image{}); err == nil {
		t.Error("something without metadata has a key")
	}
	if _, err := ObjectKey(pod("ns", "", "1")); err == nil {
		t.Error("an object without a name has a key")
	}
	if key, err := ObjectKey(runtime.Object(p)); err != nil || key != nsName("ns", "a") {
		t.Errorf("through an interface: %v %v", key, err)
	}
	if key, err := ObjectKey[metav1.ObjectMetaAccessor](p); err != nil || key != nsName("ns", "a") {
		t.Errorf("through an accessor: %v %v", key, err)
	}
}
