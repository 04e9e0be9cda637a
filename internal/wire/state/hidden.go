package state

import (
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

// Hiding knows which types hide state. It looks at each type once, or twice if it is
// decoded in two ways. It is not safe for concurrent use.
type Hiding struct {
	own func(reflect.Type) bool
	// hides has what is known of each type.
	hides map[visit]bool
}

// NewHiding returns a Hiding for values whose types decode themselves, and so may put
// anything into their fields, if own says so; nil means that all types do.
func NewHiding(own func(reflect.Type) bool) *Hiding {
	return &Hiding{own: own, hides: map[visit]bool{}}
}

// visit is a type, and whether it or one that leads to it decodes itself.
type visit struct {
	typ reflect.Type
	own bool
}

// In reports whether a decoded value of typ may have hidden state in it or in
// anything that it leads to.
//
// encoding/json decodes an object field by field: it puts JSON's own values into an
// interface without methods, and nothing into functions, channels and other
// interfaces.
func (h *Hiding) In(typ reflect.Type) bool {
	root := visit{typ, h.own == nil}
	if hides, known := h.hides[root]; known {
		return hides
	}
	// Types may lead back to themselves, so all are found first, with those that lead
	// to each, and then those are told that lead to state.
	above := map[visit][]visit{}
	var state []visit
	h.hides[root] = false
	for found := []visit{root}; len(found) > 0; {
		at := found[len(found)-1]
		found = found[:len(found)-1]
		hides, inside := h.parts(at)
		for _, next := range inside {
			known, was := h.hides[next]
			if !was {
				h.hides[next] = false
				found = append(found, next)
			}
			hides = hides || known
			above[next] = append(above[next], at)
		}
		if hides {
			state = append(state, at)
		}
	}
	for len(state) > 0 {
		at := state[len(state)-1]
		state = state[:len(state)-1]
		if !h.hides[at] {
			h.hides[at] = true
			state = append(state, above[at]...)
		}
	}
	return h.hides[root]
}

// parts returns whether a type has state of its own, and otherwise what it leads to.
func (h *Hiding) parts(v visit) (hides bool, inside []visit) {
	switch typ := v.typ; {
	case slices.Contains(immutable, typ):
		return false, nil
	case typ == quantity:
		return true, nil
	}
	own := v.own || h.own(v.typ)
	switch v.typ.Kind() {
	case reflect.Struct:
		for i := range v.typ.NumField() {
			f := v.typ.Field(i)
			if unexported(f) {
				return true, nil
			}
			inside = append(inside, visit{f.Type, own})
		}
	case reflect.Map:
		return false, []visit{{v.typ.Key(), own}, {v.typ.Elem(), own}}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return false, []visit{{v.typ.Elem(), own}}
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return own, nil
	}
	return false, inside
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
	return unexported(f) || Inline(f.Type)
}

// Inline reports whether the memory of a zero value of typ may have hidden
// state: an unexported field, or a Quantity.
func Inline(typ reflect.Type) bool {
	return inline(typ, map[reflect.Type]bool{})
}

// inline is Inline for a type that is not in seen.
func inline(typ reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[typ] || slices.Contains(immutable, typ) {
		return false
	}
	seen[typ] = true
	switch {
	case typ == quantity:
		return true
	case typ.Kind() == reflect.Array:
		return inline(typ.Elem(), seen)
	case typ.Kind() != reflect.Struct:
		return false
	}
	for i := range typ.NumField() {
		if f := typ.Field(i); unexported(f) || inline(f.Type, seen) {
			return true
		}
	}
	return false
}
