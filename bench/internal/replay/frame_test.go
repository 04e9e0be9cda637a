package replay

import (
	"bytes"
	"io"
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
	return map[Encoding]official{
		Protobuf: {
			object: protobuf.NewSerializer(scheme.Scheme, scheme.Scheme),
			event:  protobuf.NewRawSerializer(scheme.Scheme, scheme.Scheme),
			framer: protobuf.LengthDelimitedFramer,
		},
		JSON: {object: text, event: text, framer: json.Framer},
	}
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

// TestFramesAreWhatApimachineryWrites compares bytes, of small objects and of
// those whose lengths take one, two and three bytes.
func TestFramesAreWhatApimachineryWrites(t *testing.T) {
	for e, o := range officials() {
		for _, size := range []int{0, 1, 60, 100, 127, 128, 200, 16_200, 16_383, 16_384, 3_000_000} {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "7"}}
			p.APIVersion, p.Kind = "v1", "Pod"
			if size > 0 {
				p.Annotations = map[string]string{"a": string(bytes.Repeat([]byte{'x'}, size))}
			}
			obj, err := e.pod(p)
			if err != nil {
				t.Fatal(err)
			}
			want := o.frame(t, "MODIFIED", p)
			if got := e.appendFrame(nil, "MODIFIED", e.item(), obj); !bytes.Equal(got, want) {
				t.Fatalf("%s, %d bytes:\n%q\n%q", e, size, got[:min(200, len(got))], want[:min(200, len(want))])
			}
		}
		b, err := e.bookmark("12", true)
		if err != nil {
			t.Fatal(err)
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "12", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
		p.APIVersion, p.Kind = "v1", "Pod"
		if got, want := e.appendFrame(nil, "BOOKMARK", e.item(), b), o.frame(t, "BOOKMARK", p); !bytes.Equal(got, want) {
			t.Fatalf("%s: %q\n%q", e, got, want)
		}
	}
}

// TestListsAreWhatApimachineryWrites compares the bytes of whole lists.
func TestListsAreWhatApimachineryWrites(t *testing.T) {
	for e, o := range officials() {
		for _, n := range []int{1, 2, 30} {
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "99", Continue: "more", RemainingItemCount: new(int64(5))}}
			list.APIVersion, list.Kind = "v1", "PodList"
			var items []byte
			for i := range n {
				p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "7"}}
				list.Items = append(list.Items, p)
				obj, err := e.pod(&p)
				if err != nil {
					t.Fatal(err)
				}
				items = e.appendItem(items, i == 0, obj)
			}
			var want bytes.Buffer
			if err := o.object.Encode(list, &want); err != nil {
				t.Fatal(err)
			}
			got, err := e.listHead(list.ListMeta, len(items))
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

// TestMetadataIsFramedAndListedAsApimachineryWritesIt compares the bytes of
// an event and of a list.
func TestMetadataIsFramedAndListedAsApimachineryWritesIt(t *testing.T) {
	o := officials()[Protobuf]
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ResourceVersion: "7", Labels: map[string]string{"a": "b"}}}
	p.Spec.NodeName = "not to be seen"
	obj, err := Metadata.pod(&p)
	if err != nil {
		t.Fatal(err)
	}
	partial := metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta}
	list := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "99"}, Items: []metav1.PartialObjectMetadata{partial, partial},
	}
	var want bytes.Buffer
	if err := o.object.Encode(list, &want); err != nil {
		t.Fatal(err)
	}
	items := Metadata.appendItem(Metadata.appendItem(nil, true, obj), false, obj)
	got, err := Metadata.listHead(list.ListMeta, len(items))
	if err != nil {
		t.Fatal(err)
	}
	got = append(append(got, items...), Metadata.listTail()...)
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%q\n%q", got, want.Bytes())
	}
	partial.TypeMeta = metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	if got, want := Metadata.appendFrame(nil, "ADDED", Metadata.item(), obj), o.frame(t, "ADDED", &partial); !bytes.Equal(got, want) {
		t.Errorf("%q\n%q", got, want)
	}
}
