package wire

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/filler"
)

// rigFiller makes objects, and changes them and their bytes.
type rigFiller struct{ filler.Filler }

// change fills some part of v again.
func (f *rigFiller) change(v reflect.Value, deep int) {
	if !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if n := v.NumField(); n > 0 && !f.OneIn(6) && v.Type() != reflect.TypeFor[metav1.Time]() {
			f.change(v.Field(f.Intn(n)), deep+1)
			return
		}
	case reflect.Pointer:
		if !v.IsNil() && !f.OneIn(5) {
			f.change(v.Elem(), deep+1)
			return
		}
	case reflect.Slice:
		if v.Len() > 0 && !f.OneIn(5) {
			f.change(v.Index(f.Intn(v.Len())), deep+1)
			return
		}
	}
	f.Fill(v, deep)
}

// byHand changes v as a program may that makes its objects itself: what decoders
// leave nil is empty, what is empty nil, slices have room behind their end, and
// parts say their kind.
func (f *rigFiller) byHand(v reflect.Value) {
	if !v.CanSet() {
		return
	}
	switch p := v.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		*p = metav1.TypeMeta{Kind: "ByHand", APIVersion: "hand/v1"}
		return
	case *resource.Quantity:
		if f.OneIn(2) {
			*p = resource.Quantity{} // a decoder gives it a format
		}
		return
	case *metav1.Time, *metav1.MicroTime:
		return
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		v.SetFloat(math.Copysign(v.Float(), float64(f.Intn(2)*2-1)))
	case reflect.Struct:
		for i := range v.NumField() {
			f.byHand(v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.byHand(v.Index(i))
		}
	case reflect.Pointer:
		if v.IsNil() && f.OneIn(4) {
			v.Set(reflect.New(v.Type().Elem()))
		} else if !v.IsNil() && !f.OneIn(8) { // it may lead back
			f.byHand(v.Elem())
		}
	case reflect.Slice:
		switch {
		case v.Len() == 0 && f.OneIn(2):
			v.SetZero()
		case v.Len() == 0:
			v.Set(reflect.MakeSlice(v.Type(), 0, f.Intn(2)))
		case f.OneIn(3):
			v.SetLen(v.Len() - 1)
		default:
			for i := 0; i < v.Len(); i++ { // a loop may lead here again
				f.byHand(v.Index(i))
			}
		}
	case reflect.Map:
		if v.Len() == 0 && f.OneIn(2) {
			v.Set(reflect.MakeMap(v.Type()))
		} else if v.Len() == 0 {
			v.SetZero()
		}
	}
}

// exponents gives texts or quantities an exponent that takes for ever to compute; their
// length stays.
func (f *rigFiller) exponents(raw []byte) (with []byte, endless bool) {
	switch f.Intn(16) {
	case 0:
		return bytes.ReplaceAll(raw, []byte("12345678901234567890123"), []byte("12345678901e-2000000000")), true
	case 1:
		return bytes.ReplaceAll(raw, []byte("text of some length"), []byte("text of 1e200000000")), false
	}
	return raw, false
}

// disturb breaks bytes in one place, as a broken writer might, or repeats what
// is there.
func (f *rigFiller) disturb(raw []byte) []byte {
	const telling = " \"\\{}[],:0-1.eEntfux/\x00\x1f\x7f\xc3\xff\n"
	b := slices.Clone(raw)
	for range 1 + f.Intn(4)/3 {
		if len(b) == 0 {
			break
		}
		at := (f.Intn(256)<<8 | f.Intn(256)) % len(b)
		to := min(at+1+f.Intn(12), len(b))
		switch f.Intn(10) {
		case 0:
			b[at] ^= 1 << f.Intn(8)
		case 1:
			b[at] = telling[f.Intn(len(telling))]
		case 2:
			b = slices.Delete(b, at, to)
		case 3:
			b = slices.Insert(b, to, b[at:to]...)
		case 4:
			b = slices.Insert(b, at, telling[f.Intn(len(telling))])
		case 5:
			b = slices.Insert(b, at, []byte("1e2000000000")...)
		default:
			// Behind a scalar, where there is one: 5 becomes 5x.
			var ends []int
			for i := 1; i < len(b); i++ {
				if strings.IndexByte(",}]", b[i]) >= 0 && strings.IndexByte(",}]", b[i-1]) < 0 {
					ends = append(ends, i)
				}
			}
			if len(ends) > 0 {
				at = filler.Pick(f.Script, ends)
			}
			b = slices.Insert(b, at, telling[f.Intn(len(telling))])
		}
	}
	return b
}
