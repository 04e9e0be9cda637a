package untyped

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// A map in an interface is what that points to. A slice's header, a string and a
// number are in a box. Sharing the box as well saves making it: 24, 16 and 8
// bytes.

// shared is v, a map or a slice, as a table holds it; unshared makes it again.
func shared(v any) share.Value { return share.Value{Ptr: memory.DataOf(v)} }

func unshared(v share.Value, object bool) any {
	if object {
		return memory.Map[any](v.Ptr)
	}
	return memory.WithData([]any(nil), v.Ptr)
}

// Address is what a memo knows an object by: the address of its map.
func Address(object map[string]any) unsafe.Pointer { return memory.DataOf(object) }

// boxOf returns an interface that points to s, which is never written to.
func boxOf(s *string) any { return memory.WithData("", unsafe.Pointer(s)) }
