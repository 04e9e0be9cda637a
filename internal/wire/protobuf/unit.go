package protobuf

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// unit decodes a pointer, slice or map without a previous version into field. b is
// the content of the message pointed to, or the run of a repeated field, tags
// included; count is how many elements there are.
func (d *decoder) unit(o *op, field unsafe.Pointer, b []byte, count int) status {
	if d.table == nil || !o.large(len(b), count) || !d.session.Asks(o.units, &share.UnitWorth) {
		return d.build(o, field, b, count, share.Value{})
	}
	var u share.Decision
	if v, ok := d.session.Lookup(&u, o.unit, o.units, &share.UnitWorth, b); ok {
		v.Store(field, o.kind.slice())
		return changed
	}
	d.session.Build(&u, false)
	st := d.build(o, field, b, count, share.Value{})
	if st == changed {
		d.session.Offer(&u, share.Load(field, o.kind.slice()))
	}
	return st
}

// large reports that a unit is worth being looked up.
func (o *op) large(encoded, count int) bool {
	if encoded >= share.MinEncoded {
		return true
	}
	switch o.kind {
	case kindQuantityPointer:
		// Only the table can show that it is the same.
		return true
	case kindMessagePointer, kindMessages:
		return int(o.elem.size)*count >= share.MinDecoded
	case kindStrings:
		return int(unsafe.Sizeof(""))*count >= share.MinDecoded
	}
	return o.kind >= kindStringMap
}

// opaque reports that a value cannot be compared with the previous version's, so that
// "changed" does not mean that it differs.
func (o *op) opaque() bool {
	switch o.kind {
	case kindMessagePointer, kindMessages:
		return o.elem.foreign
	case kindQuantityPointer, kindMessageMap:
		return true
	}
	return false
}

// build decodes a unit that could not be found. last is the previous version's value, if
// there is one; if the result is same, nothing may have been written. Messages are
// not compared with it.
func (d *decoder) build(o *op, field unsafe.Pointer, b []byte, count int, last share.Value) status {
	st := changed
	switch o.kind {
	case kindMessagePointer:
		p := o.elem.make()
		d.session.Allocated += int(o.elem.size)
		st = d.fresh(o.elem, p, b, noteNothing)
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
		st = d.messages(o, field, b, count)
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
	return st
}
