package consistency

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// slim has the DeepCopyObject of what it embeds.
type slim struct {
	metav1.PartialObjectMetadata
	Node string
}

func TestAnotherKindIsGivenToACopyOfTheSameType(t *testing.T) {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	of := &slim{Node: "n"}
	if as := withKind(of, kind); as.GroupVersionKind() != kind || as.Node != "n" || !of.GroupVersionKind().Empty() {
		t.Errorf("%+v of %+v", as, of)
	}
	untyped := &unstructured.Unstructured{Object: map[string]any{"kind": "Old"}}
	if as := withKind[runtime.Object](untyped, kind); as.GetObjectKind().GroupVersionKind() != kind || untyped.GetKind() != "Old" {
		t.Errorf("%+v of %+v", as, untyped)
	}
}
