package untyped

import (
	"io"
	"unsafe"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// maxDepth is how deep the fast path goes; real objects stay below 40, except for
// schemas of definitions. Deeper ones are decoded as if there were no plan.
const maxDepth = 100

// Decode decodes the object that raw begins with, and returns how many bytes it
// took; raw may go on after it. Nothing refers to raw afterwards. last is the
// object's previous version, a VersionOf. It is used only if this plan made it.
//
// If the object does not end within raw, n is 0 and the error is
// io.ErrUnexpectedEOF. With any other error n is where the faulty object ends, or
// 0 if that is unknown.
//
// Without a table in s nothing is shared, and the caller may modify the object.
func (p *Plan) Decode(s *share.Session, raw []byte, last share.Version) (r Result, n int, err error) {
	at := scan.Space(raw, 0)
	if at == len(raw) {
		return Result{}, 0, io.ErrUnexpectedEOF
	}
	if raw[at] == '{' {
		if r, end, ok := p.fast(s, raw, at, last); ok {
			return r, end, nil
		}
	}
	return p.slow(raw, at)
}

func (p *Plan) fast(s *share.Session, raw []byte, at int, version share.Version) (Result, int, bool) {
	d := p.decoders.Get().(*decoder)
	d.raw, d.session, d.table = raw, s, s.Table
	if d.table == nil {
		version = share.Version{}
	}
	s.Begin()
	last, records := version.By(p.id)
	f := frame{last: memory.Map[any](last), memo: records, note: d.table != nil, drops: p.drops, root: true}
	m, end, same, ok := d.object(at, &f)
	p.release(d, ok)
	if !ok || same {
		return Result{Object: m, Same: same}, end, ok
	}
	r := Result{Object: m}
	if s.Table != nil {
		r.Memo = s.Memo(p.id, Address(m))
	}
	return r, end, true
}

// slow decodes with the official decoder.
func (p *Plan) slow(raw []byte, at int) (Result, int, error) {
	end, ok := scan.Value(raw, at)
	switch {
	case ok:
	case raw[at] == '{' || raw[at] == '[' || raw[at] == '"':
		return Result{}, 0, io.ErrUnexpectedEOF
	default:
		// A number has no delimiter at its end; anything else is no value.
		end = len(raw)
	}
	var m map[string]any
	if err := json.Unmarshal(raw[at:end], &m); err != nil {
		if !ok {
			end = 0
		}
		return Result{}, end, err
	}
	p.drops.ClearUntyped(m)
	return Result{Object: m}, end, nil
}

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

// An interface with a map points to the map. A slice's header, a string and a
// number are in a box. Sharing the box as well saves allocating it: 24, 16 and 8
// bytes.

// shared returns v, a map or a slice, as a table holds it; unshared reverses that.
func shared(v any) share.Value { return share.Value{Ptr: memory.DataOf(v)} }

func unshared(v share.Value, object bool) any {
	if object {
		return memory.Map[any](v.Ptr)
	}
	return memory.WithData([]any(nil), v.Ptr)
}

// Address returns the address of an object's map, which is its address in a memo.
func Address(object map[string]any) unsafe.Pointer { return memory.DataOf(object) }

// boxOf returns an interface that points to s, which is never written to.
func boxOf(s *string) any { return memory.WithData("", unsafe.Pointer(s)) }

// Sizes of Go's allocations on a 64-bit machine, for the table's count of what it
// keeps alive. They need not be exact.
const (
	sliceBytes = 24 // a slice's box
	anyBytes   = 16
	wordBytes  = 8 // a number's box
)

// memberBytes is the size of a map's member, its name and its value.
const memberBytes = 16 + 16
