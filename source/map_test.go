package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	goruntime "runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

// bytesSource decodes the bodies that it is given, one a call.
type bytesSource[T any] struct {
	Source[T]
	opts   Options
	dec    *decoder[T]
	bodies [][]byte
}

func newBytesSource[T any](opts Options) *bytesSource[T] {
	return &bytesSource[T]{opts: opts, dec: must(newDecoder[T](podGVR.GroupVersion(), &opts))}
}

func (s *bytesSource[T]) next() *bytes.Reader {
	body := s.bodies[0]
	s.bodies = s.bodies[1:]
	return bytes.NewReader(body)
}

func (s *bytesSource[T]) List(_ context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	return s.dec.list(false, s.next(), req.Held, nil, yield)
}

func (s *bytesSource[T]) Watch(_ context.Context, req WatchRequest[T], yield func([]Event[T]) error) error {
	return s.dec.watch(s.next(), req.Held, nil, yield)
}

func (s *bytesSource[T]) Traits() Traits {
	return Traits{Sharing: s.opts.Sharing, DisableSharing: s.opts.DisableSharing}
}

// slim writes to what it is given, deep inside.
func slim(p *corev1.Pod) (*corev1.Pod, error) {
	p.ManagedFields = nil
	for i := range p.Spec.Containers {
		for k := range p.Spec.Containers[i].Env {
			p.Spec.Containers[i].Env[k].Value = "slim"
		}
	}
	if p.Annotations != nil {
		p.Annotations["slim"] = "yes"
	}
	return p, nil
}

func slimUntyped(u *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	unstructured.RemoveNestedField(u.Object, "metadata", "managedFields")
	return u, unstructured.SetNestedField(u.Object, "yes", "metadata", "annotations", "slim")
}

// TestWhatATransformReturnsIsSharedAndEqualsWhatItReturned follows a
// collection by list, watch and list again, twice: with what is held, and
// without. In the end the objects of all versions are compared, so that one
// that was written to after it had been handed out shows.
func TestWhatATransformReturnsIsSharedAndEqualsWhatItReturned(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) { followTransformed(t, c, nil, slim) })
		t.Run(c.name+", in an interface", func(t *testing.T) { followTransformed(t, c, &corev1.Pod{}, boxed(slim)) })
	}
	t.Run("unstructured", func(t *testing.T) { followTransformed(t, codecs()[1], nil, slimUntyped) })
	t.Run("unstructured, in an interface", func(t *testing.T) {
		followTransformed(t, codecs()[1], unstructuredPod(), boxed(slimUntyped))
	})
}

// boxed is a transform of one type as one of any.
func boxed[T any](transform func(T) (T, error)) func(any) (any, error) {
	return func(obj any) (any, error) { return transform(obj.(T)) }
}

func followTransformed[T any](t *testing.T, c codecFor, example runtime.Object, transform func(T) (T, error)) {
	pods := 40
	if example != nil {
		pods = 12
	}
	rs := newReplicas(t, pods)
	src, ref := newBytesSource[T](Options{Example: example}), newBytesSource[T](Options{Example: example, DisableSharing: true})
	shared, alone := Map[T](src, transform), Map[T](ref, transform)
	s := newSink[T]()
	var all, want []T
	take := func(got, alone []Item[T]) {
		t.Helper()
		if len(got) != len(alone) {
			t.Fatalf("%d items, want %d", len(got), len(alone))
		}
		for i, it := range got {
			sameItem(t, it, alone[i])
			s.put(it)
			all, want = append(all, it.Object), append(want, alone[i].Object)
		}
	}
	for range 4 {
		body := c.object(rs.list)
		src.bodies, ref.bodies = [][]byte{body}, [][]byte{body}
		got, err := list(t, shared, ListRequest[T]{Held: s.get})
		exp, refErr := list(t, alone, ListRequest[T]{})
		if err != nil || refErr != nil {
			t.Fatal(err, refErr)
		}
		take(got.items, exp.items)
		var stream []byte
		for range 30 {
			stream = append(stream, c.frame("MODIFIED", rs.change(rs.rand.Intn(len(rs.list.Items))))...)
		}
		src.bodies, ref.bodies = [][]byte{stream}, [][]byte{stream}
		seen, err := watchAll(t, shared, WatchRequest[T]{Held: s.get})
		expected, refErr := watchAll(t, alone, WatchRequest[T]{})
		if err != nil || refErr != nil {
			t.Fatal(err, refErr)
		}
		take(itemsOf(seen.events), itemsOf(expected.events))
	}
	for i := range all {
		if !reflect.DeepEqual(all[i], want[i]) {
			t.Fatalf("object %d of %d is not what it was", i, len(all))
		}
	}
	if st := shared.(*mapped[T, T]).sharing.Stats(); st.Values == 0 {
		t.Error("nothing was shared")
	}
}

func itemsOf[T any](events []Event[T]) []Item[T] {
	var items []Item[T]
	for _, e := range events {
		items = append(items, e.Item)
	}
	return items
}

// replicasOf are pods that have everything but their names in common.
func replicasOf(n int) *corev1.PodList {
	var l corev1.PodList
	for i := range n {
		p := pod("ns", fmt.Sprint("p", i), fmt.Sprint(i+1))
		p.Spec.Containers[0].Args = []string{"an argument that is long enough", "to be worth sharing"}
		l.Items = append(l.Items, *p)
	}
	return &l
}

// args are where the arguments of each pod are in memory: how many arrays.
func args(items []Item[*corev1.Pod]) int {
	seen := map[*string]bool{}
	for _, it := range items {
		seen[&it.Object.Spec.Containers[0].Args[0]] = true
	}
	return len(seen)
}

func TestReplicasThatATransformReturnsHaveOneSpec(t *testing.T) {
	nothing := func(store.Key) (p *corev1.Pod, m store.Memo, ok bool) { return nil, nil, false }
	program, given := NewSharing(0), NewSharing(0)
	SetDefaultSharing(program)
	defer SetDefaultSharing(nil)
	for _, tc := range []struct {
		name string
		opts Options
		held Held[*corev1.Pod]
		// A value is taken in at its second sighting, and found at its third.
		arrays int
	}{
		{"as it is", Options{}, nothing, 2},
		{"through what the source was given", Options{Sharing: given}, nothing, 2},
		{"with sharing off", Options{DisableSharing: true}, nothing, 20},
		{"asked without Held", Options{}, nil, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := newBytesSource[*corev1.Pod](tc.opts)
			m := Map[*corev1.Pod](src, slim)
			before := program.Stats().Values
			src.bodies = [][]byte{protoBytes(replicasOf(20))}
			got, err := list(t, m, ListRequest[*corev1.Pod]{Held: tc.held})
			if err != nil {
				t.Fatal(err)
			}
			if n := args(got.items); n != tc.arrays {
				t.Errorf("%d arrays of arguments, want %d", n, tc.arrays)
			}
			shares := tc.arrays < 20
			if (program.Stats().Values > before) != (shares && tc.opts.Sharing == nil) {
				t.Errorf("the program's sharing has %+v", program.Stats())
			}
			if (given.Stats().Values > 0) != (tc.opts.Sharing != nil) && tc.opts.Sharing != nil {
				t.Errorf("the source's sharing has %+v", given.Stats())
			}
		})
	}
}

func TestATransformsEqualObjectIsTheOneThatIsHeld(t *testing.T) {
	type where struct{ Node string }
	src := newBytesSource[*corev1.Pod](Options{})
	m := Map(src, func(p *corev1.Pod) (*where, error) { return &where{p.Spec.NodeName}, nil })
	s := newSink[*where]()
	for i := range 2 {
		p := pod("ns", "a", fmt.Sprint(i+1))
		src.bodies = [][]byte{protoFrame("MODIFIED", p)}
		got, err := watchAll(t, m, WatchRequest[*where]{Held: s.get})
		if err != nil {
			t.Fatal(err)
		}
		it := got.events[0].Item
		if old, _, held := s.get(it.Key); held && old != it.Object {
			t.Error("an equal object took the place of the one that is held")
		}
		if it.ResourceVersion != p.ResourceVersion {
			t.Errorf("its version is %s", it.ResourceVersion)
		}
		s.put(it)
	}
}

func TestATransformToSomethingElseThanAPointerIsLeftAlone(t *testing.T) {
	src := newBytesSource[*corev1.Pod](Options{})
	m := Map(src, func(p *corev1.Pod) (map[string]string, error) { return p.Labels, nil })
	src.bodies = [][]byte{jsonBytes(replicasOf(3))}
	got, err := list(t, m, ListRequest[map[string]string]{Held: newSink[map[string]string]().get})
	if err != nil || len(got.items) != 3 || got.items[2].Object["app"] == "" {
		t.Errorf("%+v: %v", got.items, err)
	}
}

func TestWhatIsReadThroughAnInterceptorIsSharedWithTheProgram(t *testing.T) {
	var accepts []string
	program := NewSharing(0)
	SetDefaultSharing(program)
	defer SetDefaultSharing(nil)
	src, interceptor := intercepted(podClosures(wrapped(serve(t, negotiated(&accepts, replicasOf(20))))))
	got, err := list(t, src, ListRequest[*corev1.Pod]{Held: newSink[*corev1.Pod]().get})
	if err != nil || len(got.items) != 20 {
		t.Fatalf("%d items: %v", len(got.items), err)
	}
	checkStats(t, interceptor, 1, 0, nil)
	if program.Stats().Values == 0 {
		t.Error("nothing was shared")
	}
}

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
	if n := testkit.Allocs(100, func() {
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

// As t.FailNow of a test's transform does.
func TestATransformThatEndsItsGoroutineLeavesTheSourceToOthers(t *testing.T) {
	body := []byte(`{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"a"}}]}`)
	ends := true
	src := Map(&bytesSource[*corev1.Pod]{dec: must(newDecoder[*corev1.Pod](podGVR.GroupVersion(), &Options{})), bodies: [][]byte{body, body}}, func(p *corev1.Pod) (*corev1.Pod, error) {
		if ends {
			goruntime.Goexit()
		}
		return p, nil
	})
	read := func() (n int) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = src.List(t.Context(), ListRequest[*corev1.Pod]{}, func(page Page[*corev1.Pod]) error {
				n += len(page.Items)
				return nil
			})
		}()
		<-done
		return n
	}
	read()
	ends = false
	if n := read(); n != 1 {
		t.Errorf("%d pods", n)
	}
}
