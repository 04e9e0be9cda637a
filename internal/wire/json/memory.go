package json

import (
	"bytes"
	"reflect"
	"unsafe"
)

// header is a slice.
type header struct {
	ptr      unsafe.Pointer
	len, cap int
}

// allocate returns zeroed memory for one value of the node's type.
func (n *node) allocate() unsafe.Pointer { return reflect.New(n.typ).UnsafePointer() }

// allocateSlice returns zeroed memory for so many elements, at least one.
// Small numbers are allocated as arrays, since reflect.MakeSlice allocates the
// slice's header as well.
func (n *node) allocateSlice(count int) unsafe.Pointer {
	switch {
	case count == 1:
		return n.elem.allocate()
	case count < len(n.arrays):
		t := n.arrays[count].Load()
		if t == nil {
			array := reflect.ArrayOf(count, n.elem.typ)
			t = &array
			n.arrays[count].Store(t)
		}
		return reflect.New(*t).UnsafePointer()
	}
	return reflect.MakeSlice(n.typ, count, count).UnsafePointer()
}

// move copies a value. It goes through reflect for the sake of the collector,
// which must hear of pointers that are written.
func (n *node) move(dst, src unsafe.Pointer) {
	switch n.op {
	case opPointer, opMap:
		*(*unsafe.Pointer)(dst) = *(*unsafe.Pointer)(src)
	case opSlice, opBytes:
		*(*header)(dst) = *(*header)(src)
	case opString:
		*(*string)(dst) = *(*string)(src)
	case opDrop:
	default:
		reflect.NewAt(n.typ, dst).Elem().Set(reflect.NewAt(n.typ, src).Elem())
	}
}

// same reports that two values of the node's type are the same bytes. Equal
// values may be unlike in bytes.
func (n *node) same(a, b unsafe.Pointer) bool { return sameBytes(a, b, n.size) }

func sameBytes(a, b unsafe.Pointer, size uintptr) bool {
	return bytes.Equal(unsafe.Slice((*byte)(a), size), unsafe.Slice((*byte)(b), size))
}

// isZero reports that a value is all zeros.
func (n *node) isZero(p unsafe.Pointer) bool {
	for _, b := range unsafe.Slice((*byte)(p), n.size) {
		if b != 0 {
			return false
		}
	}
	return true
}

// offset adds to a pointer that may be nil.
func offset(p unsafe.Pointer, by uintptr) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(p, by)
}
