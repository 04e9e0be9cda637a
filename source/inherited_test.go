package source

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
)

// Types that inherit the methods of a type that they embed: each method knows that part
// alone. kindItself inherits Unmarshal from its ObjectMeta as well.
type (
	inheritsAll struct {
		metav1.PartialObjectMetadata `json:",inline"`
		Spec                         map[string]string `json:"spec,omitempty"`
	}
	inheritsByPointer struct {
		*corev1.ConfigMap
		Spec map[string]string `json:"spec,omitempty"`
	}
	inheritsDeeper struct {
		inheritsAll `json:",inline"`
		Status      string `json:"status,omitempty"`
	}
	// declares has an Unmarshal of its own, though by hand.
	declares struct {
		metav1.PartialObjectMetadata `json:",inline"`
		Spec                         map[string]string `json:"spec,omitempty"`
	}
)

func (d *declares) Unmarshal(b []byte) error {
	d.Spec = map[string]string{"read": "by hand"}
	return d.PartialObjectMetadata.Unmarshal(b)
}

func TestATypeThatInheritsItsUnmarshalIsReadFromJSONAndSaysSo(t *testing.T) {
	t.Run("partial", inherits[inheritsAll])
	t.Run("pointer", inherits[inheritsByPointer])
	t.Run("deeper", inherits[inheritsDeeper])
	t.Run("metadata", inherits[kindItself])
	dec := must(newDecoder[*declares](podGVR.GroupVersion(), &Options{}))
	if accept := must(dec.codec.accept("", false, false)); !strings.Contains(accept, runtime.ContentTypeProtobuf) || dec.codec.slow != nil {
		t.Errorf("one with its own asks for %q: %v", accept, dec.codec.slow)
	}
}

func inherits[E any](t *testing.T) {
	for _, opts := range []Options{{}, {DisableSharing: true}} {
		opts.Example = any(new(E)).(runtime.Object)
		dec := must(newDecoder[runtime.Object](kindGV, &opts))
		for _, watch := range []bool{false, true} {
			if accept := must(dec.codec.accept("", watch, false)); accept != runtime.ContentTypeJSON {
				t.Errorf("asks for %q", accept)
			}
		}
		var got listed[runtime.Object]
		var last ReadPath
		if err := dec.list(false, bytes.NewReader(kindList[E](true)), nil, func(p ReadPath) { last = p }, got.page); err != nil {
			t.Fatal(err)
		}
		why := ErrInheritedUnmarshal
		if opts.DisableSharing {
			why = ErrSharingDisabled
		}
		official := dec.codec.wire == nil
		if last.Path != PathJSON || !opts.DisableSharing && !official && (!errors.Is(last.Why, why) || last.Lost()) {
			t.Errorf("%v because of %v", last.Path, last.Why)
		}
		want := officially[E](kindObject[E](true, "a", "1"), false)
		if len(got.items) != 2 || got.items[0].Err != nil || !reflect.DeepEqual(any(got.items[0].Object), want) {
			t.Errorf("%+v, want %+v", got.items, want)
		}
		// A server may send it all the same.
		body := must(inProtobuf().Marshal())
		if obj, err := dec.codec.kind.decode(formats.Protobuf, body); !errors.Is(err, formats.ErrNone) {
			t.Errorf("%+v from protobuf: %v", obj, err)
		}
	}
}

// inProtobuf is an object that protobuf can be made of.
func inProtobuf() *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", ResourceVersion: "1"}}
}

// Its DeepCopyObject returns another type: that is an error of the answer, not a panic of
// the writer.
func TestAnAnswerWhoseCopyIsOfAnotherTypeIsRefused(t *testing.T) {
	obj := &inheritsAll{PartialObjectMetadata: *inProtobuf(), Spec: map[string]string{"a": "b"}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "inheritsAll"})
	typed := must(newDecoder[*inheritsAll](kindGV, &Options{}))
	if it, err := typed.codec.answer(Answer{Object: obj}); err == nil || !strings.Contains(err.Error(), "DeepCopyObject") {
		t.Errorf("%+v, %v", it.Object, err)
	}
	untyped := must(newDecoder[any](kindGV, &Options{Example: obj}))
	if it, err := untyped.codec.answer(Answer{Object: obj}); err == nil || !strings.Contains(err.Error(), "DeepCopyObject") {
		t.Errorf("%+v, %v", it.Object, err)
	}
}
