package protobuf

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// unit decodes a pointer, slice or map into field. b is the content of the
// message pointed to, or the run of a repeated field, tags included; count is
// how many elements there are. old is the last version's field, or nil.
func (d *decoder) unit(o *op, field unsafe.Pointer, b []byte, count int, old unsafe.Pointer, cur *share.Cursor, note bool) status {
	var last share.Value
	if old != nil {
		last = o.load(old)
	}
	if d.table == nil || !o.large(len(b), count) {
		return d.build(o, field, b, count, last, &d.none, false)
	}
	var h share.Hash
	hashed := false
	var rec *share.Record
	var inside share.Cursor
	if last.Ptr != nil && !cur.Empty() {
		rec, inside = cur.Find(int(o.number))
		if rec != nil && !rec.Open() && rec.Size() == len(b) {
			h, hashed = d.table.Sum(b), true
			if h == rec.Hash() {
				o.store(field, last)
				if note {
					d.session.Keep(rec, inside)
				}
				return same
			}
		}
	}
	ask := (rec == nil || !rec.Open()) && o.gauge.units.ask(b, patienceUnits)
	if ask {
		if !hashed {
			h, hashed = d.table.Sum(b), true
		}
		if v, ok := d.session.Get(o.unit, h); ok {
			o.gauge.units.hit(worthUnit)
			o.store(field, v)
			if note {
				d.session.Note(d.session.Reserve(), int(o.number), len(b), h)
			}
			if v == last {
				return same
			}
			return changed
		}
		o.gauge.units.miss(patienceUnits)
	}
	before, private := d.session.Allocated, d.private
	if !note {
		st := d.build(o, field, b, count, last, &inside, false)
		if ask && st == changed && d.private == private {
			d.session.Offer(o.unit, h, o.load(field), d.session.Allocated-before)
		}
		return st
	}
	n := d.begin(int(o.number), len(b), rec)
	st := d.build(o, field, b, count, last, &inside, last.Ptr != nil)
	if st == failed {
		return failed
	}
	if ask && st == changed && d.private == private {
		d.session.Offer(o.unit, h, o.load(field), d.session.Allocated-before)
	}
	if n.open(d, st, last.Ptr != nil && !o.opaque()) {
		return st
	}
	if !hashed {
		h = d.table.Sum(b)
	}
	n.close(d, h)
	return st
}

// large reports that a unit is worth being looked up.
func (o *op) large(encoded, count int) bool {
	if encoded >= minUnit {
		return true
	}
	switch o.kind {
	case kindQuantityPointer:
		// It is only by what the table has that it can be told to be the same.
		return true
	case kindMessagePointer, kindMessages:
		return o.elem.size*uintptr(count) >= minDecoded
	case kindStrings:
		return count*int(unsafe.Sizeof("")) >= minDecoded
	}
	return o.kind >= kindStringMap
}

// opaque reports that a value cannot be compared with the last version's, so
// that to find it changed says nothing.
func (o *op) opaque() bool {
	switch o.kind {
	case kindMessagePointer, kindMessages:
		return o.elem.foreign
	case kindQuantityPointer, kindMessageMap:
		return true
	}
	return false
}

// load returns the value of a field.
func (o *op) load(field unsafe.Pointer) share.Value {
	v := share.Value{Ptr: *(*unsafe.Pointer)(field)}
	if o.kind.slice() {
		v.Len = (*sliceHeader)(field).len
	}
	return v
}

// store sets a field, which is zero.
func (o *op) store(field unsafe.Pointer, v share.Value) {
	if o.kind.slice() {
		*(*sliceHeader)(field) = sliceHeader{v.Ptr, v.Len, v.Len}
	} else {
		*(*unsafe.Pointer)(field) = v.Ptr
	}
}

// build decodes what unit could not find.
func (d *decoder) build(o *op, field unsafe.Pointer, b []byte, count int, last share.Value, inside *share.Cursor, note bool) status {
	st := changed
	switch o.kind {
	case kindMessagePointer:
		p := o.elem.make()
		d.session.Allocated += int(o.elem.size)
		st = d.decode(o.elem, p, b, last.Ptr, inside, note)
		*(*unsafe.Pointer)(field) = p
	case kindStringPointer:
		if last.Ptr != nil && *(*string)(last.Ptr) == string(b) {
			st = same
			break
		}
		p := new(string)
		*p = d.string(o, b)
		d.session.Allocated += int(unsafe.Sizeof(*p))
		*(**string)(field) = p
	case kindTimePointer, kindMicroTimePointer:
		st = d.timePointer(o, field, b, last.Ptr)
	case kindQuantityPointer:
		st = d.quantityPointer(field, b)
	case kindBytes:
		st = d.bytes(field, b, last)
	case kindStrings:
		st = d.strings(o, field, b, count, last)
	case kindBools:
		st = numbers[bool](d, o, field, b, count, last)
	case kindInt32s:
		st = numbers[int32](d, o, field, b, count, last)
	case kindInt64s:
		st = numbers[int64](d, o, field, b, count, last)
	case kindMessages:
		st = d.messages(o, field, b, count, last, inside, note)
	case kindStringMap:
		st = d.stringMap(o, field, b, count, last.Ptr)
	case kindBytesMap:
		st = d.bytesMap(o, field, b, count, last.Ptr)
	case kindQuantityMap:
		st = d.quantityMap(o, field, b, count, last.Ptr)
	case kindMessageMap:
		st = d.messageMap(o, field, b, count, last.Ptr)
	default:
		panic("BUG: no such kind of unit")
	}
	if st == same {
		o.store(field, last)
	}
	return st
}
