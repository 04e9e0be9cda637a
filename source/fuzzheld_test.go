package source

import (
	"bytes"
	"io"
	"math/rand"
	"reflect"
	goruntime "runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// heldRounds decodes input, and input with some bytes changed, in turns with
// one decoder that knows what was decoded before, and shares. The stream comes
// in pieces of any size. Each time the items are those that apimachinery's
// decoders make of the same bytes, with the errors that they have; and in the
// end those of all rounds still are.
//
// decode decodes a stream with dec, asking held, and returns the items that it
// yielded.
func heldRounds[T any](t *testing.T, input []byte, decode func(dec *decoder[T], r io.Reader, held Held[T]) ([]Item[T], error)) {
	rnd := randomFor(input)
	shared := fuzzDecoder[T]()
	alone := must(decoderOf[T](podGVR.GroupVersion(), Options{MaxObjectBytes: fuzzLimit, DisableSharing: true}))
	s := newSink[T]()
	var all, want []Item[T]
	mutated := mutate(rnd, input)
	for round, body := range [][]byte{mutated, input, input, mutate(rnd, input), mutated, input} {
		got, err := decode(shared, &pieces{rnd, bytes.NewReader(body)}, s.get)
		ref, refErr := decode(alone, bytes.NewReader(body), nil)
		if (err == nil) != (refErr == nil) {
			t.Fatalf("round %d: %v; alone: %v", round, err, refErr)
		}
		if len(got) != len(ref) {
			t.Fatalf("round %d: %d items; alone: %d", round, len(got), len(ref))
		}
		for i, it := range got {
			equalItem(t, it, ref[i])
			if it.Err == nil {
				s.put(it)
			}
		}
		all, want = append(all, got...), append(want, ref...)
	}
	for i := range all {
		equalItem(t, all[i], want[i])
	}
}

// equalItem is sameItem, and the errors have the same words.
func equalItem[T any](t *testing.T, got, want Item[T]) {
	if got.Err != nil && want.Err != nil && got.Err.Error() != want.Err.Error() {
		t.Errorf("error %q, or %q", got.Err, want.Err)
	}
	got.Memo = nil
	if p, ok := any(got.Object).(*corev1.Pod); ok && p != nil && want.Err == nil {
		// A typed object that is held keeps its kind, or has none, whatever
		// the next list says.
		c := *p
		c.TypeMeta = any(want.Object).(*corev1.Pod).TypeMeta
		got.Object = any(&c).(T)
	}
	if !reflect.DeepEqual(got.Object, want.Object) {
		sameItem(t, got, want)
		return
	}
	want.Object = got.Object
	sameItem(t, got, want)
}

// randomFor is random numbers that follow from the input alone, so that a
// worker's run and its repetition are the same.
func randomFor(input []byte) *rand.Rand {
	sum := int64(len(input))
	for _, b := range input {
		sum = sum*1099511628211 ^ int64(b) // FNV's prime
	}
	return rand.New(rand.NewSource(sum))
}

// mutate returns another version of some objects: a few bytes are others.
func mutate(rnd *rand.Rand, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + rnd.Intn(4) {
		if len(b) == 0 {
			return b
		}
		i := rnd.Intn(len(b))
		switch rnd.Intn(4) {
		case 0:
			b[i] ^= 1 << rnd.Intn(8)
		case 1:
			b[i] = byte(rnd.Intn(256))
		default:
			// Text stays text, of the same length.
			for n := range len(b) {
				if c := b[(i+n)%len(b)]; c >= 'a' && c < 'z' || c >= '0' && c < '9' {
					b[(i+n)%len(b)]++
					break
				}
			}
		}
	}
	return b
}

// pieces reads as much as it likes, and sometimes nothing.
type pieces struct {
	rnd *rand.Rand
	r   *bytes.Reader
}

func (p *pieces) Read(b []byte) (int, error) {
	most := 1 << p.rnd.Intn(12)
	return p.r.Read(b[:min(len(b), p.rnd.Intn(most+1))])
}

// TestDisturbedBytesAreDecodedAsApimachineryDoesWhateverIsHeld is what the fuzz
// targets hold, for pods as fuzzers fill them, under the race detector.
func TestDisturbedBytesAreDecodedAsApimachineryDoesWhateverIsHeld(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(4))
	seed := int64(testkit.Seed(t))
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
		err := dec.list(false, r, held, nil, got.page)
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
