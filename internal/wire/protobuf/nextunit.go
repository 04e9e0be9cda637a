package protobuf

import (
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// nextUnit decodes a pointer, slice or map that is a field of a frame's
// message. b is the content of the message pointed to, or the run of a repeated
// field, tags included; count is how many elements there are.
func (d *decoder) nextUnit(name int, o *op, place int, b []byte, count int, old unsafe.Pointer, known bool, inside share.Cursor, note bool) status {
	last := share.Load(old, o.kind.slice())
	if last.Ptr == nil || o.kind == kindMessages && last.Len == 0 {
		// There is nothing to compare with. The memory that an empty slice points
		// to is not the slice's.
		s := d.unit(o, unsafe.Pointer(&d.slot), b, count)
		return d.adopt(name, o, s)
	}
	var u share.Decision
	// A unit that changed before is not looked up: it is most likely new.
	if o.large(len(b), count) && !known && d.session.Asks(o.units, &share.UnitWorth) {
		if v, ok := d.session.Lookup(&u, o.unit, o.units, &share.UnitWorth, b); ok {
			if v == last {
				return same
			}
			v.Store(d.ownField(name, o), o.kind.slice())
			return changed
		}
	}
	note = note && len(b) >= share.MinEncoded && !o.opaque()
	d.session.Build(&u, note)
	st := d.nextBuild(name, o, b, count, last, inside, note)
	if st == changed {
		d.session.Offer(&u, share.Load(d.ownField(name, o), o.kind.slice()))
		d.session.NoteBuilt(&u, runNumber(place, place), share.Hash{}, b, true, false)
	}
	return st
}

// nextBuild decodes a unit that nextUnit could not find.
func (d *decoder) nextBuild(name int, o *op, b []byte, count int, last share.Value, inside share.Cursor, note bool) status {
	plain := o.elem != nil && !o.elem.foreign && !o.elem.holds
	switch {
	case o.kind == kindMessagePointer && plain:
		f := d.enter(frame{m: o.elem, last: last.Ptr, parent: name, offset: uintptr(o.offset), role: rolePointer})
		st := d.next(f, b, inside, note)
		d.leave()
		return st
	case o.kind == kindMessages && plain:
		f := d.enter(frame{
			m: o.elem, last: last.Ptr, parent: name, offset: uintptr(o.offset), role: roleList,
			typ: o.typ, count: count, had: last.Len,
		})
		st := d.nextList(f, o, b, inside, note)
		d.leave()
		return st
	case o.kind == kindMessagePointer && o.elem.typ == fieldsV1 && sameFields((*metav1.FieldsV1)(last.Ptr), b):
		return same
	}
	private := d.session.Private
	st := d.build(o, unsafe.Pointer(&d.slot), b, count, last)
	if st == changed && o.elem != nil && o.elem.foreign && o.kind != kindMessageMap && d.session.Private == private && !o.elem.private {
		was := memory.SliceOf(last.Ptr, last.Len)
		if gotype.Identical(reflect.NewAt(o.typ, unsafe.Pointer(&d.slot)).Elem(), reflect.NewAt(o.typ, unsafe.Pointer(&was)).Elem()) {
			st = same
		}
	}
	return d.adopt(name, o, st)
}

// adopt moves the value in the slot to a field of a frame's message, if it is not
// the previous version's.
func (d *decoder) adopt(name int, o *op, st status) status {
	v := share.Load(unsafe.Pointer(&d.slot), o.kind.slice())
	d.slot = memory.Slice{}
	if st == changed {
		v.Store(d.ownField(name, o), o.kind.slice())
	}
	return st
}

// nextList decodes a run of messages, each compared with the previous version's at
// the same place.
func (d *decoder) nextList(name int, o *op, b []byte, recs share.Cursor, note bool) status {
	f := d.frames[name]
	m, st := f.m, same
	note = note && f.count < share.MaxField
	var run pending
	i := 0
	for at := 0; at < f.count; at++ {
		rec, inside := recs.Next()
		for rec != nil && rec.Field() < at {
			recs.Pass()
			rec, inside = recs.Next()
		}
		if rec == nil || rec.Field() != at {
			inside = share.Cursor{}
		} else if recs.Pass(); !rec.Open() {
			inside = share.Cursor{}
			if end := i + rec.Size(); d.session.Matches(rec, share.Hash{}, b[i:]) {
				run.flushList(d, b)
				d.session.Keep(rec, inside)
				for at--; i < end; at++ {
					_, i = extent(b, i+int(o.tagLen))
				}
				continue
			}
		}
		start := i
		begin, end := extent(b, i+int(o.tagLen))
		i = end
		mark, begun := d.session.Mark(), false
		if note && run.large() {
			d.session.Reserve()
			begun = true
		}
		s := changed
		offset := uintptr(at) * m.size
		if at < f.had {
			s = d.nextInside(name, m, at, offset, b[begin:end], unsafe.Add(f.last, offset), inside, note)
		} else {
			s = d.fresh(m, unsafe.Add(d.own(name), offset), b[begin:end], noteNothing)
		}
		switch {
		case s == failed:
			return failed
		case s == same:
			if note {
				d.session.Drop(mark)
				run.extend(at, start, end)
			}
			continue
		}
		st = changed
		switch {
		case begun:
			run.note(d, mark, run.first, b)
		case note && d.session.Mark() == mark:
			run.flushList(d, b)
		default:
			run = pending{}
		}
	}
	if f.count != f.had {
		d.own(name)
		st = changed
	}
	if note && st == changed {
		run.flushList(d, b)
	}
	return st
}

// nextForeign decodes a part of a frame's message with its type's own Unmarshal.
func (d *decoder) nextForeign(parent int, m *message, offset uintptr, b []byte, old unsafe.Pointer) status {
	if m.typ == fieldsV1 && sameFields((*metav1.FieldsV1)(old), b) {
		return same
	}
	p := m.make()
	if d.foreign(m, p, b) == failed {
		return failed
	}
	if !m.private && gotype.Identical(reflect.NewAt(m.typ, p).Elem(), reflect.NewAt(m.typ, old).Elem()) {
		return same
	}
	memory.Copy(m.typ, unsafe.Add(d.own(parent), offset), p)
	return changed
}

// frame is a message or a list that is being compared with the previous version's. It
// gets memory of its own, a copy of the previous version's, only when the first change
// in it is found. So an unchanged value costs neither an allocation nor a write.
// Frames are in decoder.frames, and named by their index.
type frame struct {
	// last is the previous version's value, dst the new value, or nil.
	last, dst unsafe.Pointer
	// m is the plan of the message, or of the list's elements.
	m *message
	// parent is the frame that refers to this one, at an offset.
	parent int
	offset uintptr
	role   role
	// For a list: its type, how many elements it has, and had.
	typ        reflect.Type
	count, had int
}

// role is how a frame's value is stored in its parent.
type role uint8

const (
	roleRoot role = iota
	// roleInside is part of the parent's memory.
	roleInside
	// rolePointer and roleList are referred to by a pointer or a slice.
	rolePointer
	roleList
)

// enter adds a frame and returns its name; leave removes the last one.
func (d *decoder) enter(f frame) int {
	d.frames = append(d.frames, f)
	d.deepest = max(d.deepest, len(d.frames))
	return len(d.frames) - 1
}

func (d *decoder) leave() { d.frames = d.frames[:len(d.frames)-1] }

// own returns the memory to write a frame's changes to.
func (d *decoder) own(name int) unsafe.Pointer {
	f := &d.frames[name]
	if f.dst != nil {
		return f.dst
	}
	switch f.role {
	case roleRoot:
		f.dst = memory.CopyOf(f.m.typ, f.last)
		d.session.Allocated += int(f.m.size)
		if f.m.typeMeta >= 0 {
			// It is left to the caller to set it.
			memory.Clear(typeMetaType, unsafe.Add(f.dst, f.m.typeMeta))
		}
	case roleInside:
		f.dst = unsafe.Add(d.own(f.parent), f.offset)
	case rolePointer:
		f.dst = memory.CopyOf(f.m.typ, f.last)
		d.session.Allocated += int(f.m.size)
		*(*unsafe.Pointer)(unsafe.Add(d.own(f.parent), f.offset)) = f.dst
	case roleList:
		// It begins with as many of the previous version's elements as there is room for.
		f.dst = d.maker.Copied(f.typ, f.count, memory.SliceOf(f.last, f.had))
		d.session.Allocated += f.count * int(f.m.size)
		*(*memory.Slice)(unsafe.Add(d.own(f.parent), f.offset)) = memory.SliceOf(f.dst, f.count)
	}
	return f.dst
}

// ownField returns the memory to write a field of a frame's message to.
func (d *decoder) ownField(name int, o *op) unsafe.Pointer {
	return unsafe.Add(d.own(name), o.offset)
}

// The records of a message in this package's memos, in the order of its bytes:
//
//   - A closed record is a run: some fields that follow each other. Its number is
//     the places of the first and the last of them, its hash and size are those of
//     their bytes, tags included. If a message has the same bytes, these fields
//     are the previous version's, and so are the absent fields between them: a message
//     whose fields are not in the order of their numbers has no records.
//   - An open record is a field that changed when it was last seen. Inside are
//     the records of its content.
//   - A field without a record is small, or has changed.
//
// For a list, a number is the index of an element: of the first one of a run.

// minRun is the smallest run that is remembered. Shorter strings are mostly known to
// the table, and so in the CPU's caches.
const minRun = 16

func runNumber(first, last int) int { return first | last<<8 }

func runFirst(r *share.Record) int { return r.Field() & 0xff }

func runLast(r *share.Record) int { return r.Field() >> 8 }

// pending is a run that may become longer: the bytes from begin to end of the
// message. It is empty if these are equal.
type pending struct {
	begin, end  int
	first, last int
}

// extend adds a field, whose bytes are those from start to end.
func (p *pending) extend(place, start, end int) {
	if p.begin == p.end {
		p.begin, p.first = start, place
	}
	p.end, p.last = end, place
}

// note writes the run's record to a place that was reserved for it.
func (p *pending) note(d *decoder, at share.Mark, number int, raw []byte) {
	d.session.NoteFlat(at, number, p.end-p.begin, d.table.Sum(raw[p.begin:p.end]))
	*p = pending{}
}

func (p *pending) large() bool { return p.end-p.begin >= minRun }

// flush writes the record of a message's run, if it is worth one.
func (p *pending) flush(d *decoder, raw []byte) {
	if p.large() {
		p.note(d, d.session.Reserve(), runNumber(p.first, p.last), raw)
		return
	}
	*p = pending{}
}

// flushList is flush for a list's run.
func (p *pending) flushList(d *decoder, b []byte) {
	if p.large() {
		p.note(d, d.session.Reserve(), p.first, b)
		return
	}
	*p = pending{}
}

// flushIf is flush if records are wanted.
func (p *pending) flushIf(note bool, d *decoder, raw []byte) {
	if note && p.large() {
		p.flush(d, raw)
		return
	}
	*p = pending{}
}
