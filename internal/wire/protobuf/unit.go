package protobuf

import (
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
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

// number converts a varint as gogo does: excess bits are cut off.
func number[T bool | int32 | int64](v uint64) T {
	var res T
	switch p := any(&res).(type) {
	case *bool:
		*p = v != 0
	case *int32:
		*p = int32(v)
	case *int64:
		*p = int64(v)
	}
	return res
}

// number sets a field to a number, or to a pointer to one.
func (d *decoder) number(o *op, field unsafe.Pointer, v uint64, old unsafe.Pointer) status {
	switch o.kind {
	case kindBool:
		return inField(field, v != 0, old)
	case kindInt32:
		return inField(field, int32(v), old)
	case kindInt64:
		return inField(field, int64(v), old)
	case kindBoolPointer:
		return byPointer(d, field, v != 0, old)
	case kindInt32Pointer:
		return byPointer(d, field, int32(v), old)
	case kindInt64Pointer:
		return byPointer(d, field, int64(v), old)
	}
	panic("BUG: no such kind of number")
}

// float64 is number for floating-point numbers, which are unchanged if their
// bits are.
func (d *decoder) float64(o *op, field unsafe.Pointer, v float64, old unsafe.Pointer) status {
	if o.kind == kindFloat64 {
		*(*float64)(field) = v
		if old != nil && gotype.Float64(*(*float64)(old), v) {
			return same
		}
		return changed
	}
	if old != nil {
		if p := *(**float64)(old); p != nil && gotype.Float64(*p, v) {
			*(**float64)(field) = p
			return same
		}
	}
	p := new(float64)
	*p = v
	d.session.Allocated += int(unsafe.Sizeof(v))
	*(**float64)(field) = p
	return changed
}

func inField[T bool | int32 | int64](field unsafe.Pointer, v T, old unsafe.Pointer) status {
	*(*T)(field) = v
	if old != nil && *(*T)(old) == v {
		return same
	}
	return changed
}

func byPointer[T bool | int32 | int64](d *decoder, field unsafe.Pointer, v T, old unsafe.Pointer) status {
	if old != nil {
		if p := *(**T)(old); p != nil && *p == v {
			*(**T)(field) = p
			return same
		}
	}
	p := new(T)
	*p = v
	d.session.Allocated += int(unsafe.Sizeof(v))
	*(**T)(field) = p
	return changed
}

// timestamp decodes a Time, or a MicroTime, as their Unmarshal does.
func timestamp(b []byte, micro bool) (time.Time, bool) {
	if len(b) == 0 {
		return time.Time{}, true
	}
	// Seconds come before nanoseconds, as the type's own encoder writes them.
	if b[0] != 1<<3|wireVarint {
		return time.Time{}, false
	}
	seconds, i := uvarint(b, 1)
	if i < 0 || i >= len(b) || b[i] != 2<<3|wireVarint {
		return time.Time{}, false
	}
	nanos, i := uvarint(b, i+1)
	if i != len(b) {
		return time.Time{}, false
	}
	if !micro {
		nanos = 0
	}
	d := time.Duration(int32(nanos)).Truncate(time.Microsecond)
	return time.Unix(int64(seconds), int64(d)).Local(), true
}

func (d *decoder) timePointer(o *op, field unsafe.Pointer, b []byte, last unsafe.Pointer) status {
	t, ok := timestamp(b, o.kind == kindMicroTimePointer)
	if !ok {
		return failed
	}
	if last != nil && *(*time.Time)(last) == t {
		return same
	}
	p := new(time.Time)
	*p = t
	d.session.Allocated += int(unsafe.Sizeof(t))
	*(**time.Time)(field) = p
	return changed
}

// unmarshal decodes what has an Unmarshal of its own.
func (d *decoder) unmarshal(v official.Protobuf, b []byte) bool {
	err := official.Unmarshal(b, v)
	if err == nil {
		return true
	}
	if refused, ok := errtype.As[*scan.ExponentError](err); ok {
		d.refused = refused
	}
	return false
}

// parse decodes a quantity in place. It does not read the previous version's, to which
// String may be writing.
func (d *decoder) parse(q *resource.Quantity, b []byte) bool {
	if !d.unmarshal(q, b) {
		return false
	}
	if gotype.QuantityText(q) == "" {
		d.session.Private++
	}
	return true
}

func (d *decoder) quantityPointer(field unsafe.Pointer, b []byte) status {
	q := new(resource.Quantity)
	if !d.parse(q, b) {
		return failed
	}
	d.session.Allocated += int(unsafe.Sizeof(*q))
	*(**resource.Quantity)(field) = q
	return changed
}
