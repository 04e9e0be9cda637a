package protobuf

import (
	"encoding/binary"
	"math"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
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
