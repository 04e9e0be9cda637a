package memory

import (
	"bytes"
	"reflect"
	"unsafe"
)

// Slice is a slice of any type.
type Slice struct {
	Data     unsafe.Pointer
	Len, Cap int
}

// SliceOf returns a slice of n elements, without spare capacity.
func SliceOf(data unsafe.Pointer, n int) Slice { return Slice{data, n, n} }

// Interface is an interface without methods. Data points to the value, or is the
// value if that is a pointer or a map.
type Interface struct{ Type, Data unsafe.Pointer }

// DataOf returns the Data of v. It is equal for two interfaces with the same map or
// the same slice's box.
func DataOf(v any) unsafe.Pointer { return (*Interface)(unsafe.Pointer(&v)).Data }

// WithData returns an interface of v's type with other data.
func WithData(v any, data unsafe.Pointer) any {
	(*Interface)(unsafe.Pointer(&v)).Data = data
	return v
}

// Map returns the map at this address. A map's layout depends on the kinds of its
// types and not on their names, so V may be any type with the layout of the map's.
func Map[V any](address unsafe.Pointer) map[string]V {
	return *(*map[string]V)(unsafe.Pointer(&address))
}

// New returns zeroed memory for a value.
func New(typ reflect.Type) unsafe.Pointer { return reflect.New(typ).UnsafePointer() }

// Copy copies a value.
func Copy(typ reflect.Type, dst, src unsafe.Pointer) {
	reflect.NewAt(typ, dst).Elem().Set(reflect.NewAt(typ, src).Elem())
}

// CopyOf returns a copy of a value in memory of its own.
func CopyOf(typ reflect.Type, src unsafe.Pointer) unsafe.Pointer {
	p := New(typ)
	Copy(typ, p, src)
	return p
}

// Clear sets a value to zero.
func Clear(typ reflect.Type, p unsafe.Pointer) { reflect.NewAt(typ, p).Elem().SetZero() }

// Bytes returns memory as a slice of bytes, which aliases it.
func Bytes(p unsafe.Pointer, size uintptr) []byte { return unsafe.Slice((*byte)(p), size) }

// Equal reports that two values are the same bytes. Values that differ in bytes
// may be equal.
func Equal(a, b unsafe.Pointer, size uintptr) bool {
	return bytes.Equal(Bytes(a, size), Bytes(b, size))
}

// Zero reports that all bytes are 0.
func Zero(p unsafe.Pointer, size uintptr) bool {
	if (uintptr(p)|size)%8 == 0 {
		var all uint64
		for _, v := range unsafe.Slice((*uint64)(p), size/8) {
			all |= v
		}
		return all == 0
	}
	for _, b := range Bytes(p, size) {
		if b != 0 {
			return false
		}
	}
	return true
}

// At returns the address at an offset from a pointer, or nil for nil.
func At(p unsafe.Pointer, offset uintptr) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, offset)
}
