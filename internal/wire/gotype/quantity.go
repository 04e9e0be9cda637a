package gotype

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// quantityText is where a Quantity caches its text.
var quantityText, quantityHasText = func() (uintptr, bool) {
	f, ok := quantity.FieldByName("s")
	return f.Offset, ok && f.Type.Kind() == reflect.String
}()

// QuantityText returns the text that a Quantity has cached. It is empty if String is yet
// to write it.
func QuantityText(q *resource.Quantity) string {
	if !quantityHasText {
		return ""
	}
	return *(*string)(unsafe.Add(unsafe.Pointer(q), quantityText))
}

// QuantityHead is how a Quantity begins, if KnowsQuantity.
type QuantityHead struct {
	Value int64
	Scale int32
	Dec   unsafe.Pointer
}

// KnowsQuantity reports whether a Quantity has the layout of QuantityHead, and a text. If
// not, quantities are not shared.
var KnowsQuantity = sync.OnceValue(func() bool {
	type field struct {
		at   uintptr
		kind reflect.Kind
	}
	want := []field{
		{unsafe.Offsetof(QuantityHead{}.Value), reflect.Int64},
		{unsafe.Offsetof(QuantityHead{}.Scale), reflect.Int32},
		{unsafe.Offsetof(QuantityHead{}.Dec), reflect.Pointer},
	}
	var got []field
	if text, ok := quantity.FieldByName("s"); !ok || text.Type.Kind() != reflect.String {
		return false
	}
	for i := range quantity.NumField() {
		f := quantity.Field(i)
		if f.Type.Kind() != reflect.Struct {
			continue
		}
		for j := range f.Type.NumField() {
			g := f.Type.Field(j)
			got = append(got, field{f.Offset + g.Offset, g.Type.Kind()})
		}
	}
	return slices.Equal(got, want)
})

// numberIn is QuantityNumber of a value.
func numberIn(v reflect.Value) resource.Quantity {
	if v.CanAddr() {
		return QuantityNumber(v.Addr().Interface().(*resource.Quantity))
	}
	q := v.Interface().(resource.Quantity)
	return QuantityNumber(&q)
}

// QuantityNumber returns a copy of a Quantity without its cached text, which is not even
// read: somebody who reads the Quantity may be writing it.
func QuantityNumber(q *resource.Quantity) resource.Quantity {
	if !KnowsQuantity() {
		return *q
	}
	number := resource.Quantity{Format: q.Format}
	*(*QuantityHead)(unsafe.Pointer(&number)) = *(*QuantityHead)(unsafe.Pointer(q))
	return number
}
