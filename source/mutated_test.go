package source

import (
	"bytes"
	"io"
	"math/rand"
	goruntime "runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/testseed"
)

// TestDisturbedBytesAreDecodedAsApimachineryDoesWhateverIsHeld is what the fuzz
// targets hold, for pods as fuzzers fill them, under the race detector.
func TestDisturbedBytesAreDecodedAsApimachineryDoesWhateverIsHeld(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	seed := int64(testseed.Of(t))
	rnd := rand.New(rand.NewSource(seed))
	rs := newReplicas(t, 12)
	for _, c := range codecs() {
		for range 4 {
			for range 3 {
				rs.change(rnd.Intn(len(rs.list.Items)))
			}
			body := mutate(rnd, c.object(rs.list))
			var stream []byte
			for i := range 6 {
				stream = append(stream, c.frame([]string{"ADDED", "MODIFIED", "DELETED"}[i%3], &rs.list.Items[rnd.Intn(12)])...)
			}
			stream = mutate(rnd, stream)
			heldLists[*corev1.Pod](t, body)
			heldLists[*unstructured.Unstructured](t, body)
			heldLists[*metav1.PartialObjectMetadata](t, body)
			heldWatches[*corev1.Pod](t, stream)
			heldWatches[*unstructured.Unstructured](t, stream)
			heldWatches[*metav1.PartialObjectMetadata](t, stream)
		}
	}
}

func heldLists[T any](t *testing.T, body []byte) {
	heldRounds(t, body, func(dec *decoder[T], r io.Reader, held Held[T]) ([]Item[T], error) {
		var got listed[T]
		err := dec.list(r, held, nil, got.page)
		return got.items, err
	})
}

func heldWatches[T any](t *testing.T, stream []byte) {
	heldRounds(t, stream, func(dec *decoder[T], r io.Reader, held Held[T]) ([]Item[T], error) {
		var got watched[T]
		err := dec.watch(r, held, nil, got.batch)
		return itemsOf(got.events), err
	})
}

func TestAnObjectThatIsHeldIsNotGivenAnotherKind(t *testing.T) {
	// The server's answer is of another kind than the one before, and so is
	// what stands in it; what was handed out before must not be touched.
	lists := []string{
		`{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"},"spec":{"a":"a value that is long enough"}}]}`,
		`{"kind":"PeaList","apiVersion":"v1","items":[{"metadata":{"name":"a"},"spec":{"a":"a value that is long enough"}}]}`,
		`{"items":[{"metadata":{"name":"a"},"spec":{"a":"a value that is long enough"}}],"kind":"PodList","apiVersion":"v1"}`,
		`{"items":[{"kind":"Bean","apiVersion":"v1","metadata":{"name":"a"},"spec":{"a":"a value that is long enough"}}],"kind":"PodList","apiVersion":"v1"}`,
		`{"items":[{"metadata":{"name":"a"},"spec":{"a":"a value that is long enough"}}],"kind":"PodList","apiVersion":"v1"}`,
	}
	dec := must(decoderOf[*unstructured.Unstructured](podGVR.GroupVersion(), Options{}))
	s := newSink[*unstructured.Unstructured]()
	var all []*unstructured.Unstructured
	for _, body := range lists {
		var got listed[*unstructured.Unstructured]
		if err := dec.list(bytes.NewReader([]byte(body)), s.get, nil, got.page); err != nil {
			t.Fatal(err)
		}
		s.put(got.items[0])
		all = append(all, got.items[0].Object)
	}
	for i, want := range []string{"Pod", "Pea", "Pod", "Bean", "Pod"} {
		if got := all[i].GetKind(); got != want {
			t.Errorf("object %d is a %s, want %s", i, got, want)
		}
	}
	frames := []string{
		`{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"b"}}}`,
		`{"type":"MODIFIED","object":{"metadata":{"name":"b"}}}`,
	}
	var got watched[*unstructured.Unstructured]
	for _, f := range frames {
		if err := dec.watch(bytes.NewReader([]byte(f)), s.get, nil, got.batch); err != nil {
			t.Fatal(err)
		}
		s.put(got.events[0].Item)
	}
	if got.events[0].Err != nil || got.events[1].Err == nil {
		t.Errorf("an event's object that does not say its kind is %+v", got.events[1].Item)
	}
	partial := must(decoderOf[*metav1.PartialObjectMetadata](podGVR.GroupVersion(), Options{}))
	held := newSink[*metav1.PartialObjectMetadata]()
	var seen watched[*metav1.PartialObjectMetadata]
	for _, kind := range []string{"Pod", "Pea", "Pea"} {
		raw := must((&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).Marshal())
		if err := partial.watch(bytes.NewReader(protoFrameOf("ADDED", enveloped("v1", kind, raw))), held.get, nil, seen.batch); err != nil {
			t.Fatal(err)
		}
		held.put(seen.events[len(seen.events)-1].Item)
	}
	if a, b, c := seen.events[0].Object, seen.events[1].Object, seen.events[2].Object; a.Kind != "Pod" || b.Kind != "Pea" || b != c {
		t.Errorf("a %s, then a %s, then another object (%v)", a.Kind, b.Kind, b != c)
	}
}
