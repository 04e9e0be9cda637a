// Package memory reads and writes Go values by their addresses and types, for decoders
// that follow a plan of a type instead of the type. No other package depends on how Go
// lays out a slice, an interface or a map.
//
// Pointers are written through reflect, or as pointers, so that the garbage
// collector's write barriers run.
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
