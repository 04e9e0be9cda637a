package json

import (
	"io"
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// decoder is the state of one call of Decode.
type decoder struct {
	session *share.Session
	// table is the session's, or nil if the object must share nothing.
	table *share.Table
	raw   []byte
	// noting: the units that are decoded now are to be remembered.
	noting bool
	// inMap: the value that is decoded now is a map's, and so has no address to be
	// written at.
	inMap bool
	depth int
	tape  tape
	// scratch is for strings with escapes.
	scratch []byte
	spares  *spares
	maker   *memory.Maker
	// times are the last two times that were made for the object.
	times [2]*metav1.Time
	// refused is why the object is not to be given to the official decoder
	// either.
	refused error
}

// Decode decodes the object at the start of raw, which may have space before
// it, and returns how many bytes it took; raw may go on after it. If the
// object does not end within raw, n is 0 and the error io.ErrUnexpectedEOF.
// Any other error is ErrNotObject, an *official.PanicError, a
// *scan.ExponentError, or the error of apimachinery's decoder for the n bytes.
//
// last is the object's previous version, of the plan's type. It is used only if this
// plan made it, and is not written to. The result may share memory with it, and
// with all values in the session's table. Without a table the result shares memory
// with nothing, last is ignored, and the caller may modify the result.
//
// raw is neither kept nor aliased.
func (p *Plan) Decode(s *share.Session, raw []byte, last share.Version) (r share.Result, n int, err error) {
	start := scan.Space(raw, 0)
	if start == len(raw) {
		return share.Result{}, 0, io.ErrUnexpectedEOF
	}
	if raw[start] != '{' {
		return share.Result{}, 0, ErrNotObject
	}
	if s.Table == nil {
		last = share.Version{}
	}
	d := p.decoder(s, raw)
	d.table = s.Table
	r, n = p.fast(d, start, last)
	refused := d.refused
	p.release(d)
	switch {
	case n >= 0:
		return r, n, nil
	case refused != nil:
		end, ok := scan.Value(raw, start)
		if !ok {
			return share.Result{}, 0, io.ErrUnexpectedEOF
		}
		return share.Result{}, end, refused
	}
	return p.official(raw, start)
}

// maxKept is the largest tape, in entries of 12 bytes, and the longest scratch,
// in bytes, that are kept for the next object.
const maxKept = 1 << 14

func (p *Plan) decoder(s *share.Session, raw []byte) *decoder {
	d, ok := p.spare.Get().(*decoder)
	if !ok {
		d = &decoder{spares: &spares{}, maker: &memory.Maker{}}
	}
	d.reset(s, raw)
	return d
}

// release keeps a decoder's memory for another call. One that panicked is not
// kept.
func (p *Plan) release(d *decoder) {
	if cap(d.tape.entries) > maxKept || cap(d.scratch) > maxKept {
		return
	}
	d.reset(nil, nil)
	p.spare.Put(d)
}

// reset keeps nothing but memory.
func (d *decoder) reset(s *share.Session, raw []byte) {
	*d = decoder{session: s, raw: raw, tape: tape{entries: d.tape.entries[:0]}, scratch: d.scratch[:0], spares: d.spares, maker: d.maker}
}

// official decodes with apimachinery's decoder.
func (p *Plan) official(raw []byte, start int) (r share.Result, n int, err error) {
	end, ok := scan.Value(raw, start)
	if !ok {
		return share.Result{}, 0, io.ErrUnexpectedEOF
	}
	v := reflect.New(p.root.typ)
	if err := official.JSON(raw[start:end], v.Interface()); err != nil {
		return share.Result{}, end, err
	}
	r.Object = v.UnsafePointer()
	for i := range p.root.fields {
		f := &p.root.fields[i]
		if f.identity == notIdentity {
			continue
		}
		s := (*string)(unsafe.Add(r.Object, f.offset))
		identify(&r, f.identity, *s)
		*s = ""
	}
	p.drops.Clear(v)
	return r, end, nil
}

func identify(r *share.Result, which identity, s string) {
	if which == isKind {
		r.Kind = s
	} else {
		r.APIVersion = s
	}
}

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
