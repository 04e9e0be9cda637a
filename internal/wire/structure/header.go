package structure

import (
	"reflect"
	"unsafe"
)

// slice is the memory of a slice of any type.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

// boxed is the memory of an interface without methods.
type boxed struct{ typ, data unsafe.Pointer }

// typeOf is the first word of an interface that holds a T.
func typeOf[T any]() unsafe.Pointer {
	var v any = *new(T)
	return (*boxed)(unsafe.Pointer(&v)).typ
}

// box makes an interface of a type's word and what it points to.
func box(typ, data unsafe.Pointer) (v any) {
	*(*boxed)(unsafe.Pointer(&v)) = boxed{typ, data}
	return v
}

// data is the second word of an interface.
func data(v *any) unsafe.Pointer { return (*boxed)(unsafe.Pointer(v)).data }

// bytesAt is memory as it is.
func bytesAt(p unsafe.Pointer, n uintptr) []byte { return unsafe.Slice((*byte)(p), n) }

func stringAt(p unsafe.Pointer) string { return *(*string)(p) }

// A map's memory depends on the kinds of its types, not on their names, so a
// map from or to a named string type is read and made as one of strings.
func mapAt[V any](p unsafe.Pointer) map[string]V { return *(*map[string]V)(p) }

// copyOf returns a copy of what p points to, in memory of its own.
func copyOf(typ reflect.Type, p unsafe.Pointer) unsafe.Pointer {
	v := reflect.New(typ)
	v.Elem().Set(reflect.NewAt(typ, p).Elem())
	return v.UnsafePointer()
}

// copyOfSlice returns a copy of the elements of the slice at p.
func copyOfSlice(typ reflect.Type, p unsafe.Pointer) unsafe.Pointer {
	from := reflect.NewAt(typ, p).Elem()
	to := reflect.MakeSlice(typ, from.Len(), from.Len())
	reflect.Copy(to, from)
	return to.UnsafePointer()
}
