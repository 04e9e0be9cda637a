package source

import (
	"bytes"
	"errors"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

// unstructuredPod is an example that wants pods only.
func unstructuredPod() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	return u
}

// refused is a constructor's error.
func refused[V any](_ V, err error) error { return err }

func TestAnExampleThatContradictsIsRefused(t *testing.T) {
	cfg, gv := serve(t, answer("", nil)), podGVR.GroupVersion()
	otherPod := unstructuredPod()
	otherPod.SetAPIVersion("v2")
	for name, err := range map[string]error{
		"another type, of REST":            refused(FromConfig[*corev1.Pod](cfg, podGVR, Options{Example: &corev1.Node{}})),
		"another type, of a ListerWatcher": refused(FromListerWatcher[*corev1.Pod](closures{}, Options{Example: &corev1.Node{}})),
		"a type that is no T":              refused(decoderOf[interface{ Bark() }](gv, Options{Example: &corev1.Pod{}})),
		"a kind of another version":        refused(decoderOf[any](gv, Options{Example: otherPod})),
	} {
		if err == nil {
			t.Errorf("%s: it was taken", name)
		} else if !strings.Contains(err.Error(), "Example") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"REST":      refused(FromConfig[any](cfg, podGVR, Options{})),
		"a decoder": refused(decoderOf[metav1.Object](gv, Options{})),
	} {
		if !errors.Is(err, ErrNoExample) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"the same type":             refused(decoderOf[*corev1.Pod](gv, Options{Example: &corev1.Pod{}})),
		"a nil pointer":             refused(decoderOf[any](gv, Options{Example: (*corev1.Pod)(nil)})),
		"a nil unstructured":        refused(decoderOf[any](gv, Options{Example: (*unstructured.Unstructured)(nil)})),
		"no example is necessary":   refused(FromListerWatcher[any](closures{}, Options{})),
		"a kind where none is said": refused(decoderOf[any](schema.GroupVersion{}, Options{Example: unstructuredPod()})),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASourceOfAnInterfaceSendsWhatOneOfItsExampleSends(t *testing.T) {
	pods, _ := randomPods(t, 40)
	events := []kruntime.Object{&pods.Items[0], &pods.Items[1], &pods.Items[2]}
	var accepts []string
	handler := negotiated(&accepts, pods, events...)
	intercepting := recorded(must(FromListerWatcher[any](podClosures(wrapped(serve(t, handler))), Options{Example: &corev1.Pod{}, Intercept: true})))
	sources := map[string]Source[any]{
		"REST":            must(FromConfig[any](serve(t, handler), podGVR, Options{Example: &corev1.Pod{}})),
		"a ListerWatcher": must(FromListerWatcher[any](podClosures(serve(t, handler)), Options{Example: &corev1.Pod{}})),
		"an interceptor":  intercepting,
		"no example":      must(FromListerWatcher[any](podClosures(serve(t, handler)), Options{})),
	}
	plain := must(FromListerWatcher[*corev1.Pod](podClosures(serve(t, handler)), Options{}))
	want, err := list(t, plain, ListRequest[*corev1.Pod]{})
	if err != nil {
		t.Fatal(err)
	}
	wantEvents, err := watchAll(t, plain, WatchRequest[*corev1.Pod]{ResourceVersion: "7"})
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range sources {
		t.Run(name, func(t *testing.T) {
			got, err := list(t, src, ListRequest[any]{Held: newSink[any]().get})
			if err != nil || len(got.items) != len(want.items) {
				t.Fatalf("%d items: %v", len(got.items), err)
			}
			for i, it := range got.items {
				equalInside(t, it, want.items[i])
			}
			gotEvents, err := watchAll(t, src, WatchRequest[any]{ResourceVersion: "7", Held: newSink[any]().get})
			if err != nil || len(gotEvents.events) != 3 {
				t.Fatalf("%d events: %v", len(gotEvents.events), err)
			}
			for i, e := range gotEvents.events {
				equalInside(t, e.Item, wantEvents.events[i].Item)
			}
		})
	}
	checkStats(t, intercepting, 2, 0, nil)
}

// equalInside compares what is in an interface.
func equalInside[T any](t *testing.T, got Item[any], want Item[T]) {
	t.Helper()
	obj, ok := got.Object.(T)
	if !ok {
		t.Fatalf("%T where a %T was due: %v", got.Object, want.Object, got.Err)
	}
	typed := Item[T]{Key: got.Key, UID: got.UID, ResourceVersion: got.ResourceVersion, Object: obj, Err: got.Err}
	if diff := differences(want, typed); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsHeldOfAnotherTypeIsNoLastVersion(t *testing.T) {
	p := pod("ns", "a", "1")
	for name, held := range map[string]any{
		"another type": &corev1.Node{}, "nothing": nil, "no pointer": "text", "a nil pointer": (*corev1.Pod)(nil),
		"an unstructured one": unstructuredPod(), "a nil unstructured one": (*unstructured.Unstructured)(nil),
	} {
		for _, c := range codecs() {
			for _, example := range []kruntime.Object{&corev1.Pod{}, &metav1.PartialObjectMetadata{}, &unstructured.Unstructured{}} {
				if _, ok := example.(*unstructured.Unstructured); ok && c.name == "protobuf" {
					continue
				}
				dec := must(decoderOf[any](podGVR.GroupVersion(), Options{Example: example}))
				var memo listed[any]
				body := c.object(&corev1.PodList{Items: []corev1.Pod{*p}})
				if err := dec.list(false, bytes.NewReader(body), newSink[any]().get, nil, memo.page); err != nil {
					t.Fatal(err)
				}
				var got listed[any]
				err := dec.list(false, bytes.NewReader(body), func(store.Key) (any, store.Memo, bool) {
					return held, memo.items[0].Memo, true
				}, nil, got.page)
				if err != nil || len(got.items) != 1 || got.items[0].Err != nil || !reflect.DeepEqual(got.items[0].Object, memo.items[0].Object) {
					t.Errorf("%s, %s: %+v: %v", name, c.name, got.items, err)
				}
			}
		}
	}
	// What a transform returned may be of any type as well.
	src := newBytesSource[any](Options{Example: &corev1.Pod{}})
	turn := 0
	m := Map(src, func(any) (any, error) {
		turn++
		return []any{&corev1.Pod{}, &corev1.Node{}, "text", map[string]int{}, *p, unstructuredPod()}[turn%6], nil
	})
	s := newSink[any]()
	for range 40 {
		src.bodies = [][]byte{protoBytes(podList("7", "a", "b", "c", "d", "e"))}
		got, err := list(t, m, ListRequest[any]{Held: s.get})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range got.items {
			s.put(it)
		}
	}
}

func TestAnUnstructuredExampleWithAKindTakesNoOther(t *testing.T) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", ResourceVersion: "3"}}
	job := unstructuredPod()
	job.SetKind("Job")
	mixed := `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"7"},"items":[` +
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}},{"apiVersion":"v1","kind":"Job","metadata":{"name":"b"}},` +
		`{"apiVersion":"v2","kind":"Pod","metadata":{"name":"c"}}]}`
	kindLast := `{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"metadata":{"resourceVersion":"7"},"apiVersion":"v1","kind":"PodList"}`
	for _, tc := range []struct {
		name    string
		example *unstructured.Unstructured
		body    string
		// broken are the items that are no objects.
		broken []bool
	}{
		{"each says its kind", unstructuredPod(), mixed, []bool{false, true, true}},
		{"any kind will do, of the version", &unstructured.Unstructured{}, mixed, []bool{false, false, true}},
		{"the list says it", unstructuredPod(), string(jsonBytes(podList("7", "a", "b"))), []bool{false, false}},
		{"the list says another", job, string(jsonBytes(podList("7", "a", "b"))), []bool{true, true}},
		{"the list says it last", unstructuredPod(), kindLast, []bool{false, false}},
		{"the list says another last", job, kindLast, []bool{true, true}},
	} {
		dec := must(decoderOf[any](podGVR.GroupVersion(), Options{Example: tc.example}))
		var got listed[any]
		if err := dec.list(false, strings.NewReader(tc.body), newSink[any]().get, nil, got.page); err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		got.check(t, nil)
		if broken := brokenOnes(got.items); !slices.Equal(broken, tc.broken) {
			t.Errorf("%s: %v, want %v", tc.name, broken, tc.broken)
		}
	}
	dec := must(decoderOf[any](podGVR.GroupVersion(), Options{Example: unstructuredPod()}))
	var seen watched[any]
	stream := slices.Concat(jsonFrame("ADDED", pod("ns", "a", "1")), jsonFrame("ADDED", deployment), jsonFrame("ADDED", pod("ns", "b", "2")))
	if err := dec.watch(bytes.NewReader(stream), nil, nil, seen.batch); err != nil || len(seen.events) != 3 {
		t.Fatalf("%+v: %v", seen.events, err)
	}
	if broken := brokenOnes(itemsOf(seen.events)); !slices.Equal(broken, []bool{false, true, false}) {
		t.Errorf("%v", broken)
	}
}

// brokenOnes says which items have a KindError.
func brokenOnes[T any](items []Item[T]) []bool {
	var broken []bool
	for _, it := range items {
		_, is := errtype.As[*KindError](it.Err)
		broken = append(broken, is)
	}
	return broken
}

func TestAnObjectOfAnotherTypeIsAnItemErrorAndTheStreamGoesOn(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "2"}}
	job := unstructuredPod()
	job.SetKind("Job")
	job.SetName("j")
	aPod := unstructuredPod()
	aPod.SetName("a")
	for _, tc := range []struct {
		name     string
		example  kruntime.Object
		objects  []kruntime.Object
		broken   []bool
		mentions []string
	}{
		{"typed", &corev1.Pod{}, []kruntime.Object{pod("ns", "a", "1"), node, pod("ns", "b", "3")},
			[]bool{false, true, false}, []string{"*v1.Node", "*v1.Pod", "n"}},
		{"unstructured", unstructuredPod(), []kruntime.Object{aPod, job, pod("ns", "b", "3")},
			[]bool{false, true, true}, []string{"Kind=Job", "Kind=Pod", "j"}},
		{"unstructured of any kind", &unstructured.Unstructured{}, []kruntime.Object{aPod, job, node},
			[]bool{false, false, true}, nil},
		{"anything", nil, []kruntime.Object{aPod, job, node, pod("ns", "a", "1")},
			[]bool{false, false, false, false}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := watch.NewFakeWithChanSize(len(tc.objects)+1, false)
			all := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
			for _, obj := range tc.objects {
				w.Add(obj)
				all.Items = append(all.Items, kruntime.RawExtension{Object: obj})
			}
			w.Stop()
			src := must(FromListerWatcher[any](closures{
				list:  func(metav1.ListOptions) (kruntime.Object, error) { return all, nil },
				watch: func(metav1.ListOptions) (watch.Interface, error) { return w, nil },
			}, Options{Example: tc.example}))
			got, err := list(t, src, ListRequest[any]{})
			if err != nil {
				t.Fatal(err)
			}
			seen, err := watchAll(t, src, WatchRequest[any]{})
			if err != nil {
				t.Fatal(err)
			}
			for from, items := range map[string][]Item[any]{"list": got.items, "watch": itemsOf(seen.events)} {
				if broken := brokenOnes(items); !slices.Equal(broken, tc.broken) {
					t.Errorf("%s: %v, want %v", from, broken, tc.broken)
				}
				for _, words := range tc.mentions {
					if !strings.Contains(items[1].Err.Error(), words) {
						t.Errorf("%s: %q is not in: %v", from, words, items[1].Err)
					}
				}
			}
		})
	}
}

func TestABookmarkOfAnotherTypeIsNone(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}
	for want, example := range map[EventType]kruntime.Object{Unknown: &corev1.Pod{}, Bookmark: nil} {
		w := watch.NewFakeWithChanSize(1, false)
		w.Action(watch.Bookmark, node)
		w.Stop()
		src := must(FromListerWatcher[any](closures{
			watch: func(metav1.ListOptions) (watch.Interface, error) { return w, nil },
		}, Options{Example: example}))
		got, err := watchAll(t, src, WatchRequest[any]{})
		if err != nil || got.events[0].Type != want || (want == Bookmark) != (got.events[0].ResourceVersion == "2") {
			t.Errorf("%+v: %v", got.events, err)
		}
	}
}

// TestAnInterfaceCostsNoAllocation compares the same bytes decoded into *Pod
// and into any, new and held.
func TestAnInterfaceCostsNoAllocation(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range codecs() {
		body := c.object(replicasOf(200))
		for _, relist := range []bool{false, true} {
			// One an object would be 200 more. Half of that, and several tries,
			// as pools keep what they like under the race detector.
			var typed, open float64
			for range 5 {
				typed = listAllocations[*corev1.Pod](t, body, nil, relist)
				open = listAllocations[any](t, body, &corev1.Pod{}, relist)
				if open <= typed+100 {
					break
				}
			}
			if open > typed+100 {
				t.Errorf("%s, relist %v: %v allocations, and %v as a *Pod", c.name, relist, open, typed)
			}
		}
	}
}

// listAllocations are those of decoding a list, of what is held already if
// relist is set.
func listAllocations[T any](t *testing.T, body []byte, example kruntime.Object, relist bool) float64 {
	dec := must(decoderOf[T](podGVR.GroupVersion(), Options{Example: example}))
	s := newSink[T]()
	held := s.get
	if !relist {
		held = nil
	}
	err := dec.list(false, bytes.NewReader(body), s.get, nil, func(p Page[T]) error {
		for _, it := range p.Items {
			s.put(it)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return testkit.Allocs(1, func() {
		if err := dec.list(false, bytes.NewReader(body), held, nil, nothing[T]); err != nil {
			t.Error(err)
		}
	})
}
