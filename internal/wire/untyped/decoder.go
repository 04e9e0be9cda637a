package untyped

import "github.com/kinglet-go/kinglet/internal/wire/share"

// decoder is the state of decoding one object. The stacks hold the members and
// elements so far of the objects and arrays that are open.
type decoder struct {
	plan    *Plan
	raw     []byte
	session *share.Session
	table   *share.Table

	members []member
	values  []any
	scratch []byte // of an unescaped string
	names   names
}

type member struct {
	name  string
	value any
	hash  uint64 // of the name, as names has it
	// had: the previous version has this name; old: with this value.
	had, old bool
}

// maxKept is how many places a stack keeps for the next object: 200 KB.
const maxKept = 1 << 12

// release puts a decoder back, without references to what it decoded. done: its
// stacks are empty, and cleared.
func (p *Plan) release(d *decoder, done bool) {
	d.raw, d.session, d.table = nil, nil, nil
	if !done {
		clear(d.members[:cap(d.members)])
		clear(d.values[:cap(d.values)])
	}
	d.members, d.values = d.members[:0], d.values[:0]
	if cap(d.members) > maxKept || cap(d.values) > maxKept || cap(d.scratch) > 64*maxKept {
		d.members, d.values, d.scratch = nil, nil, nil
	}
	p.decoders.Put(d)
}
