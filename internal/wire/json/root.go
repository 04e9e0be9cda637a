package json

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// object is the root while it is being decoded. Memory for it is not allocated
// until something differs from the previous version: most objects of a relist have
// not changed.
type object struct {
	plan *Plan
	root *node
	last unsafe.Pointer
	// made is nil as long as nothing differs.
	made unsafe.Pointer
	// equal are the fields that were found equal while made was nil.
	equal [seenWords]uint64
}

// make allocates the object and fills in the fields that were found equal.
func (o *object) make(d *decoder) {
	if o.made != nil {
		return
	}
	o.made = o.plan.takeRoot()
	d.session.Allocated += int(o.root.size)
	for i := range o.root.fields {
		if o.equal[i/64]&(1<<(i%64)) != 0 {
			f := &o.root.fields[i]
			f.node.move(unsafe.Add(o.made, f.offset), unsafe.Add(o.last, f.offset))
		}
	}
}

// fast decodes the object at raw[at] and returns where it ends, or -1.
func (p *Plan) fast(d *decoder, at int, version share.Version) (r share.Result, end int) {
	last, records := version.By(p.id)
	o := object{plan: p, root: p.root, last: last}
	if d.table != nil {
		d.session.Begin()
		d.noting = true
	}
	if last == nil {
		o.make(d)
	}
	m := memberReader{d: d, names: &p.root.names}
	at = m.open(at)
	for at >= 0 {
		var i int
		if i, at = m.next(at); i == noMember {
			break
		}
		f := &p.root.fields[i]
		switch {
		case f.identity != notIdentity:
			at = d.identity(f.identity, &r, at)
		case f.node.op == opDrop:
			at = d.value(f.node, nil, last, &records, i, at)
		case o.made == nil && d.stillEqual(f, unsafe.Add(last, f.offset), &records, i, &at):
			o.equal[i/64] |= 1 << (i % 64)
		default:
			o.make(d)
			at = d.value(f.node, unsafe.Add(o.made, f.offset), memory.At(last, f.offset), &records, i, at)
		}
	}
	if at < 0 {
		return r, -1
	}
	if last != nil && p.same(&o) {
		if o.made != nil {
			p.giveRoot(o.made)
		}
		r.Object, r.Memo, r.Same = last, version.Memo(), true
		return r, at
	}
	o.make(d)
	r.Object = o.made
	if d.table != nil {
		r.Memo = d.session.Memo(p.id, r.Object)
	}
	return r, at
}

// same reports that the object is the previous version, except for its TypeMeta.
func (p *Plan) same(o *object) bool {
	if p.root.holds {
		return false
	}
	if o.made != nil {
		return memory.Equal(o.made, o.last, p.typeMeta.from) &&
			memory.Equal(unsafe.Add(o.made, p.typeMeta.to), unsafe.Add(o.last, p.typeMeta.to), p.root.size-p.typeMeta.to)
	}
	// Fields that the bytes do not have must be zero.
	for i := range p.root.fields {
		f := &p.root.fields[i]
		if f.identity == notIdentity && f.node.op != opDrop && o.equal[i/64]&(1<<(i%64)) == 0 && !memory.Zero(unsafe.Add(o.last, f.offset), f.node.size) {
			return false
		}
	}
	return true
}

// stillEqual reports that a field of the root has not changed, if that can be
// determined without decoding it; at then moves past it.
func (d *decoder) stillEqual(f *field, last unsafe.Pointer, records *share.Cursor, number int, at *int) bool {
	if f.node.op == opString {
		text, end := d.text(*at)
		if end < 0 || string(text) != *(*string)(last) {
			return false
		}
		*at = end
		return true
	}
	size, _, _ := d.session.Recall(records, number, share.Hash{}, d.raw[*at:])
	*at += size
	return size > 0
}

// identity reads kind or apiVersion.
func (d *decoder) identity(which identity, r *share.Result, at int) int {
	if d.raw[at] == 'n' {
		return d.null(at)
	}
	text, end := d.text(at)
	if end >= 0 {
		identify(r, which, d.intern(text))
	}
	return end
}
