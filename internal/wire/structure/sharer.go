package structure

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// keepBuffer is the largest scratch buffer that is kept between objects.
const keepBuffer = 64 << 10

// Sharer shares the objects of one plan, one after the other. It belongs to
// one goroutine. Make one with Plan.Sharer.
type Sharer struct {
	root    *node
	session *share.Session
	enc     encoder
	// next is the segment of the next unit.
	next int
	// found are the replacements in the containers under way.
	found    []replacement
	compared comparison
	// slots hold the values of maps of interfaces while they are processed.
	slots []any
}

// replacement is an equal value for the one at an offset in its container, or the
// one with that number.
type replacement struct {
	at    uintptr
	op    op
	value share.Value
	text  string
	any   any
}

// Sharer returns a sharer that uses s. Without a table it shares nothing.
func (p *Plan) Sharer(s *share.Session) *Sharer { return &Sharer{root: p.root, session: s} }

// Share returns an object to keep instead of the one at obj. It equals obj by
// reflect.DeepEqual and shares with others what it can. It is last, the object's
// previous version, if the two are equal; obj itself if there is nothing to exchange;
// otherwise a copy. last may be nil.
//
// Share writes to nothing that obj or last lead to. Afterwards obj must not be
// written to, nor anything that it leads to: others may have parts of it.
//
// It costs about as much as to compare the two, and twice as much as to encode
// and hash what last does not have.
func (x *Sharer) Share(obj, last unsafe.Pointer) unsafe.Pointer {
	if x.session.Table == nil || obj == last {
		return obj
	}
	x.session.Begin()
	x.compared.left = mostCompared
	if last != nil && x.equal(x.root, obj, last) {
		return last
	}
	for i := range x.root.refs {
		f := &x.root.refs[i]
		p, q := unsafe.Add(obj, f.at), memory.At(last, f.at)
		if f.node.op == opString {
			x.text(p, q, f.at)
			continue
		}
		if x.kept(f.node, p, q, f.at) {
			continue
		}
		x.enc.reset()
		x.next = 0
		if x.enc.value(f.node, p); !x.enc.deep {
			x.differing(f.node, p, q, f.at)
		}
	}
	if len(x.found) > 0 {
		obj = memory.CopyOf(x.root.typ, obj)
		x.apply(obj, 0)
	}
	x.forget()
	return obj
}

// mostCompared is how many pointers, slices and maps of an object are followed to be compared
// with the last version's. What comes after them is not shared with it.
const mostCompared = 1 << 22

func (x *Sharer) equal(n *node, a, b unsafe.Pointer) bool {
	x.compared.depth = 0
	return n.equal(&x.compared, a, b)
}

// forget drops the references to the object.
func (x *Sharer) forget() {
	clear(x.found[:cap(x.found)])
	clear(x.slots[:cap(x.slots)])
	x.enc.reset()
	if cap(x.enc.buf) > keepBuffer {
		x.enc = encoder{}
	}
}

// refs calls ref for each part of a value that can be exchanged.
func (x *Sharer) refs(n *node, p, last unsafe.Pointer, at uintptr) {
	if n.op != opStruct {
		x.ref(n, p, last, at)
		return
	}
	for i := range n.refs {
		f := &n.refs[i]
		x.ref(f.node, unsafe.Add(p, f.at), memory.At(last, f.at), at+f.at)
	}
}

// ref finds a replacement for one value that can be exchanged. last is the previous
// version's value in its place, or nil.
func (x *Sharer) ref(n *node, p, last unsafe.Pointer, at uintptr) {
	switch n.op {
	case opString:
		x.text(p, last, at)
	case opAny:
		x.any((*any)(p), (*any)(last), at)
	case opPointer, opSlice, opBytes, opMapStrings, opMapQuantities, opMapAny, opMap:
		if load(n, p).Len == 0 {
			return // it has no content, and no segment
		}
		if x.kept(n, p, last, at) {
			x.next = x.enc.segs[x.next].next
			return
		}
		x.differing(n, p, last, at)
	}
}

// differing is ref for a value that differs from the previous version's.
func (x *Sharer) differing(n *node, p, last unsafe.Pointer, at uintptr) {
	if n.op == opAny {
		x.any((*any)(p), (*any)(last), at)
		return
	}
	own := load(n, p)
	if own.Len == 0 {
		return
	}
	v := x.unit(n, p, last)
	// With capacity beyond the length, two appends would write to the same memory.
	long := (n.op == opSlice || n.op == opBytes) && (*memory.Slice)(p).Cap > own.Len
	if v != own || long {
		x.found = append(x.found, replacement{at: at, op: n.op, value: v})
	}
}

// kept takes the previous version's value if that is equal, and reports whether it did.
func (x *Sharer) kept(n *node, p, last unsafe.Pointer, at uintptr) bool {
	if last == nil || !x.equal(n, p, last) {
		return false
	}
	if n.op == opAny {
		if data((*any)(p)) != data((*any)(last)) {
			x.found = append(x.found, replacement{at: at, op: opAny, any: *(*any)(last)})
		}
	} else if v := load(n, last); v.Ptr != nil && v != load(n, p) {
		x.found = append(x.found, replacement{at: at, op: n.op, value: v})
	}
	return true
}

// load reads the value of a field in the table's form. Len is 0 if it is nil or
// empty.
func load(n *node, p unsafe.Pointer) share.Value {
	switch n.op {
	case opSlice, opBytes:
		return share.Load(p, true)
	case opPointer:
		if q := *(*unsafe.Pointer)(p); q != nil {
			return share.Value{Ptr: q, Len: 1}
		}
		return share.Value{}
	}
	return share.Value{Ptr: *(*unsafe.Pointer)(p), Len: len(mapAt[struct{}](p))}
}

// unit returns the replacement for the unit at p, whose segment is the next one: the
// table's value, or else the unit itself with its parts exchanged. For a list in
// an interface, the replacement is the interface's box instead of the elements.
func (x *Sharer) unit(n *node, p, last unsafe.Pointer) share.Value {
	s := x.enc.segs[x.next]
	var u share.Decision
	if !s.alone && share.Large(s.end-s.start, s.bytes) && x.session.Asks(n.place, &share.UnitWorth) {
		if v, ok := x.session.Lookup(&u, n.unit, n.place, &share.UnitWorth, x.enc.buf[s.start:s.end]); ok {
			x.next = s.next
			return v
		}
	}
	x.session.Build(&u, false)
	x.next++
	v := x.inside(n, p, last, s.keys)
	x.next = s.next
	if n == listNode {
		v = boxed(p, v)
	}
	x.session.OfferSized(&u, v, s.bytes)
	return v
}

// boxed returns the box of a list with these elements: p, if that is this list
// without room for more.
func boxed(p unsafe.Pointer, v share.Value) share.Value {
	if *(*memory.Slice)(p) == memory.SliceOf(v.Ptr, v.Len) {
		return share.Value{Ptr: p}
	}
	return share.Value{Ptr: unsafe.Pointer(&memory.Slice{Data: v.Ptr, Len: v.Len, Cap: v.Len})}
}

// inside exchanges the parts of a unit, in a copy of it.
func (x *Sharer) inside(n *node, p, last unsafe.Pointer, keys int) share.Value {
	v := load(n, p)
	mine := len(x.found)
	switch n.op {
	case opPointer:
		var q unsafe.Pointer
		if last != nil {
			q = *(*unsafe.Pointer)(last)
		}
		if x.refs(n.elem, v.Ptr, q, 0); len(x.found) > mine {
			v.Ptr = memory.CopyOf(n.elem.typ, v.Ptr)
			x.apply(v.Ptr, mine)
		}
	case opSlice:
		for i := range v.Len {
			at := uintptr(i) * n.elem.size
			var q unsafe.Pointer
			if last != nil && i < (*memory.Slice)(last).Len {
				q = unsafe.Add((*memory.Slice)(last).Data, at)
			}
			x.refs(n.elem, unsafe.Add(v.Ptr, at), q, at)
		}
		if len(x.found) > mine {
			v.Ptr = copyOfSlice(n.typ, p)
			x.apply(v.Ptr, mine)
		}
	case opMapStrings:
		v.Ptr = x.mapStrings(mapAt[string](p))
	case opMapAny:
		v.Ptr = x.mapAny(p, last, keys)
	}
	return v
}

// apply writes the replacements from first on into a container that only the
// sharer refers to.
func (x *Sharer) apply(p unsafe.Pointer, first int) {
	for i := range x.found[first:] {
		r := &x.found[first+i]
		at := unsafe.Add(p, r.at)
		switch r.op {
		case opString:
			*(*string)(at) = r.text
		case opAny:
			*(*any)(at) = r.any
		default:
			r.value.Store(at, r.op == opSlice || r.op == opBytes)
		}
	}
	x.found = x.found[:first]
}

// text exchanges a string.
func (x *Sharer) text(p, last unsafe.Pointer, at uintptr) {
	s := stringAt(p)
	if s == "" {
		return
	}
	known := s
	if last != nil && stringAt(last) == s {
		known = stringAt(last)
	} else if k := x.session.Table.Known(s); k != nil {
		known = *k
	}
	if unsafe.StringData(known) != unsafe.StringData(s) {
		x.found = append(x.found, replacement{at: at, op: opString, text: known})
	}
}
