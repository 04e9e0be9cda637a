package wire

import (
	"reflect"

	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/internal/wire/structure"
)

// Structure shares the parts of Ts that were not decoded here, but made by
// somebody's code. It belongs to one goroutine.
type Structure[T any] struct{ sharer *structure.Sharer }

// NewStructure returns one that shares through table, or nil if T is no
// pointer to a struct.
func NewStructure[T any](table *share.Table) *Structure[T] {
	typ := reflect.TypeFor[T]()
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return nil
	}
	plan, err := cached(typ.Elem(), share.Structure, nil, func() (*structure.Plan, error) { return structure.Compile(typ.Elem()) })
	if err != nil {
		return nil // no struct, which was asked
	}
	return &Structure[T]{sharer: plan.Sharer(share.NewSession(table))}
}

// Share returns what is to be kept in place of obj, which equals it: last's
// object, obj, or a copy that has parts of others. obj must not be nil, and
// nothing that it leads to may be written afterwards. See structure.Sharer.
func (s *Structure[T]) Share(obj T, last Last[T]) T {
	was := pointer(last)
	return object[T](s.sharer.Share(pointer(Last[T]{Object: obj, Held: true}), was))
}
