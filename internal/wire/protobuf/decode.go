package protobuf

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// decoder is the state of one call of Decode.
type decoder struct {
	session *share.Session
	table   *share.Table // nil if nothing is shared
	depth   int
	// frames are the values being compared with the previous version; deepest is the
	// most that there were at once.
	frames  []frame
	deepest int
	// slot and word are for values that may turn out to be the previous version's:
	// slot for those with pointers, word for others.
	slot memory.Slice
	word uint64
	// refused is why the object is not to be given to the official decoder
	// either.
	refused error
	maker   memory.Maker
}

// maxPlanned is how deep the plan follows messages. Objects that nest deeper are
// left to Unmarshal: no type of Kubernetes that is not recursive comes near.
const maxPlanned = 100

// status is the result of decoding a value.
type status uint8

const (
	// failed: the plan cannot decode it.
	failed status = iota
	// changed: it was decoded.
	changed
	// same: it equals the previous version's value, which is in its place.
	same
)

// noting says what is noted of a message without a previous version.
type noting uint8

const (
	noteNothing noting = iota
	// noteFields notes each field, and those inside metadata.
	noteFields
	// noteRuns notes runs of fields that are not known to change.
	noteRuns
)

// fresh decodes raw into dst, which is zero, without a previous version.
func (d *decoder) fresh(m *message, dst unsafe.Pointer, raw []byte, note noting) status {
	if m.foreign {
		return d.foreign(m, dst, raw)
	}
	if d.depth++; d.depth > maxPlanned {
		return failed
	}
	var seen uint64
	var run pending
	mark, ended := d.session.Mark(), 0
	for i := 0; i < len(raw); {
		start := i
		tag := uint64(raw[i])
		i++
		if tag >= 0x80 {
			if tag, i = uvarint(raw, start); i < 0 {
				return failed
			}
		}
		place, ok := m.place(tag >> 3)
		if !ok {
			if i = skipUnknown(raw, i, tag); i < 0 {
				return failed
			}
			continue
		}
		o := &m.ops[place]
		bit := uint64(1) << (place & 63)
		if uint8(tag&7) != o.wire || seen&bit != 0 {
			return failed
		}
		seen |= bit
		if note != noteNothing && place < ended {
			// Only fields in order have records.
			d.session.Drop(mark)
			note, run = noteNothing, pending{}
		}
		ended = place + 1
		private, begun := d.session.Private, d.session.Mark()
		if note == noteFields && o.kind == kindMessage && o.elem.changing != 0 {
			d.session.Reserve()
		}
		if i = d.freshField(o, unsafe.Add(dst, uintptr(o.offset)), raw, start, i, note); i < 0 {
			return failed
		}
		switch note {
		case noteFields:
			switch {
			case o.kind == kindMessage && o.elem.changing != 0:
				d.session.NoteOpen(begun, runNumber(place, place), 0)
			case i-start >= share.MinEncoded && d.session.Private == private:
				run.extend(place, start, i)
				run.flush(d, raw)
			}
		case noteRuns:
			if (m.changing|m.begins)&bit != 0 {
				run.flush(d, raw)
			}
			if m.changing&bit == 0 {
				run.extend(place, start, i)
			}
		}
	}
	if note == noteRuns {
		run.flush(d, raw)
	}
	if m.states&^seen != 0 || m.alone {
		d.session.Private++
	}
	if m.drops.Marks() {
		m.drops.Mark((*metav1.ObjectMeta)(dst), d.table == nil)
	}
	d.depth--
	return changed
}

// freshField decodes a field into memory that is zero, and returns where it
// ends, or -1.
func (d *decoder) freshField(o *op, field unsafe.Pointer, raw []byte, start, i int, note noting) int {
	st := changed
	end := 0
	if o.kind.repeated() {
		var count int
		if i-start != int(o.tagLen) {
			return -1 // an overlong tag: runs need tags of the usual length
		}
		if end, count = run(o, raw, i); end < 0 || d.unit(o, field, raw[start:end], count) == failed {
			return -1
		}
		return end
	}
	switch o.wire {
	case wireVarint:
		v, end := uvarint(raw, i)
		if end >= 0 {
			d.number(o, field, v, nil)
		}
		return end
	case wireFixed64:
		if len(raw)-i < 8 {
			return -1
		}
		d.float64(o, field, math.Float64frombits(binary.LittleEndian.Uint64(raw[i:])), nil)
		return i + 8
	}
	begin, end := extent(raw, i)
	if end < 0 {
		return -1
	}
	b := raw[begin:end]
	switch o.kind {
	case kindString:
		*(*string)(field) = d.string(o, b)
	case kindMessage:
		inner := noteNothing
		if note == noteFields && o.elem.changing != 0 {
			inner = noteRuns
		}
		st = d.fresh(o.elem, field, b, inner)
	case kindTime, kindMicroTime:
		t, ok := timestamp(b, o.kind == kindMicroTime)
		if !ok {
			return -1
		}
		*(*time.Time)(field) = t
	case kindQuantity:
		if !d.parse((*resource.Quantity)(field), b) {
			return -1
		}
	default:
		st = d.unit(o, field, b, 1)
	}
	if st == failed {
		return -1
	}
	return end
}

// run returns where a run of a repeated field ends, whose first value is at raw[i:],
// and how many occurrences it has.
func run(o *op, raw []byte, i int) (end, count int) {
	for {
		if o.wire == wireVarint {
			_, i = uvarint(raw, i)
		} else {
			_, i = extent(raw, i)
		}
		if i < 0 {
			return -1, 0
		}
		count++
		if !o.at(raw, i) {
			return i, count
		}
		i += int(o.tagLen)
	}
}

// at reports that the field's tag is at raw[i:].
func (o *op) at(raw []byte, i int) bool {
	if len(raw)-i < int(o.tagLen) || raw[i] != o.tag[0] {
		return false
	}
	switch o.tagLen {
	case 1:
		return true
	case 2:
		return raw[i+1] == o.tag[1]
	}
	return raw[i+1] == o.tag[1] && raw[i+2] == o.tag[2]
}

// string returns b as a string, which never aliases it.
func (d *decoder) string(o *op, b []byte) string {
	if d.table == nil {
		return string(b)
	}
	return d.session.Text(o.text, b)
}

// official decodes a whole object with its own Unmarshal.
func (p *Plan) official(raw []byte) (share.Result, error) {
	if p.whole != nil && !p.whole.fits(raw) {
		return share.Result{}, &DepthError{p.root.typ}
	}
	v := reflect.New(p.root.typ)
	if err := official.Unmarshal(raw, v.Interface().(official.Protobuf)); err != nil {
		return share.Result{}, err
	}
	p.drops.Clear(v)
	return share.Result{Object: v.UnsafePointer()}, nil
}

// foreign decodes a part of an object with its type's own Unmarshal.
func (d *decoder) foreign(m *message, dst unsafe.Pointer, b []byte) status {
	v := reflect.NewAt(m.typ, dst)
	// gogo's code begins with a composite literal.
	switch m.typ.Kind() {
	case reflect.Slice:
		v.Elem().Set(reflect.MakeSlice(m.typ, 0, 0))
	case reflect.Map:
		v.Elem().Set(reflect.MakeMap(m.typ))
	}
	// If this fails, Unmarshal of the whole object returns the error.
	if !d.unmarshal(v.Interface().(official.Protobuf), b) {
		return failed
	}
	m.drops.Clear(v)
	d.session.Allocated += len(b)
	if m.private {
		d.session.Private++
	}
	return changed
}

var fieldsV1 = reflect.TypeFor[metav1.FieldsV1]()

// sameFields reports that b, a FieldsV1's message as its own encoder writes it, has
// the bytes of f; empty ones may be nil or not. The entries of managedFields change
// in their time far more often than in their fields, which are a tenth of an
// object's bytes.
func sameFields(f *metav1.FieldsV1, b []byte) bool {
	if len(b) == 0 || b[0] != 1<<3|wireBytes {
		return false
	}
	begin, end := extent(b, 1)
	return begin < end && end == len(b) && bytes.Equal(b[begin:], rawFields(f))
}

// rawFields returns the bytes of a FieldsV1. Its field Raw is a string in some
// builds of Kubernetes 0.36 and later, which have a method for its bytes. Before,
// it is always bytes, and there is no method.
func rawFields(f *metav1.FieldsV1) []byte {
	if g, ok := any(f).(interface{ GetRawBytes() []byte }); ok {
		return g.GetRawBytes()
	}
	return reflect.ValueOf(f).Elem().FieldByName("Raw").Bytes()
}
