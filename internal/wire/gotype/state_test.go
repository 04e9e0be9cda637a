package gotype

import (
	"encoding/json"
	"math"
	"math/big"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type (
	selfDecoded struct{ Any any }
	recursive   struct {
		Name string
		Kids []recursive
		Next *recursive
		Map  map[string]*recursive
	}
	recursiveState struct {
		Next *recursiveState
		mu   sync.Mutex
	}
	embedded struct{ Name string }
	embeds   struct{ embedded }
	counter  struct{ n int }
)

func (*selfDecoded) UnmarshalJSON([]byte) error { return nil }

func of(t *testing.T, typ reflect.Type) *Type {
	t.Helper()
	c, err := Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWhatCannotBeProvenFreeOfHiddenStateHidesIt(t *testing.T) {
	_ = (&recursiveState{}).mu.TryLock()
	_ = counter{}.n
	for _, c := range []struct {
		typ reflect.Type
		// byItself is what holds if the type's own code decodes it, byFields if
		// encoding/json does, inline what its zero value has in its memory.
		byItself, byFields, inline bool
	}{
		{reflect.TypeFor[string](), false, false, false},
		{reflect.TypeFor[metav1.Time](), false, false, false},
		{reflect.TypeFor[*metav1.MicroTime](), false, false, false},
		{reflect.TypeFor[metav1.Duration](), false, false, false},
		{reflect.TypeFor[intstr.IntOrString](), false, false, false},
		{reflect.TypeFor[runtime.RawExtension](), false, false, false},
		{reflect.TypeFor[metav1.FieldsV1](), false, false, false},
		{reflect.TypeFor[metav1.ObjectMeta](), false, false, false},
		{reflect.TypeFor[unstructured.Unstructured](), false, false, false},
		{reflect.TypeFor[json.RawMessage](), false, false, false},
		{reflect.TypeFor[net.IP](), false, false, false},
		{reflect.TypeFor[time.Time](), false, false, false},
		{reflect.TypeFor[recursive](), false, false, false},
		{reflect.TypeFor[embeds](), false, false, false},
		{reflect.TypeFor[corev1.Affinity](), false, false, false},
		{reflect.TypeFor[any](), true, false, false},
		{reflect.TypeFor[struct{ A *any }](), true, false, false},
		{reflect.TypeFor[struct{ A *selfDecoded }](), true, true, false},
		{reflect.TypeFor[struct {
			F func()
			C chan int
			O runtime.Object
		}](), true, false, false},
		{reflect.TypeFor[resource.Quantity](), true, true, true},
		{reflect.TypeFor[*resource.Quantity](), true, true, false},
		{reflect.TypeFor[corev1.ResourceList](), true, true, false},
		{reflect.TypeFor[corev1.EmptyDirVolumeSource](), true, true, false},
		{reflect.TypeFor[[2]resource.Quantity](), true, true, true},
		{reflect.TypeFor[sync.Mutex](), true, true, true},
		{reflect.TypeFor[[]sync.Once](), true, true, false},
		{reflect.TypeFor[atomic.Int64](), true, true, true},
		{reflect.TypeFor[struct{ N *atomic.Int64 }](), true, true, false},
		{reflect.TypeFor[counter](), true, true, true},
		{reflect.TypeFor[struct{ counter }](), true, true, true},
		{reflect.TypeFor[recursiveState](), true, true, true},
		{reflect.TypeFor[map[string]recursiveState](), true, true, false},
		{reflect.TypeFor[*big.Int](), true, true, false},
		{reflect.TypeFor[struct{ _ [0]sync.Mutex }](), true, true, true},
	} {
		typ := of(t, c.typ)
		if got := typ.HidesState; got != c.byItself {
			t.Errorf("%v, decoded by itself, hides state: %v", c.typ, got)
		}
		if got := typ.HidesStateInJSON; got != c.byFields {
			t.Errorf("%v, decoded field by field, hides state: %v", c.typ, got)
		}
		if got := typ.HoldsState; got != c.inline {
			t.Errorf("%v has state in its memory: %v", c.typ, got)
		}
	}
}

func TestIdenticalValuesAreEqualAndHaveTheSameBits(t *testing.T) {
	type object struct {
		F    float64
		G    *float32
		H    []float64
		M    map[string]float64
		A    any
		N    [2]float64
		T    metav1.Time
		Text *string
		C    complex128
	}
	zero, minus := float32(0), float32(math.Copysign(0, -1))
	negative := math.Copysign(0, -1)
	now, text, same := metav1.Now(), "text", string([]byte("text"))
	values := []object{
		{}, {F: 1}, {F: negative}, {F: math.NaN()}, {F: math.Float64frombits(math.Float64bits(math.NaN()) ^ 1)},
		{G: &zero}, {G: &minus}, {H: []float64{}}, {H: []float64{0}}, {H: []float64{negative}}, {H: []float64{0, 0}},
		{M: map[string]float64{}}, {M: map[string]float64{"a": 0}}, {M: map[string]float64{"a": negative}}, {M: map[string]float64{"b": 0}},
		{A: 0.0}, {A: negative}, {A: int64(0)}, {A: []any{}}, {A: []any(nil)}, {A: map[string]any{"a": []any{0.0}}}, {A: map[string]any{"a": []any{negative}}},
		{N: [2]float64{0, 1}}, {N: [2]float64{negative, 1}}, {T: now}, {T: metav1.NewTime(now.UTC())}, {Text: &text}, {C: complex(0, negative)},
	}
	for i, a := range values {
		for j, b := range values {
			if got := Identical(reflect.ValueOf(a), reflect.ValueOf(b)); got != (i == j) {
				t.Errorf("%+v and %+v are identical: %v", a, b, got)
			}
		}
	}
	if !Identical(reflect.ValueOf(object{Text: &text}), reflect.ValueOf(object{Text: &same})) {
		t.Error("equal texts are not identical")
	}
	loop := &recursive{}
	loop.Kids, loop.Next = []recursive{{Next: loop}, {Next: loop}}, loop
	again := &recursive{}
	again.Kids, again.Next = []recursive{{Next: again}, {Next: again}}, again
	if !Identical(reflect.ValueOf(loop), reflect.ValueOf(again)) {
		t.Error("values that lead back to themselves alike are not identical")
	}
	if !Equal(loop, again, false) || !SameContent(map[string]any{"loop": loop}, map[string]any{"loop": again}, true) {
		t.Error("values that lead back to themselves alike are not equal")
	}
	if again.Kids[1].Next = nil; Identical(reflect.ValueOf(loop), reflect.ValueOf(again)) {
		t.Error("one that leads back to itself is identical to one that does not")
	}
	if Float64(0, negative) || !Float64(1, 1) {
		t.Error("numbers")
	}
}
