package protobuf

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Some of these are in no type of Kubernetes, so that no object shows them.
func TestHowAFieldIsDecodedIsByItsType(t *testing.T) {
	const none kind = 255
	word, words := kindInt64, kindInt64s
	if strconv.IntSize != 64 {
		word, words = none, none
	}
	for typ, want := range map[reflect.Type]kind{
		reflect.TypeFor[string]():                       kindString,
		reflect.TypeFor[types.UID]():                    kindString,
		reflect.TypeFor[bool]():                         kindBool,
		reflect.TypeFor[int32]():                        kindInt32,
		reflect.TypeFor[uint32]():                       kindInt32,
		reflect.TypeFor[int64]():                        kindInt64,
		reflect.TypeFor[uint64]():                       kindInt64,
		reflect.TypeFor[int]():                          word,
		reflect.TypeFor[[]uint]():                       words,
		reflect.TypeFor[float64]():                      kindFloat64,
		reflect.TypeFor[metav1.Time]():                  kindTime,
		reflect.TypeFor[metav1.MicroTime]():             kindMicroTime,
		reflect.TypeFor[resource.Quantity]():            kindQuantity,
		reflect.TypeFor[corev1.Container]():             kindMessage,
		reflect.TypeFor[*string]():                      kindStringPointer,
		reflect.TypeFor[*bool]():                        kindBoolPointer,
		reflect.TypeFor[*int32]():                       kindInt32Pointer,
		reflect.TypeFor[*int64]():                       kindInt64Pointer,
		reflect.TypeFor[*float64]():                     kindFloat64Pointer,
		reflect.TypeFor[*metav1.Time]():                 kindTimePointer,
		reflect.TypeFor[*metav1.MicroTime]():            kindMicroTimePointer,
		reflect.TypeFor[*resource.Quantity]():           kindQuantityPointer,
		reflect.TypeFor[*corev1.Container]():            kindMessagePointer,
		reflect.TypeFor[[]byte]():                       kindBytes,
		reflect.TypeFor[[]string]():                     kindStrings,
		reflect.TypeFor[[]bool]():                       kindBools,
		reflect.TypeFor[[]int32]():                      kindInt32s,
		reflect.TypeFor[[]uint64]():                     kindInt64s,
		reflect.TypeFor[[]corev1.Container]():           kindMessages,
		reflect.TypeFor[[]metav1.Time]():                kindMessages,
		reflect.TypeFor[[]resource.Quantity]():          kindMessages,
		reflect.TypeFor[map[string]string]():            kindStringMap,
		reflect.TypeFor[map[string][]byte]():            kindBytesMap,
		reflect.TypeFor[corev1.ResourceList]():          kindQuantityMap,
		reflect.TypeFor[map[string]corev1.Container]():  kindMessageMap,
		reflect.TypeFor[uint8]():                        none,
		reflect.TypeFor[float32]():                      none,
		reflect.TypeFor[time.Time]():                    none,
		reflect.TypeFor[any]():                          none,
		reflect.TypeFor[**string]():                     none,
		reflect.TypeFor[*[]string]():                    none,
		reflect.TypeFor[*map[string]string]():           none,
		reflect.TypeFor[[]float64]():                    none,
		reflect.TypeFor[[]*string]():                    none,
		reflect.TypeFor[[]*corev1.Container]():          none,
		reflect.TypeFor[[][]byte]():                     none,
		reflect.TypeFor[[2]string]():                    none,
		reflect.TypeFor[map[int32]string]():             none,
		reflect.TypeFor[map[string]int32]():             none,
		reflect.TypeFor[map[string]*corev1.Container](): none,
	} {
		var c compiler
		c.Fill = c.fill
		o := op{wire: wireBytes, source: &source{typ: typ}}
		got := none
		if c.shape(&o, typeOf(typ), nil) {
			got = o.kind
		}
		if got != want {
			t.Errorf("%v: kind %d, not %d", typ, got, want)
		}
		if message := want == kindMessage || want == kindMessagePointer || want == kindMessages || want == kindMessageMap; message != (o.elem != nil) {
			t.Errorf("%v: its message is %v", typ, o.elem)
		}
	}
}
