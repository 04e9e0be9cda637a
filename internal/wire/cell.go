package wire

import (
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// cell converts between a T and the pointer to an object: T is that pointer, or an
// interface that holds it. Neither conversion allocates.
type cell[T any] struct {
	// boxed is the type to point to if T is an interface, or nil.
	boxed reflect.Type
	// pointer is the type of a pointer to it.
	pointer reflect.Type
}

// cellOf returns the cell of a T that is, or can keep, a pointer to typ.
func cellOf[T any](typ reflect.Type) cell[T] {
	if reflect.TypeFor[T]().Kind() != reflect.Interface {
		return cell[T]{}
	}
	return cell[T]{boxed: typ, pointer: reflect.PointerTo(typ)}
}

// object returns the T for the object at p.
func (c *cell[T]) object(p unsafe.Pointer) T {
	if c.boxed != nil {
		return reflect.NewAt(c.boxed, p).Interface().(T)
	}
	return *(*T)(unsafe.Pointer(&p))
}

// at returns the address of the object in obj, or nil: an interface may hold an
// object of another type, which the program put into the store.
func (c *cell[T]) at(obj T) unsafe.Pointer {
	if c.boxed == nil {
		return *(*unsafe.Pointer)(unsafe.Pointer(&obj))
	}
	if v := any(obj); reflect.TypeOf(v) == c.pointer {
		return reflect.ValueOf(v).UnsafePointer()
	}
	return nil
}

// held returns last as a share.Version.
func (c *cell[T]) held(last Last[T]) share.Version {
	if !last.Held {
		return share.Version{}
	}
	return share.VersionOf(c.at(last.Object), last.Memo)
}
