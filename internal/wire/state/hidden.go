package state

import (
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// immutable are types without hidden state whose fields do not prove that, but whose
// decoders and methods do: no method writes to a decoded value.
var immutable = []reflect.Type{
	reflect.TypeFor[time.Time](),
	// In one build it has bytes, in another an unexported string.
	reflect.TypeFor[metav1.FieldsV1](),
	// Its decoders set the bytes, and leave the object nil.
	reflect.TypeFor[runtime.RawExtension](),
	// Its decoder makes the maps, lists and scalars of JSON.
	reflect.TypeFor[unstructured.Unstructured](),
}

var quantity = reflect.TypeFor[resource.Quantity]()

// Hides reports whether a decoded value of typ may have hidden state in it or in
// anything that it leads to. own reports that a type decodes itself, and so may
// put anything into its fields; nil means that all types do.
//
// encoding/json decodes an object field by field: it puts JSON's own values into an
// interface without methods, and nothing into functions, channels and other
// interfaces.
func Hides(typ reflect.Type, own func(reflect.Type) bool) bool {
	w := walk{own: own}
	return !mutant.On(mutant.ShareHiddenState) && w.hides(typ, own == nil)
}

type walk struct {
	own func(reflect.Type) bool
	// seen are the types above and those that are done: visiting a type again adds
	// nothing.
	seen []visit
}

type visit struct {
	typ reflect.Type
	own bool
}

func (w *walk) hides(typ reflect.Type, own bool) bool {
	if slices.Contains(immutable, typ) {
		return false
	}
	if typ == quantity {
		return true
	}
	own = own || w.own(typ)
	v := visit{typ, own}
	if slices.Contains(w.seen, v) {
		return false
	}
	w.seen = append(w.seen, v)
	switch typ.Kind() {
	case reflect.Struct:
		for i := range typ.NumField() {
			f := typ.Field(i)
			if unexported(f) || w.hides(f.Type, own) {
				return true
			}
		}
	case reflect.Map:
		return w.hides(typ.Key(), own) || w.hides(typ.Elem(), own)
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return w.hides(typ.Elem(), own)
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return own
	}
	return false
}

// unexported reports that decoders cannot set a field. They can set the exported
// fields of an embedded struct.
func unexported(f reflect.StructField) bool {
	if f.IsExported() {
		return false
	}
	typ := f.Type
	if f.Anonymous && typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	return !f.Anonymous || typ.Kind() != reflect.Struct
}

// InField reports whether a field that no decoder sets may have hidden state.
func InField(f reflect.StructField) bool {
	return !mutant.On(mutant.ShareHiddenState) && (unexported(f) || Inline(f.Type))
}

// Inline reports whether the memory of a zero value of typ may have hidden
// state: an unexported field, or a Quantity.
func Inline(typ reflect.Type) bool {
	if mutant.On(mutant.ShareHiddenState) || slices.Contains(immutable, typ) {
		return false
	}
	if typ == quantity {
		return true
	}
	switch typ.Kind() {
	case reflect.Struct:
		for i := range typ.NumField() {
			f := typ.Field(i)
			if unexported(f) || Inline(f.Type) {
				return true
			}
		}
	case reflect.Array:
		return Inline(typ.Elem())
	}
	return false
}
