package source

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

// TestMetadataHasTheKindThatTheExampleNames: from lists and watches, behind an
// interceptor and not.
func TestMetadataHasTheKindThatTheExampleNames(t *testing.T) {
	pods := corev1.SchemeGroupVersion.WithKind("Pod")
	for _, named := range []schema.GroupVersionKind{{}, pods} {
		for _, bare := range []bool{false, true} {
			example := &metav1.PartialObjectMetadata{}
			example.SetGroupVersionKind(named)
			k, err := newKind[any](corev1.SchemeGroupVersion, &Options{Example: example})
			if err != nil {
				t.Fatal(err)
			}
			k.bare = bare
			want := named
			if named.Empty() && !bare {
				want = partialKind
			}
			d, err := newDecoder[any](corev1.SchemeGroupVersion, &Options{Example: example})
			if err != nil {
				t.Fatal(err)
			}
			d.codec.kind.bare = bare
			raw := []byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"1"}}`)
			r := d.codec.reader(nil)
			item := r.watched(encoding.JSON, encoding.Object{Raw: raw})
			if item.Err != nil {
				t.Fatal(item.Err)
			}
			if got := objectKind(item.Object); got != want {
				t.Errorf("example of %v, bare %v: a watch has %v, want %v", named, bare, got, want)
			}
			held := d.codec.reader(func(store.Key) (any, store.Memo, bool) { return item.Object, item.Memo, true })
			again, _ := held.listed(encoding.JSON, raw, partialKind)
			if again.Err != nil {
				t.Fatal(again.Err)
			}
			if got := objectKind(again.Object); got != want && !named.Empty() {
				t.Errorf("example of %v, bare %v: a list has %v, want %v", named, bare, got, want)
			}
		}
	}
}
