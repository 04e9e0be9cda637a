package source

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/store"
)

// oddMetadata has metadata of its own type, with the methods of a metav1.Object.
type oddMetadata struct {
	metav1.TypeMeta
	Meta `json:"metadata"`
	Spec map[string]string `json:"spec,omitempty"`
}

// Meta is its metadata.
type Meta struct{ metav1.ObjectMeta }

func (o *oddMetadata) DeepCopyObject() runtime.Object { c := *o; return &c }

// Where nothing would say that an object is not whole, it has to be.
func TestWithoutAnObjectMetaOnlyManagedFieldsAreDropped(t *testing.T) {
	gv := schema.GroupVersion{Group: "example.com", Version: "v1"}
	for path, want := range map[string]string{"spec": "no metav1.ObjectMeta", DropManagedFields: ""} {
		_, err := newDecoder[*oddMetadata](gv, &Options{Drop: []string{path}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("drop %s: %v", path, err)
		}
	}
}

// What a list of metadata makes of each type is what a list of whole objects does.
func TestMetadataHasTheKindThatObjectsHave(t *testing.T) {
	lists := 0
	for _, example := range rigTypes {
		if u, ok := example.(*unstructured.Unstructured); ok {
			u = u.DeepCopy()
			u.SetGroupVersionKind(kindGV.WithKind("Direct"))
			example = u
		}
		none := func(store.Key, map[string]string, []metav1.OwnerReference) bool { return false }
		dec, err := newDecoder[runtime.Object](kindGV, &Options{Example: example, WholeLabels: labels.Nothing()})
		if err != nil || dec.codec.labels == nil {
			t.Logf("%T: not listed as metadata: %v", example, err)
			continue
		}
		lists++
		twin := must(newDecoder[runtime.Object](kindGV, &Options{Example: example, Whole: none}))
		kind := dec.codec.kind.want.Kind
		var got, want listed[runtime.Object]
		held := newSink[runtime.Object]()
		for range 2 {
			got, want = listed[runtime.Object]{}, listed[runtime.Object]{}
			const item = `"metadata":{"name":"a","uid":"u","resourceVersion":"1","labels":{"a":"b"}}`
			if err := dec.list(true, strings.NewReader(`{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",`+item+`}]}`), held.get, nil, got.page); err != nil {
				t.Fatalf("%T: %v", example, err)
			}
			if err := twin.list(false, strings.NewReader(`{"kind":"`+kind+`List","apiVersion":"`+kindGV.String()+`","metadata":{"resourceVersion":"7"},"items":[{`+item+`,"spec":{"a":"b"}}]}`), nil, nil, want.page); err != nil {
				t.Fatalf("%T: %v", example, err)
			}
			if a, b := got.items[0], want.items[0]; a.Err != nil || b.Err != nil || !reflect.DeepEqual(a.Object, b.Object) || !IsPartial(a.Object.(metav1.Object)) {
				t.Errorf("%T: %+v (%v), want %+v (%v)", example, a.Object, a.Err, b.Object, b.Err)
			}
			held.put(got.items[0])
		}
	}
	if lists < 5 {
		t.Errorf("only %d types are listed as metadata", lists)
	}
	dec := must(newDecoder[*appsv1.ReplicaSet](appsv1.SchemeGroupVersion, &Options{WholeLabels: labels.Nothing()}))
	const items = `"items":[{"metadata":{"name":"a"}}]`
	for _, list := range []string{
		`{` + items + `,"kind":"ReplicaSetList","apiVersion":"apps/v1"}`,
		`{"kind":"PartialObjectMetadataList",` + items + `,"apiVersion":"meta.k8s.io/v1"}`,
		`{"apiVersion":"meta.k8s.io/v1",` + items + `,"kind":"PartialObjectMetadataList"}`,
	} {
		err := dec.list(true, strings.NewReader(list), nil, nil, func(Page[*appsv1.ReplicaSet]) error { return nil })
		if !errors.Is(err, errFormUnknown) {
			t.Errorf("%s, which does not begin with its kind: %v", list, err)
		}
	}
}

// See also TestAServerRefusesThePartOfAStatusThatMayBeKept.
func TestAStatusOfWhichServersTakeAPartIsKeptWhole(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": kindGV.String(), "kind": "Thing", "metadata": map[string]any{"name": "a", "resourceVersion": "1"},
		"spec": map[string]any{"a": "b"}, "status": map[string]any{"a": "b", "c": "d"},
	}}
	for _, keep := range [][]string{{"status.a"}, {"status", "status.a"}, {"spec", "status.a"}} {
		dec := must(newDecoder[*unstructured.Unstructured](kindGV, &Options{Keep: keep}))
		it, err := dec.codec.answer(Answer{Object: u})
		if err != nil {
			t.Fatal(err)
		}
		if got := it.Object.Object["status"]; !reflect.DeepEqual(got, u.Object["status"]) {
			t.Errorf("keep %v: the status is %v", keep, got)
		}
	}
	for path, want := range map[string]bool{"status": true, "status.a": false} {
		if err := (Options{Drop: []string{path}}).CheckFields(u); (err == nil) != want {
			t.Errorf("drop %s: %v", path, err)
		}
	}
	for _, opts := range []Options{{Keep: []string{"status.replicas"}}, {Drop: []string{"status.conditions"}}} {
		it, err := must(newDecoder[*appsv1.ReplicaSet](appsv1.SchemeGroupVersion, &opts)).codec.answer(Answer{Object: &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"},
			Status:     appsv1.ReplicaSetStatus{Replicas: 2, Conditions: []appsv1.ReplicaSetCondition{{}}},
		}})
		if err != nil || it.Object.Status.Replicas != 2 || len(it.Object.Status.Conditions) > 0 {
			t.Errorf("%+v: %v, %v", opts, it.Object, err)
		}
	}
}

func TestAProgramThatReadsWhatIsLeftOutNotices(t *testing.T) {
	opts := Options{Keep: []string{"spec.replicas"}, Whole: func(key store.Key, _ map[string]string, _ []metav1.OwnerReference) bool { return key.Name == "whole" }}
	for _, name := range []string{"whole", "other"} {
		three := int32(3)
		rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"a": "b"}, ResourceVersion: "1"}}
		rs.Spec.Replicas, rs.Spec.MinReadySeconds = &three, 7
		dec := must(newDecoder[*appsv1.ReplicaSet](appsv1.SchemeGroupVersion, &opts))
		it, err := dec.codec.answer(Answer{Object: rs})
		if err != nil {
			t.Fatal(err)
		}
		got := it.Object
		if err := opts.FillLeftOut(got); err != nil {
			t.Fatal(err)
		}
		if got.Name != name || got.Labels["a"] != "b" || got.DeletionTimestamp != nil || *got.Spec.Replicas != 3 || IsPartial(got) != (name == "other") {
			t.Errorf("what is kept of %s: %v", name, got)
		}
		containers := got.Spec.Template.Spec.Containers
		filled := got.Spec.MinReadySeconds == 1 && len(containers) == 1 && containers[0].Image == "kinglet: this field is left out" && got.Status.ReadyReplicas == 1
		if filled != (name == "other") || name == "whole" && got.Spec.MinReadySeconds != 7 {
			t.Errorf("what is left out of %s: %v", name, got)
		}
	}
	if err := opts.FillLeftOut("text"); err == nil {
		t.Error("a text is taken for an object")
	}
}
