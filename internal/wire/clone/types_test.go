package clone

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

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

// anyByHand copies itself to an empty map if it is nil, as
// sigs.k8s.io/cluster-api-provider-aws's Conditions do.
type anyByHand map[string]any

func (in anyByHand) DeepCopyInto(out *anyByHand) {
	*out = make(anyByHand, len(in))
	maps.Copy(*out, in)
}

func (in anyByHand) DeepCopy() anyByHand {
	if in == nil {
		return nil
	}
	out := new(anyByHand)
	in.DeepCopyInto(out)
	return *out
}

// withMapByHand is copied as generated code does it.
type withMapByHand struct{ Map anyByHand }

func (in *withMapByHand) DeepCopyInto(out *withMapByHand) {
	*out = *in
	if in.Map != nil {
		in.Map.DeepCopyInto(&out.Map)
	}
}

func TestANilMapThatCopiesItselfStaysNil(t *testing.T) {
	plan := Of(reflect.TypeFor[*withMapByHand]())
	for _, from := range []withMapByHand{{}, {anyByHand{"a": "b"}}} {
		var to withMapByHand
		plan.Copy(&to, &from)
		if !reflect.DeepEqual(to, from) {
			t.Errorf("%#v became %#v", from, to)
		}
	}
}
