package untyped

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// An interface with a map points to the map. A slice's header, a string and a
// number are in a box. Sharing the box as well saves allocating it: 24, 16 and 8
// bytes.

// shared returns v, a map or a slice, as a table holds it; unshared reverses that.
func shared(v any) share.Value { return share.Value{Ptr: memory.DataOf(v)} }

func unshared(v share.Value, object bool) any {
	if object {
		return memory.Map[any](v.Ptr)
	}
	return memory.WithData([]any(nil), v.Ptr)
}

// Address returns the address of an object's map, which is its address in a memo.
func Address(object map[string]any) unsafe.Pointer { return memory.DataOf(object) }

// boxOf returns an interface that points to s, which is never written to.
func boxOf(s *string) any { return memory.WithData("", unsafe.Pointer(s)) }
