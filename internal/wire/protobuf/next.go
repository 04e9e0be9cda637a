package protobuf

import (
	"encoding/binary"
	"math"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// next decodes raw as the next version of a frame's message. recs are the records
// of the previous version; if note is set, those of this version are noted. If the
// result is same, nothing was written.
//
// It fails unless the fields are in the order of their numbers, as every encoder of
// Kubernetes writes them.
func (d *decoder) next(name int, raw []byte, recs share.Cursor, note bool) status {
	if d.depth++; d.depth > maxPlanned {
		return failed
	}
	m, last := d.frames[name].m, d.frames[name].last
	st := same
	var run pending
	ended := 0 // fields before this one were decoded, or found absent
	rec, inside := recs.Next()
	due := dueAt(rec)
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
		if place < ended {
			return failed
		}
		if place > ended && d.gone(name, ended, place) {
			st = changed
		}
		ended = place + 1
		o := &m.ops[place]
		if uint8(tag&7) != o.wire {
			return failed
		}
		for place > due {
			recs.Pass()
			rec, inside = recs.Next()
			due = dueAt(rec)
		}
		var open share.Cursor
		known := false
		if place == due {
			known = rec.Open()
			if known {
				open = inside
			} else if d.session.Matches(rec, share.Hash{}, raw[start:]) {
				end := start + rec.Size()
				if through := runLast(rec); !m.goesOn(through, raw, end) {
					run.flush(d, raw)
					d.session.Keep(rec, inside)
					ended, i = through+1, end
					continue
				}
			}
			recs.Pass()
			rec, inside = recs.Next()
			due = dueAt(rec)
		}
		old := unsafe.Add(last, uintptr(o.offset))

		if o.kind < kindMessage {
			s, end := d.leaf(name, o, raw, i, old)
			switch i = end; {
			case s == same:
				run.extend(place, start, i)
			case s == failed:
				return failed
			default:
				st = changed
				run.flushIf(note, d, raw)
			}
			continue
		}
		mark, begun := d.session.Mark(), false
		if note && run.large() {
			// The run's record comes before those that the field notes.
			d.session.Reserve()
			begun = true
		}
		s, end := d.field(name, o, place, raw, start, i, old, known, open, note)
		i = end
		switch {
		case s == failed:
			return failed
		case s == same:
			d.session.Drop(mark)
			run.extend(place, start, end)
		default:
			st = changed
			switch {
			case begun:
				run.note(d, mark, runNumber(run.first, run.last), raw)
			case d.session.Mark() == mark:
				run.flushIf(note, d, raw)
			default:
				run = pending{}
			}
		}
	}
	if ended < len(m.ops) && d.gone(name, ended, len(m.ops)) {
		st = changed
	}
	if st == changed {
		run.flushIf(note, d, raw)
		if m.drops.Marks() {
			m.drops.Mark((*metav1.ObjectMeta)(d.own(name)), d.table == nil)
		}
	}
	d.depth--
	return st
}

// dueAt returns the field that a record begins with, or maxFields for nil.
func dueAt(rec *share.Record) int {
	if rec == nil {
		return maxFields
	}
	return runFirst(rec)
}

// place returns the index in ops of the field with a number.
func (m *message) place(number uint64) (int, bool) {
	if number < uint64(len(m.index)) {
		x := m.index[number]
		return int(x) - 1, x != 0
	}
	return 0, false
}

// skipUnknown skips the value of a field that the type does not have.
func skipUnknown(raw []byte, i int, tag uint64) int {
	if number := tag >> 3; number == 0 || number > 1<<29-1 {
		return -1
	}
	return skip(raw, i, uint8(tag&7))
}

// goesOn reports that a run does not end where its record says: more elements of its
// last field follow.
func (m *message) goesOn(place int, raw []byte, i int) bool {
	o := &m.ops[place]
	return o.kind.repeated() && o.at(raw, i)
}

// gone clears the fields in a range that the previous version has, since they are
// absent now, and reports whether there were any.
func (d *decoder) gone(name, from, to int) bool {
	f := &d.frames[name]
	found := false
	for i := from; i < to; i++ {
		o := &f.m.ops[i]
		if !memory.Zero(unsafe.Add(f.last, o.offset), uintptr(o.size)) {
			found = true
			memory.Clear(o.typ, d.ownField(name, o))
		}
	}
	return found
}

// leaf decodes a number, a string or a time, which is compared with the previous
// version's, and returns where it ends.
func (d *decoder) leaf(name int, o *op, raw []byte, i int, old unsafe.Pointer) (status, int) {
	switch o.wire {
	case wireVarint:
		v, end := uvarint(raw, i)
		if end < 0 {
			return failed, 0
		}
		if d.number(o, unsafe.Pointer(&d.word), v, old) == same {
			return same, end
		}
		return d.number(o, d.ownField(name, o), v, nil), end
	case wireFixed64:
		if len(raw)-i < 8 {
			return failed, 0
		}
		v := math.Float64frombits(binary.LittleEndian.Uint64(raw[i:]))
		if d.float64(o, unsafe.Pointer(&d.word), v, old) == same {
			return same, i + 8
		}
		return d.float64(o, d.ownField(name, o), v, nil), i + 8
	}
	begin, end := extent(raw, i)
	if end < 0 {
		return failed, 0
	}
	b := raw[begin:end]
	switch o.kind {
	case kindString:
		if *(*string)(old) == string(b) {
			return same, end
		}
		v := d.string(o, b)
		*(*string)(d.ownField(name, o)) = v
		return changed, end
	case kindTime, kindMicroTime:
		t, ok := timestamp(b, o.kind == kindMicroTime)
		if !ok {
			return failed, 0
		}
		if *(*time.Time)(old) == t {
			return same, end
		}
		*(*time.Time)(d.ownField(name, o)) = t
		return changed, end
	}
	panic("BUG: a message with hidden state is compared with the previous version")
}

// field decodes one field that may have something inside. Its tag is at start and
// its value at i; field returns where it ends. old is the previous version's. known says
// that it has an open record; inside has the records in that.
func (d *decoder) field(name int, o *op, place int, raw []byte, start, i int, old unsafe.Pointer, known bool, inside share.Cursor, note bool) (status, int) {
	if o.kind.repeated() {
		if i-start != int(o.tagLen) {
			return failed, 0 // an overlong tag: runs need tags of the usual length
		}
		end, count := run(o, raw, i)
		if end < 0 {
			return failed, 0
		}
		return d.nextUnit(name, o, place, raw[start:end], count, old, known, inside, note), end
	}
	switch o.wire {
	case wireVarint:
		v, end := uvarint(raw, i)
		if end < 0 {
			return failed, 0
		}
		return d.adopt(name, o, d.number(o, unsafe.Pointer(&d.slot), v, old)), end
	case wireFixed64:
		if len(raw)-i < 8 {
			return failed, 0
		}
		v := math.Float64frombits(binary.LittleEndian.Uint64(raw[i:]))
		return d.adopt(name, o, d.float64(o, unsafe.Pointer(&d.slot), v, old)), i + 8
	}
	begin, end := extent(raw, i)
	if end < 0 {
		return failed, 0
	}
	b := raw[begin:end]
	if o.kind == kindMessage {
		return d.nextInside(name, o.elem, runNumber(place, place), uintptr(o.offset), b, old, inside, note), end
	}
	return d.nextUnit(name, o, place, b, 1, old, known, inside, note), end
}

// nextInside decodes a message that is part of a frame's memory, at an offset in it,
// and has a number in its records.
func (d *decoder) nextInside(parent int, m *message, number int, offset uintptr, b []byte, old unsafe.Pointer, inside share.Cursor, note bool) status {
	if m.foreign {
		return d.nextForeign(parent, m, offset, b, old)
	}
	if m.holds {
		p := unsafe.Add(d.own(parent), offset)
		memory.Clear(m.typ, p)
		return d.fresh(m, p, b, noteNothing)
	}
	note = note && len(b) >= share.MinEncoded
	var u share.Decision
	d.session.Build(&u, note)
	name := d.enter(frame{m: m, last: old, parent: parent, offset: offset, role: roleInside})
	st := d.next(name, b, inside, note)
	d.leave()
	if st == changed {
		d.session.NoteBuilt(&u, number, share.Hash{}, b, true, false)
	}
	return st
}
