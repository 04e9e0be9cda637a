//go:build !kinglet_safe

package fastpath

import (
	"reflect"

	"github.com/kinglet-go/kinglet/internal/wire"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/store"
)

// Linked reports that this build decodes by internal/wire.
const Linked = true

type (
	Decoder[T any]   = wire.Decoder[T]
	Last[T any]      = wire.Last[T]
	Object[T any]    = wire.Object[T]
	Structure[T any] = wire.Structure[T]

	Memo    = share.Memo
	Recent  = share.Recent
	Session = share.Session
	Table   = share.Table
)

// Compile is wire.Compile.
func Compile[T any](typ reflect.Type, drop []string) (*Decoder[T], error) {
	return wire.Compile[T](typ, drop)
}

// Key is wire.Key.
func Key(format formats.Format, raw []byte) (store.Key, bool) { return wire.Key(format, raw) }

// NewStructure is wire.NewStructure.
func NewStructure[T any](t *Table) *Structure[T] { return wire.NewStructure[T](t) }

// NewSession is share.NewSession.
func NewSession(t *Table) *Session { return share.NewSession(t) }

// NewTable is share.NewTable.
func NewTable(maxBytes int) *Table { return share.NewTable(maxBytes) }
