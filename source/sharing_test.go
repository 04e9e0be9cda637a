package source

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	goruntime "runtime"
	"strconv"
	"sync"
	"testing"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinglet-go/kinglet/internal/objectmeta"
	"github.com/kinglet-go/kinglet/store"
)

// sink is the little that a decoder needs of one: what is held under a key.
type sink[T any] struct {
	mu   sync.Mutex
	held map[store.Key]Item[T]
}

func newSink[T any]() *sink[T] { return &sink[T]{held: map[store.Key]Item[T]{}} }

func (s *sink[T]) get(key store.Key) (T, store.Memo, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	it, ok := s.held[key]
	return it.Object, it.Memo, ok
}

func (s *sink[T]) put(it Item[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[it.Key] = it
}

// replicas are pods of few templates, as strange as fuzzers make them.
type replicas struct {
	fill interface{ Fill(any) }
	rand *rand.Rand
	list *corev1.PodList
	rv   int
}

func newReplicas(t *testing.T, n int) *replicas {
	list, r := randomPods(t, 4)
	rs := &replicas{fill: fuzzer.FuzzerFor(metafuzzer.Funcs, r, scheme.Codecs), rand: r, list: &corev1.PodList{}, rv: 100}
	for i := range n {
		p := list.Items[i%4].DeepCopy()
		p.Namespace, p.Name, p.UID = "ns", fmt.Sprintf("pod-%d", i), ""
		rs.list.Items = append(rs.list.Items, *p)
		rs.change(i)
	}
	return rs
}

// change makes the next version of a pod, in which some of it is new.
func (rs *replicas) change(i int) *corev1.Pod {
	p := &rs.list.Items[i]
	switch rs.rand.Intn(5) {
	case 0:
		rs.fill.Fill(&p.Status)
	case 1:
		rs.fill.Fill(&p.Labels)
	case 2:
		if len(p.ManagedFields) > 0 {
			rs.fill.Fill(&p.ManagedFields[0].Time)
		}
	case 3:
		rs.fill.Fill(&p.Status.Conditions)
	}
	// A Quantity behind a pointer may be written to by its String, so it is
	// not compared, and its pod not kept.
	if f := reflect.ValueOf(&p.Status).Elem().FieldByName("NodeAllocatableResourceClaimStatuses"); f.IsValid() { // since 0.36
		f.SetZero()
	}
	rs.rv++
	p.ResourceVersion = strconv.Itoa(rs.rv)
	rs.list.ResourceVersion = p.ResourceVersion
	return p
}

// TestObjectsThatShareEqualThoseThatAreDecodedAlone follows a collection by
// list, watch and list again, twice: with what is held, and by apimachinery's
// decoders. In the end the objects of all versions are compared, so that one
// that was written to after it had been handed out shows.
func TestObjectsThatShareEqualThoseThatAreDecodedAlone(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name+", typed", func(t *testing.T) { followTwice[*corev1.Pod](t, c, nil) })
		t.Run(c.name+", typed, in an interface", func(t *testing.T) { followTwice[metav1.Object](t, c, &corev1.Pod{}) })
		t.Run(c.name+", metadata", func(t *testing.T) { followTwice[*metav1.PartialObjectMetadata](t, c, nil) })
		t.Run(c.name+", metadata, in an interface", func(t *testing.T) { followTwice[any](t, c, &metav1.PartialObjectMetadata{}) })
	}
	t.Run("JSON, unstructured", func(t *testing.T) { followTwice[*unstructured.Unstructured](t, codecs()[1], nil) })
	t.Run("JSON, unstructured, in an interface", func(t *testing.T) { followTwice[any](t, codecs()[1], unstructuredPod()) })
}

// leanOptions are options that leave nothing out, or more and more.
func leanOptions(metadata bool) []Options {
	some := func(key store.Key, labels map[string]string, owners []metav1.OwnerReference) bool {
		return len(key.Name)%2 == 0 || len(labels) > 2 || len(owners) > 2
	}
	keep := []string{"metadata.annotations", "metadata.managedFields.time"}
	if !metadata {
		keep = append(keep, "spec.containers.image", "spec.volumes", "status.conditions.type", "status.phase")
	}
	return []Options{{}, {Drop: []string{DropManagedFields}}, {Whole: some}, {Keep: keep}, {Keep: keep, Drop: []string{"metadata.annotations"}, Whole: some}}
}

func followTwice[T any](t *testing.T, c codecFor, example runtime.Object) {
	kind := must(expect[T](example))
	for _, opts := range leanOptions(kind.typ == partialType) {
		opts.Example = example
		followWith[T](t, c, opts)
	}
}

func followWith[T any](t *testing.T, c codecFor, opts Options) {
	example := opts.Example
	// More than one core has to be at it.
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	pods := 60
	if example != nil {
		// How a T holds its object does not depend on what there is to share.
		pods = 12
	}
	rs := newReplicas(t, pods)
	kind := must(expect[T](example))
	partial := kind.typ == partialType
	shared := must(decoderOf[T](podGVR.GroupVersion(), opts))
	// reduced are items of whole objects without what the options leave out.
	reduced := func(items ...Item[T]) []Item[T] {
		for i := range items {
			if err := shared.codec.reduce(items[i].Object); err != nil {
				t.Fatal(err)
			}
		}
		return items
	}
	alone := must(decoderOf[T](podGVR.GroupVersion(), Options{Example: example, DisableSharing: true}))
	s := newSink[T]()
	var all, want []T
	relist := func() {
		body := c.object(rs.list)
		var got, ref listed[T]
		if err := shared.list(false, bytes.NewReader(body), s.get, nil, got.page); err != nil {
			t.Fatal(err)
		}
		if err := alone.list(false, bytes.NewReader(body), nil, nil, ref.page); err != nil {
			t.Fatal(err)
		}
		got.check(t, nil)
		reduced(ref.items...)
		for i, it := range got.items {
			sameItem(t, withoutMemo(it), ref.items[i])
			s.put(it)
			all, want = append(all, it.Object), append(want, ref.items[i].Object)
		}
	}
	relist()
	for range 6 {
		var stream []byte
		for range pods * 2 / 3 {
			p := rs.change(rs.rand.Intn(len(rs.list.Items)))
			frame := c.frame("MODIFIED", p)
			if partial {
				meta := &metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta}
				meta.SetGroupVersionKind(partialKind)
				frame = jsonFrame("MODIFIED", meta)
				if c.name == "protobuf" {
					frame = protoFrameOf("MODIFIED", enveloped("meta.k8s.io/v1", partialKind.Kind, must(meta.Marshal())))
				}
			}
			stream = append(stream, frame...)
		}
		var got, ref watched[T]
		if err := shared.watch(bytes.NewReader(stream), s.get, nil, got.batch); err != nil {
			t.Fatal(err)
		}
		if err := alone.watch(bytes.NewReader(stream), nil, nil, ref.batch); err != nil {
			t.Fatal(err)
		}
		for i, e := range got.events {
			sameItem(t, withoutMemo(e.Item), reduced(ref.events[i].Item)[0])
			s.put(e.Item)
			all, want = append(all, e.Object), append(want, ref.events[i].Object)
		}
		relist()
	}
	for i := range all {
		if !reflect.DeepEqual(all[i], want[i]) {
			t.Fatalf("object %d of %d is not what it was", i, len(all))
		}
	}
}

func withoutMemo[T any](it Item[T]) Item[T] {
	it.Memo, it.Size = nil, 0 // as what a client decodes
	return it
}

// TestARelistKeepsThePointersOfWhatDidNotChange, also after a watch, whose
// JSON says the kind where a list's does not.
func TestARelistKeepsThePointersOfWhatDidNotChange(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name+", typed", func(t *testing.T) { relistTwice[*corev1.Pod](t, c, nil) })
		t.Run(c.name+", typed, in an interface", func(t *testing.T) { relistTwice[any](t, c, &corev1.Pod{}) })
	}
	t.Run("JSON, unstructured", func(t *testing.T) { relistTwice[*unstructured.Unstructured](t, codecs()[1], nil) })
	t.Run("JSON, unstructured, in an interface", func(t *testing.T) { relistTwice[any](t, codecs()[1], unstructuredPod()) })
}

func relistTwice[T comparable](t *testing.T, c codecFor, example runtime.Object) {
	for _, opts := range leanOptions(false) {
		opts.Example = example
		relistWith[T](t, c, opts)
	}
}

func relistWith[T comparable](t *testing.T, c codecFor, opts Options) {
	rs := newReplicas(t, 40)
	dec := must(decoderOf[T](podGVR.GroupVersion(), opts))
	s := newSink[T]()
	remembered := 0
	relist := func() (same int) {
		remembered = 0
		var got listed[T]
		if err := dec.list(false, bytes.NewReader(c.object(rs.list)), s.get, nil, got.page); err != nil {
			t.Fatal(err)
		}
		for _, it := range got.items {
			old, memo, _ := s.get(it.Key)
			// Nothing is remembered of what had to be left to apimachinery: an
			// object with a Quantity that would write to itself, for example.
			if old == it.Object || memo == nil {
				same++
			}
			if memo != nil {
				remembered++
			}
			s.put(it)
		}
		return same
	}
	relist()
	if same := relist(); same != 40 {
		t.Errorf("%d of 40 pods kept", same)
	}
	var got watched[T]
	var stream []byte
	for i := range 10 {
		stream = append(stream, c.frame("MODIFIED", rs.change(i))...)
	}
	if err := dec.watch(bytes.NewReader(stream), s.get, nil, got.batch); err != nil {
		t.Fatal(err)
	}
	for _, e := range got.events {
		s.put(e.Item)
	}
	// What a fuzzer puts into a status may hold what cannot be compared.
	if same := relist(); same < 36 {
		t.Errorf("%d of 40 pods kept after a watch", same)
	}
	if remembered < 30 {
		t.Errorf("%d of 40 pods remembered", remembered)
	}
	rs.change(3)
	if same := relist(); same != 39 {
		t.Errorf("%d pods kept when one has changed", same)
	}
}

// TestWhatIsAskedForWithoutHeldSharesNothing writes to everything that two
// equal objects are made of.
func TestWhatIsAskedForWithoutHeldSharesNothing(t *testing.T) {
	for _, c := range codecs() {
		p := pod("ns", "a", "1")
		p.Labels["a-label-that-is-long-enough"] = "to be worth sharing, and more"
		dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{}))
		body := c.object(&corev1.PodList{Items: []corev1.Pod{*p, *p, *p}})
		var got listed[*corev1.Pod]
		if err := dec.list(false, bytes.NewReader(body), nil, nil, got.page); err != nil {
			t.Fatal(err)
		}
		for i, it := range got.items {
			it.Object.Labels["i"] = fmt.Sprint(i)
			it.Object.Spec.Containers[0].Image = fmt.Sprint(i)
		}
		for i, it := range got.items {
			if it.Memo != nil || it.Object.Labels["i"] != fmt.Sprint(i) || it.Object.Spec.Containers[0].Image != fmt.Sprint(i) {
				t.Errorf("%s: pod %d shares with another", c.name, i)
			}
		}
	}
}

// TestDroppedFieldsAreNotThere, and everything else is.
func TestDroppedFieldsAreNotThere(t *testing.T) {
	for _, sharing := range []bool{true, false} {
		for _, c := range codecs() {
			rs := newReplicas(t, 20)
			dec := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{
				Drop: []string{DropManagedFields, "spec.containers.env"}, DisableSharing: !sharing}))
			alone := must(decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{DisableSharing: true}))
			s := newSink[*corev1.Pod]()
			for range 3 {
				body := c.object(rs.list)
				var got, ref listed[*corev1.Pod]
				if err := dec.list(false, bytes.NewReader(body), s.get, nil, got.page); err != nil {
					t.Fatal(err)
				}
				if err := alone.list(false, bytes.NewReader(body), nil, nil, ref.page); err != nil {
					t.Fatal(err)
				}
				for i, it := range got.items {
					want := ref.items[i].Object
					want.ManagedFields = nil
					want.SetSelfLink(objectmeta.Partial)
					for j := range want.Spec.Containers {
						want.Spec.Containers[j].Env = nil
					}
					sameItem(t, withoutMemo(it), ItemOf(want))
					s.put(it)
				}
				rs.change(rs.rand.Intn(20))
			}
		}
	}
	if _, err := decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{Drop: []string{"metadata.managedField"}}); err == nil {
		t.Error("a path that does not exist was taken")
	}
}

func TestLookupsAreCountedOnceABatchHasBeenDecoded(t *testing.T) {
	sharing := NewSharing(0)
	if other := NewSharing(0); sharing.ID() == 0 || sharing.ID() == other.ID() {
		t.Errorf("IDs %d and %d", sharing.ID(), other.ID())
	}
	dec, err := decoderOf[*corev1.Pod](podGVR.GroupVersion(), Options{Sharing: sharing})
	if err != nil {
		t.Fatal(err)
	}
	rs, s := newReplicas(t, 40), newSink[*corev1.Pod]()
	var before SharingStats
	for round := range 3 {
		body := codecs()[0].object(rs.list)
		if err := dec.list(false, bytes.NewReader(body), s.get, nil, func(Page[*corev1.Pod]) error { return nil }); err != nil {
			t.Fatal(err)
		}
		st := sharing.Stats()
		if looked := st.Hits + st.Misses - before.Hits - before.Misses; looked == 0 {
			t.Errorf("round %d: no lookup", round)
		}
		if round > 0 && st.Hits == before.Hits {
			t.Errorf("round %d: no hit, although all was decoded before", round)
		}
		before = st
	}
}

func TestSourcesOfAProgramShareOneTable(t *testing.T) {
	through := func(opts Options) *Sharing {
		return must(FromConfig[*corev1.Pod](serve(t, answer("", nil)), podGVR, opts)).Traits().Shared
	}
	first := through(Options{})
	if second := through(Options{}); first == nil || first != second || first != orDefault(nil) {
		t.Errorf("two sources share through %v and %v, the program through %v", first, second, orDefault(nil))
	}
	given := NewSharing(0)
	if got := through(Options{Sharing: given}); got != given {
		t.Errorf("with a Sharing in its options: %v", got)
	}
	SetDefaultSharing(given)
	if got := through(Options{}); got != given {
		t.Errorf("with a Sharing for the program: %v", got)
	}
	SetDefaultSharing(nil)
	if got := through(Options{}); got != first {
		t.Errorf("once that was undone: %v, not what there was before", got)
	}
	goruntime.KeepAlive(first)
}

func TestNothingIsLeftOfATableThatNoSourceHas(t *testing.T) {
	// Sources of other tests may have what was made before.
	byDefault.made = weak.Pointer[Sharing]{}
	id := orDefault(nil).ID()
	for deadline := time.Now().Add(10 * time.Second); byDefault.made.Value() != nil; goruntime.GC() {
		if time.Now().After(deadline) {
			t.Fatal("the table is still there")
		}
	}
	if got := orDefault(nil).ID(); got == id {
		t.Errorf("the next one has the ID %d too", id)
	}
}
