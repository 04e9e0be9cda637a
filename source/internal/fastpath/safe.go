//go:build kinglet_safe

package fastpath

import (
	"errors"
	"reflect"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/store"
)

// Linked reports that this build decodes by internal/wire.
const Linked = false

// Decoder is never made.
type Decoder[T any] struct{}

var errSafe = errors.New("built with the tag kinglet_safe")

// Compile fails.
func Compile[T any](reflect.Type, []string) (*Decoder[T], error) { return nil, errSafe }

// Decode fails.
func (*Decoder[T]) Decode(formats.Format, *Session, []byte, Last[T]) (Object[T], int, error) {
	return Object[T]{}, 0, errSafe
}

// KindApart returns false.
func (*Decoder[T]) KindApart() bool { return false }

// Key finds none.
func Key(formats.Format, []byte) (store.Key, bool) { return store.Key{}, false }

// Last is never used.
type Last[T any] struct {
	Object T
	Memo   *Memo
	Held   bool
}

// Object is a decoded object, of which only the Value is ever set.
type Object[T any] struct {
	Value            T
	Memo             *Memo
	Same             bool
	APIVersion, Kind string
}

// Copied makes value the object.
func (o *Object[T]) Copied(value T) { o.Value, o.Same = value, false }

// Structure is never made.
type Structure[T any] struct{}

// NewStructure returns nil, as for a T that is not shared.
func NewStructure[T any](*Table) *Structure[T] { return nil }

// Share returns obj.
func (*Structure[T]) Share(obj T, _ Last[T]) T { return obj }

// Memo is never made.
type Memo struct{}

// Recent has nothing.
type Recent struct{}

// Session never has a table.
type Session struct {
	Table  *Table
	Recent *Recent
}

// NewSession returns one.
func NewSession(t *Table) *Session { return &Session{Table: t} }

// Count does nothing.
func (*Session) Count() {}

// Table keeps nothing.
type Table struct{}

// NewTable returns one.
func NewTable(int) *Table { return &Table{} }

// Stats returns zeros.
func (*Table) Stats() (s struct {
	Entries, Bytes, MaxBytes int
	Hits, Misses             uint64
}) {
	return s
}
