package wire

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinglet-go/kinglet/internal/testpods"
)

// script decides: by its bytes first, which a fuzzer changes, and then by a
// generator that is seeded with them.
type script struct {
	bytes []byte
	rnd   *rand.Rand
}

func newScript(b []byte) *script {
	var seed [32]byte
	for i, c := range b {
		seed[i%32] = seed[i%32]*31 + c
	}
	return &script{b, rand.New(rand.NewChaCha8(seed))}
}

func (s *script) intn(n int) int {
	if len(s.bytes) > 0 {
		c := s.bytes[0]
		s.bytes = s.bytes[1:]
		return int(c) % n
	}
	return s.rnd.IntN(n)
}

func (s *script) oneIn(n int) bool { return s.intn(n) == 0 }

// filler makes objects of few different values, so that they repeat.
type filler struct {
	*script
	// nan: the encoding has numbers that are none.
	nan bool
	// budget is how much may still be filled, so that objects stay small.
	budget int
}

var (
	texts = []string{"", "a", "b", "some text of some length, that is looked up", "another text of some length, looked up", "ü\"\\\n"}
	// Canonical ones, that keep their text, and others.
	quantities = []string{"0", "100m", "1Gi", "512Mi", "1500Mi", "5", "5", "5", "3e6", "12345678901234567890123"}
	numbers    = []float64{0, math.Copysign(0, -1), 1.5, -1, 1e-7, math.NaN(), math.Float64frombits(math.Float64bits(math.NaN()) ^ 1)}
)

func pick[T any](s *script, from []T) T { return from[s.intn(len(from))] }

func (f *filler) float() float64 {
	if f.nan {
		return pick(f.script, numbers)
	}
	return pick(f.script, numbers[:5])
}

// fill sets v, which is deep down in an object.
func (f *filler) fill(v reflect.Value, deep int) {
	if f.budget--; !v.CanSet() || f.budget < 0 {
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = metav1.Unix(int64(1e9+f.intn(3)), 0)
		return
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(metav1.Unix(int64(1e9+f.intn(3)), 1000*int64(f.intn(2))).Time)
		return
	case *resource.Quantity:
		*p = resource.MustParse(pick(f.script, quantities))
		return
	case *intstr.IntOrString:
		*p = pick(f.script, []intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("http"), {}})
		return
	case *runtime.RawExtension:
		p.Raw = []byte(pick(f.script, []string{`{"a":1}`, `{"a":"some text of some length, that is looked up"}`, `{}`}))
		return
	case *metav1.FieldsV1:
		*p = *testpods.FieldsV1(pick(f.script, []string{`{"f:a":{}}`, `{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{}}`}))
		return
	case *json.Number:
		*p = json.Number(pick(f.script, []string{"1", "-0.0", "1e3", "12345678901234567890"}))
		return
	case *metav1.TypeMeta:
		if f.oneIn(2) {
			*p = metav1.TypeMeta{Kind: "Kind", APIVersion: "v1"}
		}
		return
	case *any:
		*p = f.anything(deep)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(pick(f.script, texts))
	case reflect.Bool:
		v.SetBool(f.oneIn(2))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.intn(3)) * 100)
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint8:
		v.SetUint(uint64(f.intn(3)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(f.float())
	case reflect.Pointer:
		if v.SetZero(); deep < 7 && f.intn(3+deep) < 3 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), deep+1)
		}
	case reflect.Slice:
		if v.SetZero(); deep < 7 && f.intn(3+deep) < 3 {
			n := f.intn(3)
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				f.fill(v.Index(i), deep+1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), deep+1)
		}
	case reflect.Map:
		if v.SetZero(); deep < 7 && f.intn(3+deep) < 3 {
			v.Set(reflect.MakeMap(v.Type()))
			for range f.intn(3) {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				f.fill(key, deep+1)
				f.fill(value, deep+1)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if deep < 2 || f.intn(3) < 2 {
				f.fill(v.Field(i), deep+1)
			}
		}
	}
}

func (f *filler) anything(deep int) any {
	switch f.intn(7) {
	case 0:
		return nil
	case 1:
		return f.oneIn(2)
	case 2:
		return pick(f.script, numbers[:4])
	case 3:
		return int64(f.intn(3))
	case 4:
		list := []any{}
		for range f.intn(3) * max(0, 6-deep) / 3 {
			list = append(list, f.anything(deep+1))
		}
		return list
	case 5:
		m := map[string]any{}
		for range f.intn(3) * max(0, 6-deep) / 3 {
			m[pick(f.script, texts)] = f.anything(deep + 1)
		}
		return m
	}
	return pick(f.script, texts)
}

// change fills some part of v again.
func (f *filler) change(v reflect.Value, deep int) {
	if !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if n := v.NumField(); n > 0 && !f.oneIn(6) && v.Type() != reflect.TypeFor[metav1.Time]() {
			f.change(v.Field(f.intn(n)), deep+1)
			return
		}
	case reflect.Pointer:
		if !v.IsNil() && !f.oneIn(5) {
			f.change(v.Elem(), deep+1)
			return
		}
	case reflect.Slice:
		if v.Len() > 0 && !f.oneIn(5) {
			f.change(v.Index(f.intn(v.Len())), deep+1)
			return
		}
	}
	f.fill(v, deep)
}

// byHand changes v as a program may that makes its objects itself: what decoders
// leave nil is empty, what is empty nil, slices have room behind their end, and
// parts say their kind.
func (f *filler) byHand(v reflect.Value) {
	if !v.CanSet() {
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		*p = metav1.TypeMeta{Kind: "ByHand", APIVersion: "hand/v1"}
		return
	case *resource.Quantity, *metav1.Time, *metav1.MicroTime:
		return
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		v.SetFloat(math.Copysign(v.Float(), float64(f.intn(2)*2-1)))
	case reflect.Struct:
		for i := range v.NumField() {
			f.byHand(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.byHand(v.Index(i))
		}
	case reflect.Pointer:
		if v.IsNil() && f.oneIn(4) {
			v.Set(reflect.New(v.Type().Elem()))
		} else if !v.IsNil() {
			f.byHand(v.Elem())
		}
	case reflect.Slice:
		switch {
		case v.Len() == 0 && f.oneIn(2):
			v.SetZero()
		case v.Len() == 0:
			v.Set(reflect.MakeSlice(v.Type(), 0, f.intn(2)))
		case f.oneIn(3):
			v.SetLen(v.Len() - 1)
		default:
			for i := range v.Len() {
				f.byHand(v.Index(i))
			}
		}
	case reflect.Map:
		if v.Len() == 0 && f.oneIn(2) {
			v.Set(reflect.MakeMap(v.Type()))
		} else if v.Len() == 0 {
			v.SetZero()
		}
	}
}

// disturb breaks bytes in one place, as a broken writer might, or repeats what
// is there.
func (f *filler) disturb(raw []byte) []byte {
	const telling = " \"\\{}[],:0-1.eEntfux/\x00\x1f\x7f\xc3\xff\n"
	b := slices.Clone(raw)
	for range 1 + f.intn(4)/3 {
		if len(b) == 0 {
			break
		}
		at := (f.intn(256)<<8 | f.intn(256)) % len(b)
		to := min(at+1+f.intn(12), len(b))
		switch f.intn(9) {
		case 0:
			b[at] ^= 1 << f.intn(8)
		case 1:
			b[at] = telling[f.intn(len(telling))]
		case 2:
			b = slices.Delete(b, at, to)
		case 3:
			b = slices.Insert(b, to, b[at:to]...)
		case 4:
			b = slices.Insert(b, at, telling[f.intn(len(telling))])
		default:
			// Behind a scalar, where there is one: 5 becomes 5x.
			var ends []int
			for i := 1; i < len(b); i++ {
				if strings.IndexByte(",}]", b[i]) >= 0 && strings.IndexByte(",}]", b[i-1]) < 0 {
					ends = append(ends, i)
				}
			}
			if len(ends) > 0 {
				at = pick(f.script, ends)
			}
			b = slices.Insert(b, at, telling[f.intn(len(telling))])
		}
	}
	return b
}
