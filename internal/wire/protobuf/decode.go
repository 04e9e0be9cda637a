package protobuf

import (
	"encoding/binary"
	"math"
	"time"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// decoder is what one call of Decode works with.
type decoder struct {
	session *share.Session
	table   *share.Table // nil if nothing is shared
	depth   int
	// private counts the quantities decoded that nobody may share.
	private int
	// quantityText is where a Quantity keeps what String returned, or -1.
	quantityText int
	// none is a cursor over no records.
	none share.Cursor
	// array is where allocated slices come from; see makeSlice.
	array sliceHeader
}

// maxPlanned is how deep the plan follows. What nests deeper is left to
// Unmarshal: no type of Kubernetes that is not recursive comes near.
const maxPlanned = 100

// minUnit is the smallest encoding, in bytes, that is remembered and looked up.
// 16 was measured to gain nothing, 256 to cost 40 % of memory. What is smaller
// but takes minDecoded bytes in memory is looked up, too.
const (
	minUnit    = 32
	minDecoded = 64
)

// status is how decoding something went.
type status uint8

const (
	// failed: it is not for the plan.
	failed status = iota
	// changed: it was decoded.
	changed
	// same: it is equal to the last version's value, which stands in its place.
	same
)

// message decodes raw into dst, which is zero. last is the last version's
// value, or nil, inside are the records about it. If note is set, units are
// noted. Where the outcome is same, dst may be used all the same.
func (d *decoder) message(m *message, dst unsafe.Pointer, raw []byte, last unsafe.Pointer, inside *share.Cursor, note bool) status {
	if d.depth++; d.depth > maxPlanned {
		return failed
	}
	st := same
	if last == nil {
		st = changed
	}
	var seen uint64
	for i := 0; i < len(raw); {
		start := i
		tag := uint64(raw[i])
		i++
		if tag >= 0x80 {
			if tag, i = uvarint(raw, start); i < 0 {
				return failed
			}
		}
		number := tag >> 3
		x := uint8(0)
		if number < uint64(len(m.index)) {
			x = m.index[number]
		}
		if x == 0 {
			if number == 0 || number > 1<<29-1 {
				return failed
			}
			if i = skip(raw, i, uint8(tag&7)); i < 0 {
				return failed
			}
			continue
		}
		o := &m.ops[x-1]
		bit := uint64(1) << ((x - 1) & 63)
		if uint8(tag&7) != o.wire || seen&bit != 0 {
			return failed
		}
		seen |= bit
		field := unsafe.Add(dst, uintptr(o.offset))
		var old unsafe.Pointer
		if last != nil {
			old = unsafe.Add(last, uintptr(o.offset))
		}

		switch o.wire {
		case wireVarint:
			v, next := uvarint(raw, i)
			if next < 0 {
				return failed
			}
			if !o.kind.repeated() {
				i = next
				if d.number(o, field, v, old) != same {
					st = changed
				}
				continue
			}
		case wireFixed64:
			if len(raw)-i < 8 {
				return failed
			}
			v := math.Float64frombits(binary.LittleEndian.Uint64(raw[i:]))
			i += 8
			if d.float64(o, field, v, old) != same {
				st = changed
			}
			continue
		}

		if o.kind.repeated() {
			end, count := run(o, raw, i)
			if end < 0 {
				return failed
			}
			if s := d.unit(o, field, raw[start:end], count, old, inside, note); s != same {
				if s == failed {
					return failed
				}
				st = changed
			}
			i = end
			continue
		}

		begin, end := extent(raw, i)
		if end < 0 {
			return failed
		}
		b := raw[begin:end]
		i = end
		s := same
		switch o.kind {
		case kindString:
			if old != nil && *(*string)(old) == string(b) {
				*(*string)(field) = *(*string)(old)
			} else {
				*(*string)(field) = d.string(o, b)
				s = changed
			}
		case kindMessage:
			s = d.inPlace(o.elem, int(o.number), field, b, old, inside, note)
		case kindTime, kindMicroTime:
			t, ok := timestamp(b, o.kind == kindMicroTime)
			if !ok {
				return failed
			}
			if old != nil && *(*time.Time)(old) == t {
				t = *(*time.Time)(old)
			} else {
				s = changed
			}
			*(*time.Time)(field) = t
		case kindQuantity:
			s = d.quantity(int(o.number), field, b, old, inside, note)
		default:
			s = d.unit(o, field, b, 1, old, inside, note)
		}
		if s != same {
			if s == failed {
				return failed
			}
			st = changed
		}
	}
	if m.quantities&^seen != 0 {
		d.private++
		st = changed
	}
	if st == same && !m.absent(seen, last) {
		st = changed
	}
	d.depth--
	return st
}

// absent reports that the fields that were not seen are zero in last.
func (m *message) absent(seen uint64, last unsafe.Pointer) bool {
	for i := range m.ops {
		o := &m.ops[i]
		if seen>>i&1 == 0 && !zero(unsafe.Add(last, uintptr(o.offset)), o.size) {
			return false
		}
	}
	return true
}

func zero(p unsafe.Pointer, size uint32) bool {
	for _, b := range unsafe.Slice((*byte)(p), size) {
		if b != 0 {
			return false
		}
	}
	return true
}

// run finds where the occurrences of a repeated field end that begin with the
// value at raw[i:], and how many they are.
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

// at reports that the field's tag stands at raw[i:].
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
	if d.table == nil || !o.gauge.text.ask(b, patienceText) {
		d.session.Allocated += len(b)
		return string(b)
	}
	if p := d.table.Known(unsafe.String(unsafe.SliceData(b), len(b))); p != nil {
		o.gauge.text.hit(worthText)
		return *p
	}
	if len(b) > 0 {
		o.gauge.text.miss(patienceText)
	}
	d.session.Allocated += len(b)
	return string(b)
}

// inPlace decodes a message that stands inside of another, or of a slice, as
// its unit of a number.
func (d *decoder) inPlace(m *message, number int, dst unsafe.Pointer, b []byte, last unsafe.Pointer, cur *share.Cursor, note bool) status {
	if len(b) < minUnit || !note {
		return d.decode(m, dst, b, last, &d.none, false)
	}
	var h share.Hash
	hashed := false
	var rec *share.Record
	var inside share.Cursor
	if last != nil && !cur.Empty() {
		rec, inside = cur.Find(number)
		if rec != nil && !rec.Open() && rec.Size() == len(b) {
			h, hashed = d.table.Sum(b), true
			if h == rec.Hash() {
				m.copy(dst, last)
				d.session.Keep(rec, inside)
				return same
			}
		}
	}
	n := d.begin(number, len(b), rec)
	st := d.decode(m, dst, b, last, &inside, last != nil)
	if st == failed {
		return failed
	}
	if n.open(d, st, last != nil && !m.foreign) {
		return st
	}
	if !hashed {
		h = d.table.Sum(b)
	}
	n.close(d, h)
	return st
}

// decode decodes a message, by its plan or by its own Unmarshal.
func (d *decoder) decode(m *message, dst unsafe.Pointer, b []byte, last unsafe.Pointer, inside *share.Cursor, note bool) status {
	if m.foreign {
		return d.foreign(m, dst, b, last)
	}
	return d.message(m, dst, b, last, inside, note)
}
