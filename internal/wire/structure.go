package wire

import (
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/internal/wire/structure"
)

// Structure shares the parts of Ts that were not decoded here, but made by a
// program's code. It belongs to one goroutine.
type Structure[T any] struct {
	table *share.Table
	// only is the shape of all objects, if T is no interface.
	only *shape[T]
	// shapes are those of the types that came in an interface; nil for a type that
	// is not shared.
	shapes map[reflect.Type]*shape[T]
}

// shape shares the objects of one type.
type shape[T any] struct {
	cell[T]
	sharer *structure.Sharer
}

// NewStructure returns a Structure that shares through table. It returns nil if T is
// neither a pointer to a struct nor an interface. In an interface, pointers to
// structs are shared.
func NewStructure[T any](table *share.Table) *Structure[T] {
	s := &Structure[T]{table: table}
	typ := reflect.TypeFor[T]()
	if typ.Kind() == reflect.Interface {
		s.shapes = map[reflect.Type]*shape[T]{}
		return s
	}
	if s.only = s.shape(typ); s.only == nil {
		return nil
	}
	return s
}

// shape returns the shape of a type of pointers to structs, or nil for other types.
func (s *Structure[T]) shape(typ reflect.Type) *shape[T] {
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil
	}
	typ = typ.Elem()
	plan, err := cached(planKey{typ: typ, format: formats.Structure}, func() (*structure.Plan, error) { return structure.Compile(typ) })
	if err != nil {
		return nil
	}
	session := share.NewSession(s.table)
	// A transform's slices may be of a mapped file, or read-only data.
	session.Foreign = true
	return &shape[T]{cell: cellOf[T](typ), sharer: plan.Sharer(session)}
}

// Share returns an equal object to keep instead of obj: last's object, obj, or a
// copy that has parts of others. obj must not be nil, and nothing that it leads to
// may be written afterwards. See structure.Sharer.
func (s *Structure[T]) Share(obj T, last Last[T]) T {
	by := s.only
	if by == nil {
		typ := reflect.TypeOf(any(obj))
		var known bool
		if by, known = s.shapes[typ]; !known {
			by = s.shape(typ)
			s.shapes[typ] = by
		}
		if by == nil {
			return obj
		}
	}
	// An object that is compared in full needs no memo.
	var was unsafe.Pointer
	if last.Held {
		was = by.at(last.Object)
	}
	return by.object(by.sharer.Share(by.at(obj), was))
}
