package memory

import (
	"reflect"
	"unsafe"
)

// Maker allocates the arrays of slices. It belongs to one goroutine. Its zero
// value is ready; it must not be copied once it was used.
type Maker struct{ slots [32]*slot }

// slot is where slices of one type grow. reflect.NewAt looks the type's pointer
// type up, in a map where the program has none, so it is called once.
type slot struct {
	typ         reflect.Type
	to, from    Slice
	grown, copy reflect.Value // of to and from
}

func (m *Maker) slot(slice reflect.Type) *slot {
	// Types are at least 32 bytes apart.
	s := &m.slots[uintptr(DataOf(slice))/32%uintptr(len(m.slots))]
	if *s == nil || (*s).typ != slice {
		made := &slot{typ: slice}
		made.grown = reflect.NewAt(slice, unsafe.Pointer(&made.to)).Elem()
		made.copy = reflect.NewAt(slice, unsafe.Pointer(&made.from)).Elem()
		*s = made
	}
	return *s
}

// Array returns zeroed memory for n elements of a slice type. An empty slice
// grows: reflect.MakeSlice would allocate the slice's header as well.
func (m *Maker) Array(slice reflect.Type, n int) unsafe.Pointer {
	s := m.slot(slice)
	s.grown.Grow(n)
	p := s.to.Data
	s.to = Slice{}
	return p
}

// Copied returns memory for n elements that begins with those of from, as many
// as it has room for.
func (m *Maker) Copied(slice reflect.Type, n int, from Slice) unsafe.Pointer {
	s := m.slot(slice)
	s.grown.Grow(n)
	s.to.Len, s.from = n, from
	reflect.Copy(s.grown, s.copy)
	p := s.to.Data
	s.to, s.from = Slice{}, Slice{}
	return p
}
