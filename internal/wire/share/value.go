package share

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// Value is a shared value: a pointer, a map, or a slice's first element and
// its length, which is its capacity too. What it points to is never written
// again.
type Value struct {
	Ptr unsafe.Pointer
	Len int
}

// Load returns the value of a field: of a slice if slice is set, otherwise of a
// pointer or a map.
func Load(field unsafe.Pointer, slice bool) Value {
	v := Value{Ptr: *(*unsafe.Pointer)(field)}
	if slice {
		v.Len = (*memory.Slice)(field).Len
	}
	return v
}

// Store sets a field to the value. An append to a shared slice allocates new memory.
func (v Value) Store(field unsafe.Pointer, slice bool) {
	if slice {
		*(*memory.Slice)(field) = memory.SliceOf(v.Ptr, v.Len)
		return
	}
	*(*unsafe.Pointer)(field) = v.Ptr
}
