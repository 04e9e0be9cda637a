package source

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/store"
)

// metadataClosures are those of a metadata informer.
func metadataClosures(cfg *rest.Config) ListerWatcher {
	client := must(metadata.NewForConfig(cfg)).Resource(podGVR)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, o)
		},
	}
}

// TestAnInterceptorDoesNotWriteToMetadataThatIsHeld: one interceptor lists and watches the
// same metadata in both encodings, in all orders of four answers. What it
// handed out stays as it was, and is what the client returns, unless it is
// held: then it keeps the kind that it has, or has none.
func TestAnInterceptorDoesNotWriteToMetadataThatIsHeld(t *testing.T) {
	objects := []metav1.PartialObjectMetadata{*partialOf(pod("ns", "a", "1")), *partialOf(pod("ns", "b", "2"))}
	partials := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "12"},
		Items:    objects,
	}
	var c codecFor
	handler := func(w http.ResponseWriter, r *http.Request) {
		body := c.object(partials)
		if r.URL.Query().Get("watch") != "" {
			body = nil
			for i := range objects {
				body = append(body, c.frame("ADDED", &objects[i])...)
			}
		}
		answer(c.contentType, body)(w, r)
	}
	through, plainly := wrapped(serve(t, handler)), serve(t, handler)
	plain := must(FromListerWatcher[*metav1.PartialObjectMetadata](metadataClosures(plainly), Options{}))
	ask := func(src Source[*metav1.PartialObjectMetadata], watch bool, held Held[*metav1.PartialObjectMetadata]) []Item[*metav1.PartialObjectMetadata] {
		if watch {
			got, err := watchAll(t, src, WatchRequest[*metav1.PartialObjectMetadata]{Held: held})
			if err != nil {
				t.Fatal(err)
			}
			return itemsOf(got.events)
		}
		got, err := list(t, src, ListRequest[*metav1.PartialObjectMetadata]{Held: held})
		if err != nil {
			t.Fatal(err)
		}
		return got.items
	}
	for order := range 4 * 4 * 4 * 4 {
		src := recorded(must(FromListerWatcher[*metav1.PartialObjectMetadata](metadataClosures(through), Options{Intercept: true})))
		s := newSink[*metav1.PartialObjectMetadata]()
		var all, was []*metav1.PartialObjectMetadata
		name := ""
		for step := range 4 {
			choice := order >> (2 * step) & 3
			watch := choice&1 != 0
			c = codecs()[choice>>1]
			name += fmt.Sprintf("%s, watch %v; ", c.name, watch)
			got, want := ask(src, watch, s.get), ask(plain, watch, nil)
			if len(got) != len(objects) || len(want) != len(objects) {
				t.Fatalf("%s%d and %d objects", name, len(got), len(want))
			}
			for i, it := range got {
				held, _, _ := s.get(it.Key)
				if !reflect.DeepEqual(it.Object, want[i].Object) && held != it.Object {
					t.Errorf("%sobject %d is %+v, want %+v", name, i, it.Object, want[i].Object)
				}
				s.put(it)
				all, was = append(all, it.Object), append(was, it.Object.DeepCopy())
			}
			for i := range all {
				if !reflect.DeepEqual(all[i], was[i]) {
					t.Fatalf("%sobject %d became %+v, was %+v", name, i, all[i].TypeMeta, was[i].TypeMeta)
				}
			}
		}
		checkStats(t, src, 4, 0, nil)
	}
}

// TestMetadataHasTheKindThatTheExampleNames: from lists and watches, behind an
// interceptor and not.
func TestMetadataHasTheKindThatTheExampleNames(t *testing.T) {
	pods := corev1.SchemeGroupVersion.WithKind("Pod")
	for _, named := range []schema.GroupVersionKind{{}, pods} {
		for _, bare := range []bool{false, true} {
			example := &metav1.PartialObjectMetadata{}
			example.SetGroupVersionKind(named)
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
