package structure

import (
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

func stringAt(p unsafe.Pointer) string { return *(*string)(p) }

// mapAt returns the map in the field at p.
func mapAt[V any](p unsafe.Pointer) map[string]V { return memory.Map[V](*(*unsafe.Pointer)(p)) }

// data is the second word of an interface.
func data(v *any) unsafe.Pointer { return (*memory.Interface)(unsafe.Pointer(v)).Data }

// copyOfSlice returns a copy of the elements of the slice at p.
func copyOfSlice(typ reflect.Type, p unsafe.Pointer) unsafe.Pointer {
	from := reflect.NewAt(typ, p).Elem()
	to := reflect.MakeSlice(typ, from.Len(), from.Len())
	reflect.Copy(to, from)
	return to.UnsafePointer()
}
