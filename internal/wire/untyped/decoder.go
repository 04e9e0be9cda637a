package untyped

import "github.com/kinglet-go/kinglet/internal/wire/share"

// decoder is what decoding one object needs. The stacks hold what the objects
// and arrays that are open have so far.
type decoder struct {
	plan    *Plan
	raw     []byte
	session *share.Session
	table   *share.Table

	members []member
	values  []any
	scratch []byte // of an unescaped string
	names   names
	recent  recent
}

type member struct {
	name  string
	value any
	hash  uint64 // of the name, as names has it
	// had: the last version has this name; old: with this value.
	had, old bool
}
