package json

import (
	"bytes"
	"math"
	"reflect"
	"strconv"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// text returns the text of the string at raw[at], and where it ends, or -1. The
// text is valid until the next call.
func (d *decoder) text(at int) ([]byte, int) {
	return scan.Text(d.raw, at, &d.scratch)
}

// intern returns text as a string, the same one for equal text that repeats.
func (d *decoder) intern(text []byte) string {
	if d.table == nil {
		return string(text)
	}
	return d.session.String(text)
}

func (d *decoder) string(p, last *string, at int) int {
	text, end := d.text(at)
	if end < 0 {
		return -1
	}
	if last != nil && *last == string(text) && len(text) > 0 && d.table != nil {
		*p = *last
		return end
	}
	*p = d.intern(text)
	return end
}

func (d *decoder) bool(p *bool, at int) int {
	*p = d.raw[at] == 't'
	if !*p && d.raw[at] != 'f' {
		return -1
	}
	if end, ok := scan.Literal(d.raw, at); ok {
		return end
	}
	return -1
}

// integer returns the integer at raw[at] and where it ends, or -1.
func (d *decoder) integer(at int) ([]byte, int) {
	end, integer, ok := scan.Number(d.raw, at)
	if !ok || !integer {
		return nil, -1
	}
	return d.raw[at:end], end
}

func (d *decoder) int(n *node, p unsafe.Pointer, at int) int {
	number, end := d.integer(at)
	if end < 0 {
		return -1
	}
	v, ok := scan.Int(number)
	if !ok || !n.setInt(p, v) {
		return -1
	}
	return end
}

// setInt returns false if v is out of the type's range.
func (n *node) setInt(p unsafe.Pointer, v int64) bool {
	switch n.size {
	case 1:
		*(*int8)(p) = int8(v)
		return v == int64(int8(v))
	case 2:
		*(*int16)(p) = int16(v)
		return v == int64(int16(v))
	case 4:
		*(*int32)(p) = int32(v)
		return v == int64(int32(v))
	}
	*(*int64)(p) = v
	return true
}

func (d *decoder) uint(n *node, p unsafe.Pointer, at int) int {
	number, end := d.integer(at)
	if end < 0 {
		return -1
	}
	v, err := strconv.ParseUint(unsafe.String(unsafe.SliceData(number), len(number)), 10, 64)
	if err != nil || !n.setUint(p, v) {
		return -1
	}
	return end
}

func (n *node) setUint(p unsafe.Pointer, v uint64) bool {
	switch n.size {
	case 1:
		*(*uint8)(p) = uint8(v)
		return v <= math.MaxUint8
	case 2:
		*(*uint16)(p) = uint16(v)
		return v <= math.MaxUint16
	case 4:
		*(*uint32)(p) = uint32(v)
		return v <= math.MaxUint32
	}
	*(*uint64)(p) = v
	return true
}

func (d *decoder) float(n *node, p unsafe.Pointer, at int) int {
	end, _, ok := scan.Number(d.raw, at)
	if !ok {
		return -1
	}
	v, err := strconv.ParseFloat(unsafe.String(&d.raw[at], end-at), n.bits())
	if err != nil {
		return -1
	}
	if n.size == 4 {
		*(*float32)(p) = float32(v)
	} else {
		*(*float64)(p) = v
	}
	return end
}

// plainPointer decodes a word or string into memory of its own. It takes the previous
// version's if that is equal, and all objects share the memory of common numbers
// and bools.
func (d *decoder) plainPointer(n *node, p, last *unsafe.Pointer, at int) int {
	elem := n.elem
	var old unsafe.Pointer
	if last != nil && d.table != nil {
		old = *last
	}
	if d.table != nil && n.constants != nil {
		var v int64
		end := -1
		switch elem.op {
		case opBool:
			var b bool
			if end = d.bool(&b, at); b {
				v = 1
			}
		case opInt:
			if number, e := d.integer(at); e >= 0 {
				var ok bool
				if v, ok = scan.Int(number); ok {
					end = e
				}
			}
		}
		if end < 0 {
			return -1
		}
		if v >= 0 && v < int64(len(n.constants)) {
			*p = n.constants[v]
			return end
		}
	}
	if d.table != nil && elem.op == opTime {
		return d.timePointer(elem, p, old, at)
	}
	made := elem.allocate()
	d.session.Allocated += int(elem.size)
	end := d.value(elem, made, old, nil, 0, at)
	if end < 0 {
		return -1
	}
	if old != nil && elem.same(made, old) {
		made = old
	}
	*p = made
	return end
}

// timePointer is plainPointer for a time. An object often has one time twice.
func (d *decoder) timePointer(n *node, p *unsafe.Pointer, old unsafe.Pointer, at int) int {
	var t metav1.Time
	end := d.time(n, unsafe.Pointer(&t), at)
	if end < 0 {
		return -1
	}
	if old != nil && *(*metav1.Time)(old) == t {
		*p = old
		return end
	}
	for _, made := range d.times {
		if made != nil && *made == t {
			*p = unsafe.Pointer(made)
			return end
		}
	}
	made := new(metav1.Time)
	*made = t
	d.session.Allocated += int(n.size)
	d.times[0], d.times[1] = made, d.times[0]
	*p = unsafe.Pointer(made)
	return end
}

// time decodes a Time or MicroTime, which are a time.Time each.
func (d *decoder) time(n *node, p unsafe.Pointer, at int) int {
	content, end, plain, ok := scan.String(d.raw, at)
	if !ok || !plain {
		return -1
	}
	layout := time.RFC3339
	if n.op == opMicroTime {
		layout = metav1.RFC3339Micro
	}
	// Only Parse's error keeps parts of the text, and it is dropped.
	t, err := time.Parse(layout, unsafe.String(unsafe.SliceData(content), len(content)))
	if err != nil {
		return -1
	}
	(*metav1.Time)(p).Time = t.Local()
	return end
}

// quantity decodes a Quantity, from a string or from a number.
func (d *decoder) quantity(p unsafe.Pointer, at int) int {
	var text []byte
	end := at
	if d.raw[at] == '"' {
		content, e, plain, ok := scan.String(d.raw, at)
		if !ok || !plain {
			return -1
		}
		text, end = content, e
	} else {
		e, _, ok := scan.Number(d.raw, at)
		if !ok {
			return -1
		}
		text, end = d.raw[at:e], e
	}
	if d.refused = scan.Exponent(text); d.refused != nil {
		return -1
	}
	if len(bytes.TrimSpace(text)) != len(text) {
		return -1
	}
	parsed, err := resource.ParseQuantity(d.intern(text))
	if err != nil {
		return -1
	}
	*(*resource.Quantity)(p) = parsed
	d.countLazy(p)
	return end
}

// countLazy counts the Quantity at p if it has no text: then String will write to it.
func (d *decoder) countLazy(p unsafe.Pointer) {
	if !d.inMap && gotype.QuantityText((*resource.Quantity)(p)) == "" {
		d.session.Private++
	}
}

func (d *decoder) intOrString(p, last unsafe.Pointer, at int) int {
	v := (*intstr.IntOrString)(p)
	if d.raw[at] == '"' {
		v.Type = intstr.String
		var old *string
		if last != nil {
			old = &(*intstr.IntOrString)(last).StrVal
		}
		return d.string(&v.StrVal, old, at)
	}
	number, end := d.integer(at)
	if end < 0 {
		return -1
	}
	i, ok := scan.Int(number)
	if !ok || i != int64(int32(i)) {
		return -1
	}
	v.IntVal = int32(i)
	return end
}

// keepRaw copies the JSON of a value.
func (d *decoder) keepRaw(p, last *[]byte, at int) int {
	end := d.skip(at)
	if end < 0 {
		return -1
	}
	raw := d.raw[at:end]
	if last != nil && d.table != nil && bytes.Equal(raw, *last) {
		*p = *last
		return end
	}
	made := make([]byte, len(raw))
	copy(made, raw)
	*p = made
	d.session.Allocated += len(raw)
	return end
}

// other decodes a value with the official decoder.
func (d *decoder) other(n *node, p unsafe.Pointer, at int) int {
	end := d.skip(at)
	if end < 0 {
		return -1
	}
	v := reflect.NewAt(n.typ, p)
	if err := official.JSON(d.raw[at:end], v.Interface()); err != nil {
		if refused, ok := errtype.As[*scan.ExponentError](err); ok {
			d.refused = refused
		}
		return -1
	}
	n.drops.Clear(v.Elem())
	d.session.Allocated += int(n.size) + end - at
	if n.alone {
		d.session.Private++
	}
	return end
}
