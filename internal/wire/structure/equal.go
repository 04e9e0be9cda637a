package structure

import (
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// comparison bounds how far values are followed: one that leads back to itself has no end,
// and one whose parts are reached in many ways takes as long as there are ways.
type comparison struct{ depth, left int }

// enter follows a pointer, slice or map, if the bounds allow that.
func (c *comparison) enter() bool {
	c.depth++
	c.left--
	return c.depth <= maxDepth && c.left >= 0
}

// leave ends enter, if all was equal.
func (c *comparison) leave() bool {
	c.depth--
	return true
}

// equal reports whether two values are equal by reflect.DeepEqual and the second
// may replace the first. It may return false for equal values.
func (n *node) equal(c *comparison, a, b unsafe.Pointer) bool {
	switch n.op {
	case opPlain:
		return memory.Equal(a, b, n.size)
	case opFloat32:
		return *(*float32)(a) == *(*float32)(b) && *(*uint32)(a) == *(*uint32)(b)
	case opFloat64:
		return *(*float64)(a) == *(*float64)(b) && *(*uint64)(a) == *(*uint64)(b)
	case opString:
		return stringAt(a) == stringAt(b)
	case opStruct:
		for i := range n.fields {
			f := &n.fields[i]
			if !f.node.equal(c, unsafe.Add(a, f.at), unsafe.Add(b, f.at)) {
				return false
			}
		}
		return true
	case opTime:
		return *(*time.Time)(a) == *(*time.Time)(b)
	case opPointer:
		p, q := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
		return p == q || p != nil && q != nil && c.enter() && n.elem.equal(c, p, q) && c.leave()
	case opSlice, opBytes:
		return n.equalSlices(c, (*memory.Slice)(a), (*memory.Slice)(b))
	case opMapStrings:
		return equalMaps(c, mapAt[string](a), mapAt[string](b), func(v, w string) bool { return v == w })
	case opMapQuantities:
		// Compares number and cached text, and the big number's address.
		return equalMaps(c, mapAt[resource.Quantity](a), mapAt[resource.Quantity](b), func(v, w resource.Quantity) bool { return v == w })
	case opMapAny:
		return equalMaps(c, mapAt[any](a), mapAt[any](b), c.any)
	case opAny:
		return c.any(*(*any)(a), *(*any)(b))
	case opOpaque:
		return memory.Zero(a, n.size) && memory.Zero(b, n.size)
	case opMap:
		return mapAt[struct{}](a) == nil && mapAt[struct{}](b) == nil
	}
	// Hidden state is not even read, since a reader of the previous version may be
	// writing to it. The same holds for the text of a Quantity with an address.
	return false
}

func (n *node) equalSlices(c *comparison, a, b *memory.Slice) bool {
	if a.Len != b.Len || (a.Data == nil) != (b.Data == nil) {
		return false
	}
	if a.Data == b.Data {
		return true
	}
	if n.op == opBytes {
		return memory.Equal(a.Data, b.Data, uintptr(a.Len)*n.elem.size)
	}
	if !c.enter() {
		return false
	}
	for i := range a.Len {
		at := uintptr(i) * n.elem.size
		if !n.elem.equal(c, unsafe.Add(a.Data, at), unsafe.Add(b.Data, at)) {
			return false
		}
	}
	return c.leave()
}

func sameMap[V any](a, b map[string]V) bool {
	return *(*unsafe.Pointer)(unsafe.Pointer(&a)) == *(*unsafe.Pointer)(unsafe.Pointer(&b))
}

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
