package source

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/store"
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
	static := NewStatic(pod("ns", "a", ""), pod("ns", "fails", ""), pod("ns", "nil", ""), pod("ns", "panics", ""))
	src := Map(static, toImage)
	check := func(it Item[*image]) {
		t.Helper()
		ie, broken := errors.AsType[*ItemError](it.Err)
		switch it.Key.Name {
		case "a":
			if broken || it.Object.name != "i" {
				t.Errorf("%+v", it)
			}
		case "fails", "panics":
			if !broken || ie.Stage != StageTransform || ie.Key != it.Key || ie.ResourceVersion == "" || !errors.Is(it.Err, errTransform) {
				t.Errorf("%+v", it)
			}
		case "nil":
			if !broken || ie.Stage != StageTransform || it.Object != nil {
				t.Errorf("%+v", it)
			}
		default:
			t.Errorf("%+v", it)
		}
	}
	for range 2 {
		got, err := list(t, src, ListRequest[*image]{})
		if err != nil || len(got.items) != 4 || got.version != static.ResourceVersion() {
			t.Fatalf("%d items: %v", len(got.items), err)
		}
		for _, it := range got.items {
			check(it)
		}
	}
	events, err := watchOnce(t.Context(), src, WatchRequest[*image]{SendInitialEvents: true}, 5)
	if err != errEnough || len(events) != 5 || !events[4].InitialEventsEnd || events[4].ResourceVersion != static.ResourceVersion() {
		t.Fatalf("%d events: %v", len(events), err)
	}
	for _, e := range events[:4] {
		check(e.Item)
	}
	if src.String() != static.String() {
		t.Errorf("it is called %s", src)
	}
}

// spy remembers what it was asked, and says that it can do no watch-lists.
type spy struct {
	Source[*corev1.Pod]
	list  ListRequest[*corev1.Pod]
	watch WatchRequest[*corev1.Pod]
}

func (s *spy) List(ctx context.Context, req ListRequest[*corev1.Pod], yield func(Page[*corev1.Pod]) error) error {
	s.list = req
	return s.Source.List(ctx, req, yield)
}

func (s *spy) Watch(ctx context.Context, req WatchRequest[*corev1.Pod], yield func([]Event[*corev1.Pod]) error) error {
	s.watch = req
	return errEnough
}

func (s *spy) Traits() Traits[*corev1.Pod] { return Traits[*corev1.Pod]{NoWatchList: true} }

func TestStagesPassOnWhatIsAskedButNotWhatIsHeld(t *testing.T) {
	s := &spy{Source: NewStatic[*corev1.Pod]()}
	held := func(store.Key) (*corev1.Pod, store.Memo, bool) { return nil, nil, false }
	same := func(p *corev1.Pod) (*corev1.Pod, error) { return p, nil }
	for name, src := range map[string]Source[*corev1.Pod]{"Map": Map[*corev1.Pod](s, same), "WithKeyFunc": WithKeyFunc[*corev1.Pod](s, ObjectKey)} {
		if err := src.List(t.Context(), ListRequest[*corev1.Pod]{ResourceVersion: "1", NotOlderThan: true, Limit: 3, Held: held}, func(Page[*corev1.Pod]) error { return nil }); err != nil {
			t.Error(err)
		}
		if s.list.Held != nil || s.list.ResourceVersion != "1" || !s.list.NotOlderThan || s.list.Limit != 3 {
			t.Errorf("%s asked to list %+v", name, s.list)
		}
		err := src.Watch(t.Context(), WatchRequest[*corev1.Pod]{ResourceVersion: "1", SendInitialEvents: true, Timeout: 5, Held: held}, nil)
		if err != errEnough || s.watch.Held != nil || s.watch.ResourceVersion != "1" || !s.watch.SendInitialEvents || s.watch.Timeout != 5 {
			t.Errorf("%s asked to watch %+v: %v", name, s.watch, err)
		}
		if !src.Traits().NoWatchList {
			t.Errorf("%s forgets that watch-lists are unsupported", name)
		}
	}
}

func TestAKeyFunctionThatFailsOrPanicsIsOneItemsError(t *testing.T) {
	errKey := errors.New("no node")
	byNode := func(p *corev1.Pod) (store.Key, error) {
		switch p.Name {
		case "fails":
			return store.Key{}, errKey
		case "panics":
			panic(errKey)
		}
		return store.Key{Cluster: "c", Name: p.Spec.NodeName + "." + p.Name}, nil
	}
	static := NewStatic(pod("ns", "a", ""), pod("ns", "fails", ""), pod("ns", "panics", ""), pod("ns", "", ""))
	src := WithKeyFunc(static, byNode)
	got, err := list(t, src, ListRequest[*corev1.Pod]{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := watchOnce(t.Context(), src, WatchRequest[*corev1.Pod]{SendInitialEvents: true}, 5)
	if err != errEnough {
		t.Fatal(err)
	}
	var items []Item[*corev1.Pod]
	for _, e := range events[:4] {
		items = append(items, e.Item)
	}
	for _, items := range [][]Item[*corev1.Pod]{got.items, items} {
		named := map[string]Item[*corev1.Pod]{}
		for _, it := range items {
			if ie, ok := errors.AsType[*ItemError](it.Err); ok {
				if ie.Stage != StageKey || it.Key != (store.Key{}) || it.Object != nil {
					t.Errorf("%+v", it)
				}
				named[ie.Key.Name] = it
			} else {
				named[it.Object.Name] = it
			}
		}
		if len(named) != 4 || named["a"].Key != (store.Key{Cluster: "c", Name: "n1.a"}) || !errors.Is(named["fails"].Err, errKey) || !errors.Is(named["panics"].Err, errKey) {
			t.Errorf("%+v", named)
		}
	}
	if src.String() != static.String() {
		t.Errorf("it is called %s", src)
	}
}

func TestObjectKeyDoesNotAllocate(t *testing.T) {
	p := pod("ns", "a", "1")
	if n := testing.AllocsPerRun(100, func() {
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
