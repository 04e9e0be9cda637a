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
