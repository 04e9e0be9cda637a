package source

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// A selector of a field that is left out says nothing of an own write.
func TestAFieldThatIsLeftOutIsNotKnownOfAWrite(t *testing.T) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "u", ResourceVersion: "1"}, Status: appsv1.ReplicaSetStatus{Replicas: 2}}
	for keep, want := range map[string]bool{"metadata": true, "status.replicas": false} {
		opts := Options{Keep: []string{keep}, FieldSelector: "status.replicas!=0"}
		dec := must(newDecoder[*appsv1.ReplicaSet](appsv1.SchemeGroupVersion, &opts))
		it, err := dec.codec.answer(Answer{Object: rs})
		if err != nil {
			t.Fatal(err)
		}
		if w, err := written(it, &opts, Covered); err != nil || w.Unread != want || w.Coverage == NotCovered {
			t.Errorf("keep %s: %+v, %v", keep, w, err)
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
