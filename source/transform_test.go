package source_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/testallocs"
	"github.com/kinglet-go/kinglet/internal/testpods"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/source/internal/testread"
	"github.com/kinglet-go/kinglet/source/sourcetest"
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
	static := sourcetest.NewStatic(testpods.New("a", "n1", "i"), testpods.New("fails", "n1", "i"), testpods.New("nil", "n1", "i"), testpods.New("panics", "n1", "i"))
	src := source.Map(static, toImage)
	check := func(it source.Item[*image]) {
		t.Helper()
		ie, broken := errtype.As[*source.ItemError](it.Err)
		switch it.Key.Name {
		case "a":
			if broken || it.Object.name != "i" {
				t.Errorf("%+v", it)
			}
		case "fails", "panics":
			if !broken || ie.Stage != source.StageTransform || ie.Key != it.Key || ie.ResourceVersion == "" || !errors.Is(it.Err, errTransform) {
				t.Errorf("%+v", it)
			}
		case "nil":
			if !broken || ie.Stage != source.StageTransform || it.Object != nil {
				t.Errorf("%+v", it)
			}
		default:
			t.Errorf("%+v", it)
		}
	}
	for range 2 {
		got, err := testread.List(t, src, source.ListRequest[*image]{})
		if err != nil || len(got.Items) != 4 || got.Version != static.ResourceVersion() {
			t.Fatalf("%d items: %v", len(got.Items), err)
		}
		for _, it := range got.Items {
			check(it)
		}
	}
	events, err := testread.WatchSome(t.Context(), src, source.WatchRequest[*image]{SendInitialEvents: true}, 5)
	if err != testread.ErrEnough || len(events) != 5 || !events[4].InitialEventsEnd || events[4].ResourceVersion != static.ResourceVersion() {
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
	source.Source[*corev1.Pod]
	list  source.ListRequest[*corev1.Pod]
	watch source.WatchRequest[*corev1.Pod]
}

func (s *spy) List(ctx context.Context, req source.ListRequest[*corev1.Pod], yield func(source.Page[*corev1.Pod]) error) error {
	s.list = req
	return s.Source.List(ctx, req, yield)
}

func (s *spy) Watch(ctx context.Context, req source.WatchRequest[*corev1.Pod], yield func([]source.Event[*corev1.Pod]) error) error {
	s.watch = req
	return testread.ErrEnough
}

func (s *spy) Traits() source.Traits[*corev1.Pod] {
	return source.Traits[*corev1.Pod]{NoWatchList: true}
}

func TestStagesPassOnWhatIsAskedButNotWhatIsHeld(t *testing.T) {
	s := &spy{Source: sourcetest.NewStatic[*corev1.Pod]()}
	held := func(store.Key) (*corev1.Pod, store.Memo, bool) { return nil, nil, false }
	same := func(p *corev1.Pod) (*corev1.Pod, error) { return p, nil }
	for name, src := range map[string]source.Source[*corev1.Pod]{"Map": source.Map[*corev1.Pod](s, same), "WithKeyFunc": source.WithKeyFunc[*corev1.Pod](s, source.ObjectKey)} {
		if err := src.List(t.Context(), source.ListRequest[*corev1.Pod]{ResourceVersion: "1", NotOlderThan: true, Limit: 3, Held: held}, func(source.Page[*corev1.Pod]) error { return nil }); err != nil {
			t.Error(err)
		}
		if s.list.Held != nil || s.list.ResourceVersion != "1" || !s.list.NotOlderThan || s.list.Limit != 3 {
			t.Errorf("%s asked to list %+v", name, s.list)
		}
		err := src.Watch(t.Context(), source.WatchRequest[*corev1.Pod]{ResourceVersion: "1", SendInitialEvents: true, Timeout: 5, Held: held}, nil)
		if err != testread.ErrEnough || s.watch.Held != nil || s.watch.ResourceVersion != "1" || !s.watch.SendInitialEvents || s.watch.Timeout != 5 {
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
		return store.Key{Namespace: "c", Name: p.Spec.NodeName + "." + p.Name}, nil
	}
	static := sourcetest.NewStatic(testpods.New("a", "n1", "i"), testpods.New("fails", "n1", "i"), testpods.New("panics", "n1", "i"), testpods.New("", "n1", "i"))
	src := source.WithKeyFunc(static, byNode)
	got, err := testread.List(t, src, source.ListRequest[*corev1.Pod]{})
	if err != nil {
		t.Fatal(err)
	}
	events, err := testread.WatchSome(t.Context(), src, source.WatchRequest[*corev1.Pod]{SendInitialEvents: true}, 5)
	if err != testread.ErrEnough {
		t.Fatal(err)
	}
	var items []source.Item[*corev1.Pod]
	for _, e := range events[:4] {
		items = append(items, e.Item)
	}
	for _, items := range [][]source.Item[*corev1.Pod]{got.Items, items} {
		named := map[string]source.Item[*corev1.Pod]{}
		for _, it := range items {
			if ie, ok := errtype.As[*source.ItemError](it.Err); ok {
				if ie.Stage != source.StageKey || it.Key != (store.Key{}) || it.Object != nil {
					t.Errorf("%+v", it)
				}
				named[ie.Key.Name] = it
			} else {
				named[it.Object.Name] = it
			}
		}
		if len(named) != 4 || named["a"].Key != (store.Key{Namespace: "c", Name: "n1.a"}) || !errors.Is(named["fails"].Err, errKey) || !errors.Is(named["panics"].Err, errKey) {
			t.Errorf("%+v", named)
		}
	}
	if src.String() != static.String() {
		t.Errorf("it is called %s", src)
	}
}

func TestObjectKeyDoesNotAllocate(t *testing.T) {
	p := testpods.New("a", "n1", "i")
	if n := testallocs.Least(100, func() {
		if key, err := source.ObjectKey(p); err != nil || key.Name != "a" {
			t.Error(key, err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if _, err := source.ObjectKey(&image{}); err == nil {
		t.Error("something without metadata has a key")
	}
	if _, err := source.ObjectKey(testpods.New("", "n1", "i")); err == nil {
		t.Error("an object without a name has a key")
	}
	if key, err := source.ObjectKey(runtime.Object(p)); err != nil || key != (store.Key{Namespace: "ns", Name: "a"}) {
		t.Errorf("through an interface: %v %v", key, err)
	}
	if key, err := source.ObjectKey[metav1.ObjectMetaAccessor](p); err != nil || key != (store.Key{Namespace: "ns", Name: "a"}) {
		t.Errorf("through an accessor: %v %v", key, err)
	}
}
