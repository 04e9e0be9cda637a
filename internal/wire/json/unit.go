package json

import (
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/internal/wire/state"
)

// minUnit is the smallest encoding that is worth a record or a look-up, if
// what it becomes is not large.
const minUnit = 32

// value decodes the value at raw[at] into the zeroed memory at p, and returns
// where it ends, or -1. last is where the last version has its value, or nil;
// records are of the units around, and number is this one's.
func (d *decoder) value(n *node, p, last unsafe.Pointer, records *share.Cursor, number, at int) int {
	if d.raw[at] == 'n' && n.op != opOther {
		return d.null(at)
	}
	switch n.op {
	case opString:
		return d.string((*string)(p), (*string)(last), at)
	case opBool:
		return d.bool((*bool)(p), at)
	case opInt:
		return d.int(n, p, at)
	case opUint:
		return d.uint(n, p, at)
	case opFloat:
		return d.float(n, p, at)
	case opTime, opMicroTime:
		return d.time(n, p, at)
	case opIntOrString:
		return d.intOrString(p, last, at)
	case opPointer:
		if n.plain {
			return d.plainPointer(n, (*unsafe.Pointer)(p), (*unsafe.Pointer)(last), at)
		}
	}
	if d.table == nil {
		var none share.Cursor
		return d.build(n, p, nil, &none, at)
	}
	return d.unit(n, p, last, records, number, at)
}

// unit takes a value from the last version or from the table, or decodes it.
// See doc.go.
func (d *decoder) unit(n *node, p, last unsafe.Pointer, records *share.Cursor, number, at int) int {
	s := d.session
	var inside share.Cursor
	open := false
	if last != nil && !records.Empty() {
		var r *share.Record
		if r, inside = records.Find(number); r != nil {
			if open = r.Open(); !open {
				end := at + r.Size()
				if end <= len(d.raw) && d.table.Sum(d.raw[at:end]) == r.Hash() {
					n.move(p, last)
					s.Keep(r, inside)
					return end
				}
			}
		}
	}
	var h share.Hash
	hashed, extent := false, 0
	if n.shared && !open && s.Asks(n.place, &share.UnitWorth) {
		end := d.extent(at)
		if end < 0 {
			return -1
		}
		extent = end
		if size := end - at; size >= minUnit || n.large && (n.op != opSlice || size > 2) {
			h, hashed = d.table.Sum(d.raw[at:end]), true
			v, ok := s.Get(n.unit, h)
			if s.Found(n.place, &share.UnitWorth, ok); ok {
				n.take(p, v)
				if d.noting {
					s.Note(s.Reserve(), number, size, h)
				}
				return end
			}
			if !d.indexed(at) {
				return -1
			}
		}
	}

	outer := d.noting
	var mark share.Mark
	if outer {
		mark = s.Reserve()
	}
	d.noting = outer && n.remembers(last)
	before, lazy := s.Allocated, d.lazy
	end := d.build(n, p, last, &inside, at)
	remembered := d.noting
	d.noting = outer
	if end < 0 || hashed && end != extent && !mutant.On(mutant.OfferWrongExtent) {
		// Of a number or a literal the extent may have more than the value: 5x.
		return -1
	}
	// What will be written must be this object's alone: neither the last
	// version's nor, by the table, another's; and that of the last version is
	// not even looked at.
	own := d.lazy > lazy
	equal := !own && n.equal(p, last)
	if equal {
		if n.op == opSlice {
			h := (*header)(p)
			d.spares.give(n, h.ptr, h.len)
		}
		n.move(p, last)
	} else if hashed && !own {
		s.Offer(n.unit, h, n.give(p), s.Allocated-before)
	}
	if !outer {
		return end
	}
	size := end - at
	switch {
	case size < minUnit && !n.large || !delimited(d.raw[at]) || own && !remembered:
		s.Drop(mark)
	case remembered && !equal:
		s.NoteOpen(mark, number, 0)
	default:
		if !hashed {
			h = d.table.Sum(d.raw[at:end])
		}
		s.Note(mark, number, size, h)
	}
	return end
}

// delimited reports that a value's first byte tells where it ends.
func delimited(c byte) bool { return c == '{' || c == '[' || c == '"' }

// build decodes a value, whatever may be known of it.
func (d *decoder) build(n *node, p, last unsafe.Pointer, inside *share.Cursor, at int) int {
	switch n.op {
	case opStruct:
		return d.structure(n, p, last, inside, at)
	case opPointer:
		made := n.elem.allocate()
		d.session.Allocated += int(n.elem.size)
		*(*unsafe.Pointer)(p) = made
		if last != nil {
			last = *(*unsafe.Pointer)(last)
		}
		inMap := d.inMap
		d.inMap = false
		at = d.build(n.elem, made, last, inside, at)
		d.inMap = inMap
		return at
	case opSlice:
		return d.slice(n, (*header)(p), (*header)(last), inside, at)
	case opMap:
		if n.stringMap {
			return d.stringMap(n, (*map[string]string)(p), (*map[string]string)(last), at)
		}
		return d.dictionary(n, p, at)
	case opBytes:
		return d.base64(n, (*[]byte)(p), at)
	case opRaw:
		return d.keepRaw((*[]byte)(unsafe.Add(p, n.raw)), (*[]byte)(offset(last, n.raw)), at)
	case opDrop:
		return d.skip(at)
	case opOther:
		return d.other(n, p, at)
	case opQuantity:
		return d.quantity(n, p, at)
	}
	// What is left is plain, and stands behind two pointers.
	var none share.Cursor
	return d.value(n, p, last, &none, 0, at)
}

// extent returns where the value at raw[at] ends, without proving that it is
// valid, or -1.
func (d *decoder) extent(at int) int {
	if e := d.tape.find(at); e != nil {
		return d.tape.start + int(e.end)
	}
	if end, ok := scan.Value(d.raw, at); ok {
		return end
	}
	return -1
}

// indexed makes the tape know what begins at raw[at], unless that is neither
// an object nor an array.
func (d *decoder) indexed(at int) bool {
	if c := d.raw[at]; c != '{' && c != '[' || d.tape.find(at) != nil {
		return true
	}
	return d.tape.read(d.raw, at)
}

// remembers reports that the last version has a value with parts, so that what
// is inside may change and is worth a record.
func (n *node) remembers(last unsafe.Pointer) bool {
	if last == nil || n.untold() {
		return false
	}
	switch n.op {
	case opStruct:
		return true
	case opPointer:
		return *(*unsafe.Pointer)(last) != nil && n.elem.op != opOther && n.elem.op != opRaw
	case opSlice:
		return (*header)(last).len > 0
	}
	return false
}

// untold: it cannot be told whether two values are equal, since the memory has
// state in it that somebody may be writing.
func (n *node) untold() bool {
	return n.holds || (n.op == opPointer || n.op == opSlice) && n.elem.holds
}

// equal reports that a value that was built is the last version's.
func (n *node) equal(p, last unsafe.Pointer) bool {
	if last == nil || n.untold() {
		return false
	}
	switch n.op {
	case opPointer:
		a, b := *(*unsafe.Pointer)(p), *(*unsafe.Pointer)(last)
		return b != nil && n.elem.equal(a, b)
	case opSlice:
		a, b := (*header)(p), (*header)(last)
		return a.len == b.len && b.ptr != nil && sameBytes(a.ptr, b.ptr, uintptr(a.len)*n.elem.size)
	case opBytes:
		b := *(*[]byte)(last)
		return b != nil && string(*(*[]byte)(p)) == string(b)
	case opOther:
		return state.Identical(reflect.NewAt(n.typ, p).Elem(), reflect.NewAt(n.typ, last).Elem())
	case opDrop:
		return false
	}
	return n.same(p, last)
}

// take and give are what passes through the table.
func (n *node) take(p unsafe.Pointer, v share.Value) {
	if n.op == opSlice || n.op == opBytes {
		*(*header)(p) = header{v.Ptr, v.Len, v.Len}
		return
	}
	*(*unsafe.Pointer)(p) = v.Ptr
}

func (n *node) give(p unsafe.Pointer) share.Value {
	if n.op == opSlice || n.op == opBytes {
		h := (*header)(p)
		return share.Value{Ptr: h.ptr, Len: h.len}
	}
	return share.Value{Ptr: *(*unsafe.Pointer)(p)}
}
