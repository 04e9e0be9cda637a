package replay

import (
	"bytes"
	"io"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/kubernetes/scheme"
)

// official encodes with apimachinery, as kube-apiserver does.
type official struct {
	object, event runtime.Encoder
	framer        runtime.Framer
}

func officials() map[Encoding]official {
	text := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{})
	binary := official{
		object: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
		event:  protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme),
		framer: protobuf.LengthDelimitedFramer,
	}
	return map[Encoding]official{Protobuf: binary, Metadata: binary, JSON: {object: text, event: text, framer: json.Framer}}
}

func (o official) frame(t *testing.T, eventType string, obj runtime.Object) []byte {
	t.Helper()
	var raw, out bytes.Buffer
	if err := o.object.Encode(obj, &raw); err != nil {
		t.Fatal(err)
	}
	event := &metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: raw.Bytes()}}
	if err := streaming.NewEncoder(o.framer.NewFrameWriter(struct{ io.Writer }{&out}), o.event).Encode(event); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFramesAreWhatApimachineryWrites compares bytes, of bookmarks, small objects and
// those whose lengths take one, two and three bytes.
func TestFramesAreWhatApimachineryWrites(t *testing.T) {
	for e, o := range officials() {
		frame := func(eventType string, obj []byte, meta metav1.ObjectMeta) {
			t.Helper()
			var official runtime.Object = &corev1.Pod{TypeMeta: e.item(), ObjectMeta: meta}
			if e == Metadata {
				official = &metav1.PartialObjectMetadata{TypeMeta: e.item(), ObjectMeta: meta}
			}
			got, want := e.appendFrame(nil, eventType, e.item(), obj), o.frame(t, eventType, official)
			if !bytes.Equal(got, want) {
				t.Fatalf("%s, %d bytes:\n%q\n%q", e, len(obj), got[:min(200, len(got))], want[:min(200, len(want))])
			}
		}
		for _, size := range []int{0, 1, 60, 100, 127, 128, 200, 16_200, 16_383, 16_384, 3_000_000} {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "7"}}
			if size > 0 {
				p.Annotations = map[string]string{"a": string(bytes.Repeat([]byte{'x'}, size))}
			}
			obj, err := e.pod(p)
			if err != nil {
				t.Fatal(err)
			}
			frame("MODIFIED", obj, p.ObjectMeta)
		}
		b, err := e.bookmark("12", true)
		if err != nil {
			t.Fatal(err)
		}
		frame("BOOKMARK", b, metav1.ObjectMeta{ResourceVersion: "12", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}})
	}
}

// TestListsAreWhatApimachineryWrites compares the bytes of whole lists.
func TestListsAreWhatApimachineryWrites(t *testing.T) {
	for e, o := range officials() {
		for _, n := range []int{1, 2, 30} {
			p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "7"}}
			meta := metav1.ListMeta{ResourceVersion: "99", Continue: "more", RemainingItemCount: new(int64(5))}
			var list runtime.Object = &corev1.PodList{TypeMeta: e.list(), ListMeta: meta, Items: slices.Repeat([]corev1.Pod{p}, n)}
			if e == Metadata {
				items := slices.Repeat([]metav1.PartialObjectMetadata{{ObjectMeta: p.ObjectMeta}}, n)
				list = &metav1.PartialObjectMetadataList{TypeMeta: e.list(), ListMeta: meta, Items: items}
			}
			obj, err := e.pod(&p)
			if err != nil {
				t.Fatal(err)
			}
			var items []byte
			for i := range n {
				items = e.appendItem(items, i == 0, obj)
			}
			var want bytes.Buffer
			if err := o.object.Encode(list, &want); err != nil {
				t.Fatal(err)
			}
			got, err := e.listHead(meta, len(items))
			if err != nil {
				t.Fatal(err)
			}
			got = append(append(got, items...), e.listTail()...)
			if !bytes.Equal(got, want.Bytes()) {
				t.Fatalf("%s, %d items:\n%q\n%q", e, n, got, want.Bytes())
			}
		}
	}
}
