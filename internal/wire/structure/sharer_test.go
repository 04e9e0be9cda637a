package structure

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// sharing shares objects of type T.
type sharing[T any] struct{ *Sharer }

func newSharing[T any](t testing.TB, table *share.Table) sharing[T] {
	t.Helper()
	plan, err := Compile(reflect.TypeFor[T]())
	if err != nil {
		t.Fatal(err)
	}
	return sharing[T]{plan.Sharer(share.NewSession(table))}
}

func (s sharing[T]) share(obj, last *T) *T {
	return (*T)(s.Share(unsafe.Pointer(obj), unsafe.Pointer(last)))
}

// newPod is one of the replicas of a template, whose quantities have their text.
func newPod(template, replica, version int) *corev1.Pod {
	p := testpods.Large(template, replica, version, false)
	for _, c := range p.Spec.Containers {
		for _, list := range []corev1.ResourceList{c.Resources.Limits, c.Resources.Requests} {
			for name, q := range list {
				_ = q.String()
				list[name] = q
			}
		}
	}
	return p
}

func TestAThousandEqualObjectsTakeLittleMoreThanOne(t *testing.T) {
	const n = 1000
	heap := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	measure := func(table *share.Table, replicas int) int {
		s := newSharing[corev1.Pod](t, table)
		pods := make([]*corev1.Pod, n)
		before := heap()
		for i := range pods {
			pods[i] = s.share(newPod(1, i%replicas, 1), nil)
		}
		after := heap()
		runtime.KeepAlive(pods)
		runtime.KeepAlive(table)
		return (after - before) / n
	}
	alone, shared, replicas := measure(nil, 1), measure(share.NewTable(0), 1), measure(share.NewTable(0), n)
	t.Logf("%d B a pod alone, %d B shared by equal ones, %d B by replicas; a Pod itself is %d B",
		alone, shared, replicas, unsafe.Sizeof(corev1.Pod{}))
	if replicas > alone/3 {
		t.Errorf("%d B a replica, %d B alone", replicas, alone)
	}
	if own := int(unsafe.Sizeof(corev1.Pod{})); shared > own+own/4+200 {
		t.Errorf("%d B a pod, of which %d are its own", shared, own)
	}
}

func TestTheLastVersionsPartsAreKept(t *testing.T) {
	s := newSharing[corev1.Pod](t, share.NewTable(0))
	last := s.share(newPod(1, 1, 1), nil)
	next := s.share(newPod(1, 1, 2), last)
	if &next.Spec.Containers[0] != &last.Spec.Containers[0] || !sameMap(next.Annotations, last.Annotations) {
		t.Error("equal parts are not the last version's")
	}
	if &next.Status.ContainerStatuses[0] == &last.Status.ContainerStatuses[0] {
		t.Error("what differs is the last version's")
	}
	if unsafe.StringData(next.Status.ContainerStatuses[1].ContainerID) != unsafe.StringData(last.Status.ContainerStatuses[1].ContainerID) {
		t.Error("an equal string beside something new is another string")
	}
	if same := s.share(newPod(1, 1, 2), next); same != next {
		t.Error("an equal object is not the last version itself")
	}
}

func TestSharedSlicesHaveNoCapacityToSpare(t *testing.T) {
	s := newSharing[corev1.Pod](t, share.NewTable(0))
	for range 3 {
		p := newPod(1, 1, 1)
		p.Spec.Tolerations = append(make([]corev1.Toleration, 0, 10), p.Spec.Tolerations...)
		got := s.share(p, nil)
		if c := cap(got.Spec.Tolerations); c != len(got.Spec.Tolerations) {
			t.Errorf("%d tolerations, capacity %d", len(got.Spec.Tolerations), c)
		}
		if cap(p.Spec.Tolerations) != 10 {
			t.Error("what was given was written to")
		}
	}
}

// What a transform gives to many objects is read by those who have them
// already. The race detector sees if anybody writes.
func TestWhatATransformGivesTwiceIsNeverWrittenTo(t *testing.T) {
	table := share.NewTable(0)
	common := newPod(1, 1, 1)
	want := common.DeepCopy()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			s := newSharing[corev1.Pod](t, table)
			for j := range 50 {
				p := newPod(i, j, 1)
				p.Spec, p.Labels, p.OwnerReferences = common.Spec, common.Labels, common.OwnerReferences
				if got := s.share(p, nil); !reflect.DeepEqual(got.Spec, want.Spec) {
					t.Error("another spec")
				}
				if got := s.share(common, nil); !reflect.DeepEqual(got, want) {
					t.Error("another pod")
				}
			}
		})
	}
	wg.Wait()
}

func TestWhatMayStillBeWrittenIsNotShared(t *testing.T) {
	type holder struct {
		Limit *resource.Quantity
		Name  *string
	}
	s := newSharing[struct{ Holders []holder }](t, share.NewTable(0))
	make := func(cached bool) *struct{ Holders []holder } {
		q := *resource.NewQuantity(1500<<20, resource.BinarySI)
		if cached {
			_ = q.String()
		}
		name := "a name that is long enough to be shared"
		return &struct{ Holders []holder }{[]holder{{Limit: &q, Name: &name}}}
	}
	for _, cached := range []bool{false, true} {
		last := s.share(make(cached), nil)
		for range 3 {
			obj := s.share(make(cached), last)
			if shared := obj.Holders[0].Limit == last.Holders[0].Limit; shared && !cached {
				t.Error("a quantity that will cache its text is shared")
			}
			last = obj
		}
		if a, b := s.share(make(cached), nil), s.share(make(cached), nil); cached != (a.Holders[0].Limit == b.Holders[0].Limit) {
			t.Errorf("cached %v: shared %v", cached, !cached)
		}
	}
}

func TestWhatCannotBeToldToBeEqualIsLeftAlone(t *testing.T) {
	type hidden struct{ a, b int }
	type odd struct {
		Fn     func()
		Chan   chan int
		Hidden hidden
		Floats []float64
		Times  []time.Time
		Array  [2]string
		ByInt  map[int]string
		Err    error
		Named  map[string]hidden
		Deep   []map[string][]*string
	}
	table := share.NewTable(0)
	s := newSharing[odd](t, table)
	text := "x"
	make := func() *odd {
		return &odd{Fn: func() {}, Chan: make(chan int), Hidden: hidden{1, 2}, Floats: []float64{math.NaN(), 1, 2, 3, 4, 5, 6, 7},
			Array: [2]string{"a", "b"}, ByInt: map[int]string{1: "a"}, Err: fmt.Errorf("x"), Named: map[string]hidden{"a": {1, 2}},
			Times: []time.Time{time.Unix(1, 0), time.Unix(1, 0).UTC(), time.Unix(2, 0)},
			Deep:  []map[string][]*string{{"a": {&text, nil}, "b": nil, "c": {}}},
		}
	}
	for range 3 {
		o := make()
		got := s.share(o, nil)
		if math.IsNaN(got.Floats[1]) || &got.Floats[0] != &o.Floats[0] || !reflect.DeepEqual(got.Times, o.Times) || !reflect.DeepEqual(got.Deep, o.Deep) {
			t.Errorf("got %+v", got)
		}
		if !sameMap(got.Named, o.Named) || got.Chan != o.Chan || got.Err != o.Err {
			t.Errorf("got %+v", got)
		}
	}
	if _, err := Compile(reflect.TypeFor[*odd]()); err == nil {
		t.Error("a plan for a pointer")
	}
	// The same instant in two zones, and the same text as another type.
	times := newSharing[struct{ T, U *[4]int64 }](t, table)
	if a := times.share(&struct{ T, U *[4]int64 }{&[4]int64{1}, &[4]int64{1}}, nil); *a.T != *a.U {
		t.Error("arrays of numbers differ")
	}
}

func TestTypesMayContainThemselves(t *testing.T) {
	type tree struct {
		Name   string
		Kids   []tree
		Next   *tree
		ByName map[string]tree
	}
	type forest struct {
		Trees []tree
		First *tree
		Named map[string]tree
	}
	var grow func(depth int) tree
	grow = func(depth int) tree {
		n := tree{Name: fmt.Sprint("a tree of some height: ", depth)}
		if depth > 0 {
			n.Kids = []tree{grow(depth - 1), grow(depth - 1)}
			next := grow(depth - 1)
			n.Next = &next
			n.ByName = map[string]tree{"a": grow(depth - 1), "b": grow(0)}
		}
		return n
	}
	s := newSharing[forest](t, share.NewTable(0))
	for i := range 6 {
		first := grow(i % 4)
		f := &forest{Trees: []tree{grow(3), grow(i)}, First: &first, Named: map[string]tree{"x": grow(2)}}
		got := s.share(f, nil)
		if !reflect.DeepEqual(got, f) {
			t.Fatalf("got %+v", got)
		}
		if i > 4 && got.First.Next == first.Next {
			t.Error("nothing is shared")
		}
	}
}

func TestNilEmptyAndFullAreToldApart(t *testing.T) {
	type object struct {
		A, B []string
		M    map[string]string
		P    *string
		J    []any
	}
	table := share.NewTable(0)
	s := newSharing[object](t, table)
	long := func() string { return fmt.Sprint("thirty-two bytes and more of text", "") }
	text := long()
	values := []*object{
		{A: []string{long(), ""}}, {A: []string{long()}}, {A: []string{}}, {}, {B: []string{}},
		{A: []string{"", long()}}, {M: map[string]string{}}, {M: map[string]string{"": ""}}, {P: new(string)}, {P: &text},
		{J: []any{}}, {J: []any{nil}}, {J: []any{""}}, {J: []any{map[string]any(nil)}}, {J: []any{map[string]any{}}},
		{J: []any{[]any(nil)}}, {J: []any{[]any{}}}, {J: []any{int64(1)}}, {J: []any{1.0}}, {J: []any{true}}, {J: []any{int32(1)}},
	}
	for range 3 {
		for i, v := range values {
			for j, last := range values {
				if got := s.share(v, last); !reflect.DeepEqual(got, v) {
					t.Fatalf("%d after %d: got %+v, want %+v", i, j, got, v)
				}
			}
		}
	}
}

func newUnstructured(t testing.TB, template, replica, version int) *unstructured.Unstructured {
	m, err := k8sruntime.DefaultUnstructuredConverter.ToUnstructured(newPod(template, replica, version))
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: m}
}

func TestUnstructuredObjectsShareSubtrees(t *testing.T) {
	table := share.NewTable(0)
	s := newSharing[unstructured.Unstructured](t, table)
	var got, want []*unstructured.Unstructured
	var last *unstructured.Unstructured
	for version := range 3 {
		for replica := range 5 {
			if replica == 0 {
				last = nil
			}
			u := newUnstructured(t, 1, replica, version)
			want = append(want, u.DeepCopy())
			last = s.share(u, last)
			got = append(got, last)
			if !reflect.DeepEqual(u, want[len(want)-1]) {
				t.Fatal("what was given has changed")
			}
		}
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("got\n%v, want\n%v", got[i], want[i])
		}
	}
	containers := func(u *unstructured.Unstructured) unsafe.Pointer {
		v := u.Object["spec"].(map[string]any)["containers"]
		return data(&v)
	}
	if containers(got[6]) != containers(got[14]) {
		t.Error("containers are not shared")
	}
}

func TestWithoutATableNothingIsTouched(t *testing.T) {
	s := newSharing[corev1.Pod](t, nil)
	a, b := newPod(1, 1, 1), newPod(1, 1, 1)
	if s.share(b, a) != b {
		t.Error("the object was exchanged")
	}
}

func TestObjectsTooDeepToFollowAreLeftAlone(t *testing.T) {
	deep := map[string]any{}
	for range 3 * maxDepth {
		deep = map[string]any{"a": deep}
	}
	s := newSharing[unstructured.Unstructured](t, share.NewTable(0))
	u := &unstructured.Unstructured{Object: deep}
	for range 3 {
		if s.share(u, nil) != u {
			t.Error("it was exchanged")
		}
	}
}

func TestAValueThatLeadsBackToItselfIsLeftAlone(t *testing.T) {
	type node struct {
		Name   string
		Parent *node
		Kids   []*node
		Labels []string
	}
	family := func() *node {
		top := &node{Name: "a parent with a name", Labels: []string{"a label that is long enough to be shared"}}
		for range 3 {
			top.Kids = append(top.Kids, &node{Name: "a child with a name", Parent: top})
		}
		return top
	}
	s := newSharing[node](t, share.NewTable(0))
	var last *node
	for range 3 {
		f := family()
		got := s.share(f, last)
		if !reflect.DeepEqual(got, f) || got.Kids[2].Parent != got.Kids[1].Parent {
			t.Errorf("it became %+v", got)
		}
		last = got
	}
	if p := s.share(family(), last); &p.Labels[0] != &last.Labels[0] {
		t.Error("what stands beside it is not shared")
	}
}

func TestKnownPartsCostNoAllocationButTheObject(t *testing.T) {
	table := share.NewTable(0)
	s := newSharing[corev1.Pod](t, table)
	// What leads to one short string is too small to be looked up itself.
	pod := func() *corev1.Pod {
		p := newPod(1, 1, 1)
		p.Status.PodIPs, p.Status.HostIPs, p.Spec.PreemptionPolicy = nil, nil, nil
		return p
	}
	for range 3 {
		s.share(pod(), nil)
	}
	p := pod()
	if n := testkit.Allocs(100, func() { s.share(p, nil) }); n > 1+raceAllocs {
		t.Errorf("%v allocations for a pod of known parts", n)
	}
}

// The next version of a pod has another status and another time in managedFields. It
// costs the pod and what leads to these.
func TestANextVersionCostsAllocationsForItsChangesOnly(t *testing.T) {
	const most, runs, warm = 7, 100, 5
	s := newSharing[corev1.Pod](t, share.NewTable(0))
	versions := make([]*corev1.Pod, warm+testkit.AllocsCalls(runs))
	for i := range versions {
		versions[i] = newPod(1, 1, i)
	}
	var last *corev1.Pod
	next := func() { last, versions = s.share(versions[0], last), versions[1:] }
	for range warm {
		next()
	}
	if n := testkit.Allocs(runs, next); n > most+raceAllocs {
		t.Errorf("%v allocations for a next version, want at most %d", n, most)
	}
}

var sink *corev1.Pod

// benchmark shares pods that have not been seen, made by next from what was
// shared before in their place, or nil.
func benchmark(b *testing.B, next func(i int, last *corev1.Pod) (pod, use *corev1.Pod)) {
	const n = 500
	s := newSharing[corev1.Pod](b, share.NewTable(0))
	held, made, use := make([]*corev1.Pod, n), make([]*corev1.Pod, n), make([]*corev1.Pod, n)
	for round := range 2 {
		for i := range held {
			held[i] = s.share(newPod(i, round, 0), nil)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		at := i % n
		if at == 0 {
			b.StopTimer()
			for j := range made {
				made[j], use[j] = next(i+j, held[j])
			}
			b.StartTimer()
		}
		held[at] = s.share(made[at], use[at])
	}
}

func BenchmarkNextVersion(b *testing.B) {
	benchmark(b, func(i int, last *corev1.Pod) (*corev1.Pod, *corev1.Pod) {
		return newPod(i%500, 1, 1+i/500), last
	})
}

func BenchmarkNewOfKnownTemplate(b *testing.B) {
	benchmark(b, func(i int, _ *corev1.Pod) (*corev1.Pod, *corev1.Pod) {
		return newPod(i%500, 2+i/500, 1+i), nil
	})
}

func BenchmarkNewOfNewTemplate(b *testing.B) {
	benchmark(b, func(i int, _ *corev1.Pod) (*corev1.Pod, *corev1.Pod) {
		return testpods.Large(0, i, 1+i, true), nil
	})
}

func BenchmarkDeepCopyForComparison(b *testing.B) {
	p := newPod(1, 1, 1)
	b.ReportAllocs()
	for b.Loop() {
		sink = p.DeepCopy()
	}
}
