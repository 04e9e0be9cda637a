package protobuf

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// Plan decodes objects of one Go type. It is immutable and safe for concurrent
// use.
type Plan struct {
	id   share.PlanID
	root *message
	// whole is root without anything dropped, if the type leads to one that contains
	// itself: it checks how deep messages nest.
	whole *message
	drops *gotype.Drops

	decoders sync.Pool // of *decoder
}

// message is the plan of one struct type with one set of fields dropped, or of
// a type that decodes itself.
type message struct {
	typ  reflect.Type
	size uintptr
	// drops are the fields of the type that are left out.
	drops *gotype.Drops
	// foreign says that the type's own Unmarshal decodes it; there are no ops.
	foreign bool
	// private: a foreign type may have hidden state, such as a Quantity
	// (package gotype).
	private bool
	ops     []op
	// index finds the op of a field number: its place in ops and 1, or 0.
	index []uint8
	// states has the bits of the ops that have hidden state in place: if the field
	// is absent, the object has its zero value, which methods may write to.
	states uint64
	// holds says that hidden state is part of the message's own memory. Then it is
	// never compared with the previous version, nor begun as a copy of it, since a
	// reader may be writing to it.
	holds bool
	// alone says that there is such state outside of the ops, in a field that is
	// dropped, so that no value of the message may be shared.
	alone bool
	// changing has the bits of the fields that change with every version, begins
	// those of the fields that often change then.
	changing, begins uint64
	// typeMeta is where an embedded TypeMeta is, which has no op, or -1.
	typeMeta int
}

// op decodes one field. It takes half a cache line: besides the bytes, a decoder
// reads ops most.
type op struct {
	kind         kind
	wire         uint8
	number       uint16
	offset, size uint32 // of the field
	// tag is how the field's tag is encoded, for repeated fields.
	tag    [3]byte
	tagLen uint8
	// elem is the message in a struct, pointer, slice or map.
	elem *message
	*source
}

// source has what an op needs to look a value up, or to allocate it.
type source struct {
	// unit is set for pointers, slices and maps.
	unit share.Unit
	// units and text are the places of the values and of the strings in them.
	units, text share.Place
	// typ is the field's type.
	typ reflect.Type
}

// kind is how a field is decoded.
type kind uint8

const (
	kindString kind = iota
	kindBool
	kindInt32
	kindInt64
	kindFloat64
	kindTime
	kindMicroTime
	kindQuantity
	kindMessage
	// From here on, kinds can be shared. First pointers, in the order of the kinds
	// that they point to.
	kindStringPointer
	kindBoolPointer
	kindInt32Pointer
	kindInt64Pointer
	kindFloat64Pointer
	kindTimePointer
	kindMicroTimePointer
	kindQuantityPointer
	kindMessagePointer
	kindBytes
	// From here on, kinds are repeated.
	kindStrings
	kindBools
	kindInt32s
	kindInt64s
	kindMessages
	kindStringMap
	kindBytesMap
	kindQuantityMap
	kindMessageMap
)

func (k kind) repeated() bool { return k >= kindStrings }

// slice reports that the field is a slice header.
func (k kind) slice() bool { return k >= kindBytes && k <= kindMessages }

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// make allocates one value of the message's type.
func (m *message) make() unsafe.Pointer { return memory.New(m.typ) }

// Decode decodes one object from raw, which is its whole message. last is the object's
// previous version, of the plan's type; it is used only if this plan made it.
//
// If s has a table, the object shares memory with last and with other objects:
// none of them may be modified. Otherwise last is ignored, and the object is the
// caller's own. Nothing refers to raw afterwards. A message of n bytes costs O(n)
// time and memory.
func (p *Plan) Decode(s *share.Session, raw []byte, last share.Version) (share.Result, int, error) {
	if s.Table == nil {
		last = share.Version{}
	}
	res, ok, err := p.planned(s, raw, last)
	if !ok && err == nil {
		res, err = p.official(raw)
	}
	return res, len(raw), err
}

// planned decodes with the plan. It is not ok if the plan cannot decode raw. After an
// error, raw must not be given to the official decoder either.
func (p *Plan) planned(s *share.Session, raw []byte, version share.Version) (res share.Result, ok bool, err error) {
	if p.root.foreign {
		return share.Result{}, false, nil
	}
	d, _ := p.decoders.Get().(*decoder)
	if d == nil {
		d = &decoder{}
	}
	d.session, d.table = s, s.Table
	st := failed
	last, records := version.By(p.id)
	if last != nil && !p.root.holds {
		d.depth = 0
		s.Begin()
		name := d.enter(frame{m: p.root, last: last})
		st = d.next(name, raw, records, true)
		res.Object = d.frames[name].dst
	}
	if st == failed {
		d.depth = 0
		s.Begin()
		note := noteNothing
		if s.Table != nil {
			note = noteFields
		}
		res.Object = p.root.make()
		s.Allocated += int(p.root.size)
		st = d.fresh(p.root, res.Object, raw, note)
	}
	refused := d.refused
	d.release()
	p.decoders.Put(d)
	switch st {
	case failed:
		return share.Result{}, false, refused
	case same:
		return share.Result{Object: last, Memo: version.Memo(), Same: true}, true, nil
	}
	if s.Table != nil {
		// Also without a record: the memo proves where the object came from.
		res.Memo = s.Memo(p.id, res.Object)
	}
	s.Allocated += res.Memo.Bytes()
	return res, true, nil
}

// release drops all references to what a call has decoded.
func (d *decoder) release() {
	clear(d.frames[:d.deepest])
	d.frames, d.deepest = d.frames[:0], 0
	d.slot = memory.Slice{}
	d.session, d.table, d.refused = nil, nil, nil
}

// TypeError says why there is no plan for a type.
type TypeError struct {
	Type   reflect.Type
	Reason string
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("no protobuf plan for %v: %s", e.Type, e.Reason)
}

// DepthError says that a message nests deeper than MaxDepth.
type DepthError struct{ Type reflect.Type }

func (e *DepthError) Error() string {
	return fmt.Sprintf("protobuf: %v nests deeper than %d messages", e.Type, MaxDepth)
}
