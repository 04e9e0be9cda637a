package clone

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The types of this file are as those of custom resources: zz_generated.deepcopy_test.go
// has methods that look generated, this file those that are written by hand.
type (
	// custom is copied field by field.
	custom struct {
		metav1.TypeMeta
		metav1.ObjectMeta
		Nested    nested
		Pointer   *nested
		List      []nested
		Lists     [][]string
		Map       map[string]nested
		Pointers  map[string]*nested
		Counted   map[int32][]int64
		Bytes     map[string][]byte
		Array     [2]*int32
		Deep      **string
		Own       byHand
		OwnList   []byHand
		OwnMap    handMap
		Open      withInterface
		Template  *corev1.PodTemplateSpec
		Nothing   *struct{}
		Nothings  []struct{}
		Recursive *recursive
	}
	nested struct {
		Name string
		List []string
		N    *int64
	}
	recursive struct {
		Name string
		Next *recursive
		Kids []recursive
		Map  map[string]recursive
	}
	// byHand numbers its copies.
	byHand struct {
		List   []string
		Copied int
	}
	handMap map[string]*int
	// numbered has no pointers.
	numbered int8
	// withInterface is copied by its generated method, for want of a plan.
	withInterface struct {
		Any  any
		List []string
	}
	// bare has no methods.
	bare struct{ List []string }
)

func pointerTo[T any](v T) *T { return &v }

func (in *byHand) DeepCopyInto(out *byHand) {
	*out = *in
	out.List = slices.Clone(in.List)
	out.Copied++
}

func (in *numbered) DeepCopyInto(out *numbered) { *out = *in + 1 }

func (in handMap) DeepCopyInto(out *handMap) {
	*out = maps.Clone(in)
	for k, p := range in {
		if p != nil {
			n := *p + 1
			(*out)[k] = &n
		}
	}
}

func (in *withInterface) String() string { return fmt.Sprint(in.Any) }
