package wire

import (
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// cell knows how a T keeps the pointer to an object: it is that pointer, or an
// interface with that pointer in it. Neither way allocates.
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

// object makes the T of an object at p.
func (c *cell[T]) object(p unsafe.Pointer) T {
	if c.boxed != nil {
		return reflect.NewAt(c.boxed, p).Interface().(T)
	}
	return *(*T)(unsafe.Pointer(&p))
}

// at is where obj is, or nil: an interface may hold an object of another type,
// that somebody else put into the store.
func (c *cell[T]) at(obj T) unsafe.Pointer {
	if c.boxed == nil {
		return *(*unsafe.Pointer)(unsafe.Pointer(&obj))
	}
	if v := any(obj); reflect.TypeOf(v) == c.pointer {
		return reflect.ValueOf(v).UnsafePointer()
	}
	return nil
}

// held is the last version.
func (c *cell[T]) held(last Last[T]) share.Version {
	if !last.Held {
		return share.Version{}
	}
	return share.VersionOf(c.at(last.Object), last.Memo)
}
