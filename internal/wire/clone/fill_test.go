package clone

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/testpods"
)

// filler fills values: by its bytes first, which a fuzzer changes, and then by a
// generator that is seeded with them.
type filler struct {
	bytes []byte
	rnd   *rand.Rand
	// budget is how much may still be filled, so that objects stay small.
	budget int
}

func newFiller(b []byte) *filler {
	var seed [32]byte
	for i, c := range b {
		seed[i%32] = seed[i%32]*31 + c
	}
	return &filler{bytes: b, rnd: rand.New(rand.NewChaCha8(seed)), budget: 3000}
}

func (f *filler) intn(n int) int {
	if len(f.bytes) > 0 {
		c := f.bytes[0]
		f.bytes = f.bytes[1:]
		return int(c) % n
	}
	return f.rnd.IntN(n)
}

var texts = []string{"", "a", "b", "c", "some text", "spec", "metadata", "kind", "d", "e", "f", "g", "h", "i"}

func (f *filler) text() string { return texts[f.intn(len(texts))] }

// fill sets v: to nil, to what is empty, or to something, with slices that have room
// behind their end.
func (f *filler) fill(v reflect.Value, deep int) {
	if f.budget--; !v.CanSet() || f.budget < 0 {
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = metav1.Unix(int64(f.intn(3)), 0)
		return
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.Unix(int64(f.intn(3)), 1000))
		return
	case *time.Time:
		*p = time.Unix(int64(f.intn(3)), 0)
		return
	case *resource.Quantity:
		// The last two keep their number in other memory.
		*p = resource.MustParse([]string{"0", "100m", "1Gi", "5", "12345678901234567890123", "0.12345678901234567890"}[f.intn(6)])
		return
	case *metav1.FieldsV1:
		*p = *testpods.FieldsV1(`{"f:` + f.text() + `":{}}`)
		return
	case *runtime.Object:
		if f.intn(2) == 0 {
			*p = &corev1.ConfigMap{Data: map[string]string{"a": f.text()}}
		}
		return
	case *any:
		*p = f.untyped(deep)
		return
	case *map[string]any:
		*p, _ = f.untypedOf(5, deep).(map[string]any)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.intn(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.intn(100)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.intn(100)))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.intn(100)) / 3)
	case reflect.Pointer:
		if v.SetZero(); deep < 8 && f.intn(3+deep) < 3 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), deep+1)
		}
	case reflect.Slice:
		if v.SetZero(); deep < 8 && f.intn(3+deep) < 3 {
			n := f.intn(4)
			v.Set(reflect.MakeSlice(v.Type(), n, n+f.intn(2)))
			for i := range n {
				f.fill(v.Index(i), deep+1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), deep+1)
		}
	case reflect.Map:
		if v.SetZero(); deep < 8 && f.intn(3+deep) < 3 {
			v.Set(reflect.MakeMap(v.Type()))
			for range f.intn(4) * (1 + 5*(f.intn(9)/8)) {
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

// untyped returns a value of JSON.
func (f *filler) untyped(deep int) any { return f.untypedOf(f.intn(9), deep) }

func (f *filler) untypedOf(kind, deep int) any {
	more := max(0, 7-deep)
	switch kind {
	case 0:
		return nil
	case 1:
		return f.intn(2) == 0
	case 2:
		return float64(f.intn(9)) / 3
	case 3:
		return int64(f.intn(1000))
	case 4:
		if f.intn(5) == 0 {
			return []any(nil)
		}
		list := make([]any, 0, 4)
		for range f.intn(4) * more / 5 {
			list = append(list, f.untyped(deep+1))
		}
		return list
	case 5, 6:
		if f.intn(9) == 0 {
			return map[string]any(nil)
		}
		m := map[string]any{}
		for range f.intn(14) * more / 7 {
			m[f.text()] = f.untyped(deep + 1)
		}
		return m
	case 7:
		return json.Number("12")
	}
	return f.text()
}
