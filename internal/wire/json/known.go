package json

import (
	"bytes"
	"reflect"
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
