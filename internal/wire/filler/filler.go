// Package filler makes objects of any Go type from a script, for the tests that compare
// decoders and copies with the official ones. Only tests import it.
package filler

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// Filler makes objects of few different values, so that they repeat.
type Filler struct {
	*Script
	// Budget is how much may still be filled, so that objects stay small.
	Budget int
	// NaN: the encoding supports NaN.
	NaN bool
	// Memory adds values that a copy may meet and no decoder makes: slices with spare
	// capacity, large maps, nil lists and maps in untyped objects, objects in interfaces.
	Memory bool
}

// Numbers are floating-point numbers, NaNs from the sixth on.
var Numbers = []float64{0, math.Copysign(0, -1), 1.5, -1, 1e-7, math.NaN(), math.Float64frombits(math.Float64bits(math.NaN()) ^ 1)}

var (
	texts = []string{"", "a", "b", "some text of some length, that is looked up", "another text of some length, looked up", "ü\"\\\n"}
	// For the keys of large maps.
	moreTexts = append([]string{"c", "d", "e", "f", "g", "h", "i", "metadata"}, texts...)
	// Canonical quantities, which keep their text, and others.
	quantities = []string{"0", "100m", "1Gi", "512Mi", "1500Mi", "5", "5", "5", "3e6", "12345678901234567890123"}
)

func (f *Filler) text() string {
	if f.Memory {
		return Pick(f.Script, moreTexts)
	}
	return Pick(f.Script, texts)
}

func (f *Filler) float() float64 {
	if f.NaN {
		return Pick(f.Script, Numbers)
	}
	return Pick(f.Script, Numbers[:5])
}

// maxDepth is the depth from which on pointers, slices and maps are nil or empty.
const maxDepth = 7

// Fill sets v, at depth deep in an object: to nil, to an empty value, or to something.
func (f *Filler) Fill(v reflect.Value, deep int) {
	if f.Budget--; !v.CanSet() || f.Budget < 0 || f.known(v, deep) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.OneIn(2))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.Intn(3)) * 100)
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint8:
		v.SetUint(uint64(f.Intn(3)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(f.float())
	case reflect.Array:
		for i := range v.Len() {
			f.Fill(v.Index(i), deep+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if deep < 2 || f.Intn(3) < 2 {
				f.Fill(v.Field(i), deep+1)
			}
		}
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if v.SetZero(); deep < maxDepth && f.Intn(3+deep) < 3 {
			f.lead(v, deep)
		}
	}
}

// lead makes v, a pointer, a slice or a map, lead to something.
func (f *Filler) lead(v reflect.Value, deep int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.Fill(v.Elem(), deep+1)
	case reflect.Slice:
		n, room := f.size()
		v.Set(reflect.MakeSlice(v.Type(), n, n+room))
		for i := range n {
			f.Fill(v.Index(i), deep+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		n, _ := f.size()
		if f.Memory && f.OneIn(9) {
			n *= 6 // more than one group of Go's maps
		}
		for range n {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.Fill(key, deep+1)
			f.Fill(value, deep+1)
			v.SetMapIndex(key, value)
		}
	}
}

// size returns how many elements a slice or map has, and its spare capacity.
func (f *Filler) size() (n, room int) {
	if f.Memory {
		return f.Intn(4), f.Intn(2)
	}
	return f.Intn(3), 0
}

// known sets v if its type is not filled field by field, and reports whether it did.
func (f *Filler) known(v reflect.Value, deep int) bool {
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = metav1.Unix(int64(1e9+f.Intn(3)), 0)
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(metav1.Unix(int64(1e9+f.Intn(3)), 1000*int64(f.Intn(2))).Time)
	case *time.Time:
		*p = time.Unix(int64(f.Intn(3)), 0)
	case *resource.Quantity:
		*p = resource.MustParse(Pick(f.Script, quantities))
	case *intstr.IntOrString:
		*p = Pick(f.Script, []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("http"), {}})
	case *runtime.RawExtension:
		p.Raw = []byte(Pick(f.Script, []string{`{"a":1}`, `{"a":"some text of some length, that is looked up"}`, `{}`}))
		if f.Memory {
			f.Fill(reflect.ValueOf(&p.Object).Elem(), deep)
		}
	case *runtime.Object:
		if f.Memory && f.OneIn(2) {
			*p = &corev1.ConfigMap{Data: map[string]string{"a": f.text()}}
		}
	case *metav1.FieldsV1:
		*p = *testpods.FieldsV1(Pick(f.Script, []string{`{"f:a":{}}`, `{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{}}`}))
	case *json.Number:
		*p = json.Number(Pick(f.Script, []string{"1", "-0.0", "1e3", "12345678901234567890"}))
	case *metav1.TypeMeta:
		if f.OneIn(2) {
			*p = metav1.TypeMeta{Kind: "Kind", APIVersion: "v1"}
		}
	case *any:
		*p = f.Untyped(deep)
	default:
		return false
	}
	return true
}

// Untyped returns a JSON value for depth deep in an object.
func (f *Filler) Untyped(deep int) any {
	n := func() int {
		n, _ := f.size()
		return n * max(0, maxDepth-1-deep) / 3
	}
	switch f.Intn(7) {
	case 0:
		return nil
	case 1:
		return f.OneIn(2)
	case 2:
		return Pick(f.Script, Numbers[:4])
	case 3:
		if f.Memory && f.OneIn(9) {
			return json.Number("12")
		}
		return int64(f.Intn(3))
	case 4:
		if f.Memory && f.OneIn(5) {
			return []any(nil)
		}
		list := []any{}
		for range n() {
			list = append(list, f.Untyped(deep+1))
		}
		return list
	case 5:
		if f.Memory && f.OneIn(9) {
			return map[string]any(nil)
		}
		m := map[string]any{}
		for range n() {
			m[f.text()] = f.Untyped(deep + 1)
		}
		return m
	}
	return f.text()
}

// Script makes a Filler's decisions: from its bytes first, which a fuzzer changes, and
// then from a generator that is seeded with them. It belongs to one goroutine.
type Script struct {
	bytes []byte
	rnd   *rand.Rand
}

// NewScript returns the Script of b.
func NewScript(b []byte) *Script {
	var seed [32]byte
	for i, c := range b {
		seed[i%32] = seed[i%32]*31 + c
	}
	return &Script{b, rand.New(rand.NewChaCha8(seed))}
}

// Random returns a Script whose decisions come from rnd.
func Random(rnd *rand.Rand) *Script { return &Script{rnd: rnd} }

// Intn returns a number from 0 up to n-1.
func (s *Script) Intn(n int) int {
	if len(s.bytes) > 0 {
		c := s.bytes[0]
		s.bytes = s.bytes[1:]
		return int(c) % n
	}
	return s.rnd.IntN(n)
}

// OneIn returns true once in n calls, on average.
func (s *Script) OneIn(n int) bool { return s.Intn(n) == 0 }

// Pick returns one of from.
func Pick[T any](s *Script, from []T) T { return from[s.Intn(len(from))] }
