package memory

import (
	"reflect"
	"unsafe"
)

// Maker allocates the arrays of slices. It belongs to one goroutine. Its zero value
// is ready to use; it must not be copied after its first use.
type Maker struct{ slots [32]*Slot }

func (m *Maker) slot(slice reflect.Type) *Slot {
	// Types are at least 32 bytes apart.
	s := &m.slots[uintptr(DataOf(slice))/32%uintptr(len(m.slots))]
	if *s == nil || (*s).typ != slice {
		*s = NewSlot(slice)
	}
	return *s
}

// Array returns zeroed memory for n elements of a slice type.
func (m *Maker) Array(slice reflect.Type, n int) unsafe.Pointer { return m.slot(slice).Array(n) }

// Copied returns memory for n elements that begins with the elements of from, as many
// as fit.
func (m *Maker) Copied(slice reflect.Type, n int, from Slice) unsafe.Pointer {
	p := m.Array(slice, n)
	m.slot(slice).Copy(Slice{p, n, n}, from)
	return p
}

// Slot allocates and copies the elements of slices of one type. It belongs to one
// goroutine. It calls reflect.NewAt only once, since that looks up the type's pointer
// type, in a map if the program has no such type.
type Slot struct {
	typ      reflect.Type
	to, from Slice
	// into and out are to and from.
	into, out reflect.Value
}

// NewSlot returns the Slot of a slice type.
func NewSlot(slice reflect.Type) *Slot {
	s := &Slot{typ: slice}
	s.into = reflect.NewAt(slice, unsafe.Pointer(&s.to)).Elem()
	s.out = reflect.NewAt(slice, unsafe.Pointer(&s.from)).Elem()
	return s
}

// Array returns zeroed memory for n elements. It grows an empty slice, since
// reflect.MakeSlice would allocate the slice's header as well.
func (s *Slot) Array(n int) unsafe.Pointer {
	s.into.Grow(n)
	p := s.to.Data
	s.to = Slice{}
	return p
}

// Copy copies the elements of from to those of to, as many as both have.
func (s *Slot) Copy(to, from Slice) {
	s.to, s.from = to, from
	reflect.Copy(s.into, s.out)
	s.to, s.from = Slice{}, Slice{}
}
