package source

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Types of custom resources, by where they keep their kind.

type kindBase struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

type kindMiddle struct {
	kindBase `json:",inline"`
	Level    int `json:"level,omitempty"`
}

// KindPointee is exported, since encoding/json makes no embedded struct of a
// type that is not.
type KindPointee struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

type (
	kindDirect struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              map[string]string `json:"spec,omitempty"`
	}
	kindInBase struct {
		kindBase
		Spec map[string]string `json:"spec,omitempty"`
	}
	kindTwoDown struct {
		Spec map[string]string `json:"spec,omitempty"`
		kindMiddle
	}
	kindBehindPointer struct {
		*KindPointee
		Spec map[string]string `json:"spec,omitempty"`
	}
	// kindOfItsOwn has fields of these names, and no ObjectKind.
	kindOfItsOwn struct {
		Kind              string `json:"kind,omitempty"`
		APIVersion        string `json:"apiVersion,omitempty"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              map[string]string `json:"spec,omitempty"`
	}
	// kindItself is its own ObjectKind.
	kindItself struct {
		Kind              string `json:"kind,omitempty"`
		APIVersion        string `json:"apiVersion,omitempty"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              map[string]string `json:"spec,omitempty"`
	}
	kindShadowed struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Kind              string            `json:"kind,omitempty"`
		Spec              map[string]string `json:"spec,omitempty"`
	}
	versionShadowed struct {
		kindBase
		Version string            `json:"apiVersion,omitempty"`
		Spec    map[string]string `json:"spec,omitempty"`
	}
	// kindElsewhere has a TypeMeta that is a field like any other.
	kindElsewhere struct {
		metav1.TypeMeta   `json:"type"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              map[string]string `json:"spec,omitempty"`
	}
	kindByHand struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Spec map[string]string
	}
	// kindLeftOut reads everything but its kind.
	kindLeftOut struct {
		metav1.ObjectMeta
		Spec map[string]string
	}
)

func (o *kindItself) SetGroupVersionKind(gvk schema.GroupVersionKind) {
	o.APIVersion, o.Kind = gvk.ToAPIVersionAndKind()
}

func (o *kindItself) GroupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)
}

func (o *kindItself) GetObjectKind() schema.ObjectKind   { return o }
func (o *kindOfItsOwn) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (o *kindLeftOut) GetObjectKind() schema.ObjectKind  { return schema.EmptyObjectKind }

func (o *kindByHand) UnmarshalJSON(b []byte) error {
	var d kindDirect
	err := json.Unmarshal(b, &d)
	o.TypeMeta, o.ObjectMeta, o.Spec = d.TypeMeta, d.ObjectMeta, d.Spec
	return err
}

func (o *kindLeftOut) UnmarshalJSON(b []byte) error {
	var d kindDirect
	err := json.Unmarshal(b, &d)
	o.ObjectMeta, o.Spec = d.ObjectMeta, d.Spec
	return err
}

func (o *kindDirect) DeepCopyObject() runtime.Object        { c := *o; return &c }
func (o *kindInBase) DeepCopyObject() runtime.Object        { c := *o; return &c }
func (o *kindTwoDown) DeepCopyObject() runtime.Object       { c := *o; return &c }
func (o *kindBehindPointer) DeepCopyObject() runtime.Object { c := *o; return &c }
func (o *kindOfItsOwn) DeepCopyObject() runtime.Object      { c := *o; return &c }
func (o *kindItself) DeepCopyObject() runtime.Object        { c := *o; return &c }
func (o *kindShadowed) DeepCopyObject() runtime.Object      { c := *o; return &c }
func (o *versionShadowed) DeepCopyObject() runtime.Object   { c := *o; return &c }
func (o *kindElsewhere) DeepCopyObject() runtime.Object     { c := *o; return &c }
func (o *kindByHand) DeepCopyObject() runtime.Object        { c := *o; return &c }
func (o *kindLeftOut) DeepCopyObject() runtime.Object       { c := *o; return &c }

// listOf is the list that a client decodes E into.
type listOf[E any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []E `json:"items"`
}

func (l *listOf[E]) DeepCopyObject() runtime.Object { c := *l; return &c }

var kindGV = schema.GroupVersion{Group: "example.com", Version: "v1"}

// kindName is the kind of a type of this file: its name.
func kindName[E any]() string { return reflect.TypeFor[E]().Name() }

// kindObject is one of them as a server writes it, or without its kind as
// items of built-in lists come.
func kindObject[E any](said bool, name, version string) string {
	kind := ""
	if said {
		kind = fmt.Sprintf(`"apiVersion":%q,"kind":%q,`, kindGV, kindName[E]())
	}
	return fmt.Sprintf(`{%s"metadata":{"name":%q,"resourceVersion":%q,"labels":{"a":"a label that is long enough to be shared"}},`+
		`"spec":{"a":"a value that is long enough to be shared"}}`, kind, name, version)
}

func kindList[E any](said bool) []byte {
	return fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"9"},"items":[%s,%s]}`,
		kindGV, kindName[E]()+"List", kindObject[E](said, "a", "1"), kindObject[E](said, "b", "2"))
}

// kindWatch is a watch-list and what follows it.
func kindWatch[E any]() []byte {
	return fmt.Appendf(nil, `{"type":"ADDED","object":%s}
{"type":"ADDED","object":%s}
{"type":"BOOKMARK","object":{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}}
{ "object":%s, "type":"MODIFIED"}
{"type":"DELETED","object":%s}
`, kindObject[E](true, "a", "1"), kindObject[E](true, "b", "2"), kindGV, kindName[E](),
		kindObject[E](true, "a", "10"), kindObject[E](true, "b", "11"))
}

// officially is what client-go's typed clients return of raw: a watch's object
// without its kind.
func officially[E any](raw string, watched bool) any {
	obj := new(E)
	if err := json.Unmarshal([]byte(raw), obj); err != nil {
		panic(err)
	}
	if watched {
		any(obj).(runtime.Object).GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj
}

// With bytes alone, the rig reads these types.
func TestATypeIsReadThroughAnInterceptorWhereverItKeepsItsKind(t *testing.T) {
	t.Run("TypeMeta of its own", kindIntercepted[kindDirect])
	t.Run("TypeMeta of its base", kindIntercepted[kindInBase])
	t.Run("TypeMeta of its base's base", kindIntercepted[kindTwoDown])
	t.Run("TypeMeta behind a pointer", kindIntercepted[kindBehindPointer])
	t.Run("fields of its own", kindIntercepted[kindOfItsOwn])
	t.Run("fields of its own that are its ObjectKind", kindIntercepted[kindItself])
	t.Run("a kind before that of its TypeMeta", kindIntercepted[kindShadowed])
	t.Run("an apiVersion before that of its base", kindIntercepted[versionShadowed])
	t.Run("TypeMeta under a name", kindIntercepted[kindElsewhere])
	t.Run("UnmarshalJSON", kindIntercepted[kindByHand])
	t.Run("UnmarshalJSON without a kind", kindIntercepted[kindLeftOut])
}

func kindIntercepted[E any](t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		body := kindList[E](true)
		if r.URL.Query().Get("watch") != "" {
			body = kindWatch[E]()
		}
		answer(runtime.ContentTypeJSON, body)(w, r)
	}
	example := any(new(E)).(runtime.Object)
	src := recorded(must(FromListerWatcher[runtime.Object](kindClosures[E](wrapped(serve(t, handler))), Options{Example: example, Intercept: true})))
	plain := must(FromListerWatcher[runtime.Object](kindClosures[E](serve(t, handler)), Options{Example: example}))
	got, err := list(t, src, ListRequest[runtime.Object]{})
	want, plainErr := list(t, plain, ListRequest[runtime.Object]{})
	for i := range got.items {
		got.items[i] = withoutMemo(got.items[i])
	}
	if !reflect.DeepEqual(want.items, got.items) || err != nil || plainErr != nil || len(got.items) != 2 {
		t.Errorf("%v, %v, %+v, want %+v", err, plainErr, got.items, want.items)
	}
	seen, err := watchAll(t, src, WatchRequest[runtime.Object]{SendInitialEvents: true})
	wanted, plainErr := watchAll(t, plain, WatchRequest[runtime.Object]{SendInitialEvents: true})
	if err != nil || plainErr != nil || len(seen.events) != 5 || len(wanted.events) != 5 {
		t.Fatalf("%d and %d events: %v, %v", len(seen.events), len(wanted.events), err, plainErr)
	}
	for i := range seen.events {
		if want, got := wanted.events[i].Item, withoutMemo(seen.events[i].Item); !reflect.DeepEqual(want, got) {
			t.Errorf("event %d: %+v, want %+v", i, got, want)
		}
	}
	checkStats(t, src, 2, 0, nil)
}

// kindClosures are those of a client that a controller's author writes.
func kindClosures[E any](cfg *rest.Config) *cache.ListWatch {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(kindGV.WithKind(kindName[E]()), any(new(E)).(runtime.Object))
	s.AddKnownTypeWithName(kindGV.WithKind(kindName[E]()+"List"), &listOf[E]{})
	metav1.AddToGroupVersion(s, kindGV)
	cfg.APIPath, cfg.GroupVersion = "/apis", &kindGV
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(s).WithoutConversion()
	client := must(rest.RESTClientFor(cfg))
	params := runtime.NewParameterCodec(s)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l := &listOf[E]{}
			return l, client.Get().Resource("things").VersionedParams(&o, params).Do(ctx).Into(l)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.Watch = true
			return client.Get().Resource("things").VersionedParams(&o, params).Watch(ctx)
		},
	}
}

// TestAnObjectWithNothingInItIsOneItemsErrorWhateverItsType: a type whose
// metadata stands behind a pointer has none to read then.
func TestAnObjectWithNothingInItIsOneItemsErrorWhateverItsType(t *testing.T) {
	for _, sharing := range []bool{true, false} {
		dec := must(decoderOf[*kindBehindPointer](kindGV, Options{DisableSharing: !sharing}))
		var got listed[*kindBehindPointer]
		body := fmt.Sprintf(`{"items":[{"spec":{}},%s]}`, kindObject[kindBehindPointer](true, "a", "1"))
		if err := dec.list(false, bytes.NewReader([]byte(body)), nil, nil, got.page); err != nil || len(got.items) != 2 {
			t.Fatalf("%d items: %v", len(got.items), err)
		}
		if got.items[0].Err == nil || got.items[1].Err != nil {
			t.Errorf("%v, %v", got.items[0].Err, got.items[1].Err)
		}
		var seen watched[*kindBehindPointer]
		stream := `{"type":"ADDED","object":{"spec":{}}}` + string(kindWatch[kindBehindPointer]())
		if err := dec.watch(bytes.NewReader([]byte(stream)), nil, nil, seen.batch); err != nil || len(seen.events) != 6 {
			t.Fatalf("%d events: %v", len(seen.events), err)
		}
		if seen.events[0].Err == nil || seen.events[1].Err != nil {
			t.Errorf("%v, %v", seen.events[0].Err, seen.events[1].Err)
		}
	}
}
