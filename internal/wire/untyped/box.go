package untyped

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// An interface is a type and a pointer. A map is that pointer; a slice's
// header, a string's and a number are what it points to, a box. Sharing the
// box as well saves making it: 24, 16 and 8 bytes.
type box struct {
	typ unsafe.Pointer
	ptr unsafe.Pointer
}

// boxOf returns what v points to. Of two maps or slices it tells whether they
// are one.
func boxOf(v any) unsafe.Pointer { return (*box)(unsafe.Pointer(&v)).ptr }

// shared is v, a map or a slice, as a table holds it.
func shared(v any) share.Value { return share.Value{Ptr: boxOf(v)} }

// mapOf and sliceOf are what shared was given.
func mapOf(v share.Value) any { return mapAt(v.Ptr) }

// mapAt is the map that boxOf returned the address of.
func mapAt(p unsafe.Pointer) map[string]any { return *(*map[string]any)(unsafe.Pointer(&p)) }

// Address is what a memo knows an object by: the address of its map.
func Address(object map[string]any) unsafe.Pointer { return boxOf(object) }

func sliceOf(v share.Value) any {
	var boxed any = []any(nil)
	(*box)(unsafe.Pointer(&boxed)).ptr = v.Ptr
	return boxed
}

// stringOf returns an interface that points to s, which is never written to.
func stringOf(s *string) any {
	var boxed any = ""
	(*box)(unsafe.Pointer(&boxed)).ptr = unsafe.Pointer(s)
	return boxed
}
