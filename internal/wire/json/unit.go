package json

import (
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// value decodes the value at raw[at] into the zeroed memory at p, and returns
// where it ends, or -1. last is where the previous version has its value, or nil.
// records has the records of this unit and its siblings; number is this one's.
func (d *decoder) value(n *node, p, last unsafe.Pointer, records *share.Cursor, number, at int) int {
	if d.raw[at] == 'n' && n.op != opOther {
		return d.null(at)
	}
	switch n.op {
	case opString:
		return d.string((*string)(p), (*string)(last), at)
	case opBool:
		return d.bool((*bool)(p), at)
	case opInt:
		return d.int(n, p, at)
	case opUint:
		return d.uint(n, p, at)
	case opFloat:
		return d.float(n, p, at)
	case opTime, opMicroTime:
		return d.time(n, p, at)
	case opIntOrString:
		return d.intOrString(p, last, at)
	case opPointer:
		if n.plain {
			return d.plainPointer(n, (*unsafe.Pointer)(p), (*unsafe.Pointer)(last), at)
		}
	}
	if d.table == nil {
		var none share.Cursor
		return d.build(n, p, nil, &none, at)
	}
	return d.unit(n, p, last, records, number, at)
}

// unit takes a value from the previous version or from the table, or decodes it.
// See doc.go.
func (d *decoder) unit(n *node, p, last unsafe.Pointer, records *share.Cursor, number, at int) int {
	s := d.session
	var inside share.Cursor
	open := false
	if last != nil && !records.Empty() {
		var size int
		if size, open, inside = s.Recall(records, number, share.Hash{}, d.raw[at:]); size > 0 {
			n.move(p, last)
			return at + size
		}
	}
	var u share.Decision
	if n.shared && !open && s.Asks(n.place, &share.UnitWorth) {
		end := d.extent(at)
		if end < 0 {
			return -1
		}
		if n.worth(end - at) {
			if v, ok := s.Lookup(&u, n.unit, n.place, &share.UnitWorth, d.raw[at:end]); ok {
				v.Store(p, n.isSlice())
				if d.noting {
					s.NoteFound(&u, number, share.Hash{})
				}
				return end
			}
			if !d.indexed(at) {
				return -1
			}
		}
	}

	outer := d.noting
	s.Build(&u, outer)
	d.noting = outer && n.remembers(last)
	end := d.build(n, p, last, &inside, at)
	compared := d.noting
	d.noting = outer
	if end < 0 || !u.Ends(end-at) {
		return -1
	}
	// The previous version's state is not even read: a reader may be writing to it.
	same := !s.Own(&u) && n.equal(p, last)
	if same {
		if n.op == opSlice {
			h := (*memory.Slice)(p)
			d.spares.give(n, h.Data, h.Len)
		}
		n.move(p, last)
	} else if n.shared {
		s.Offer(&u, share.Load(p, n.isSlice()))
	}
	if end-at < share.MinEncoded && !n.large || !delimited(d.raw[at]) {
		s.DropBuilt(&u)
	} else {
		s.NoteBuilt(&u, number, share.Hash{}, d.raw[at:end], compared, same)
	}
	return end
}

// worth reports that a value of size bytes is worth a lookup. An empty slice is
// not.
func (n *node) worth(size int) bool {
	return size >= share.MinEncoded || n.large && (n.op != opSlice || size > 2)
}

func (n *node) isSlice() bool { return n.op == opSlice || n.op == opBytes }

// delimited reports that a value's first byte tells where it ends.
func delimited(c byte) bool { return c == '{' || c == '[' || c == '"' }

// build decodes a value without a lookup.
func (d *decoder) build(n *node, p, last unsafe.Pointer, inside *share.Cursor, at int) int {
	switch n.op {
	case opStruct:
		return d.structure(n, p, last, inside, at)
	case opPointer:
		made := n.elem.allocate()
		d.session.Allocated += int(n.elem.size)
		*(*unsafe.Pointer)(p) = made
		if last != nil {
			last = *(*unsafe.Pointer)(last)
		}
		inMap := d.inMap
		d.inMap = false
		at = d.build(n.elem, made, last, inside, at)
		d.inMap = inMap
		return at
	case opSlice:
		return d.slice(n, (*memory.Slice)(p), (*memory.Slice)(last), inside, at)
	case opMap:
		if n.stringMap {
			return d.stringMap(n, (*map[string]string)(p), (*map[string]string)(last), at)
		}
		return d.dictionary(n, p, at)
	case opBytes:
		return d.base64(n, (*[]byte)(p), at)
	case opRaw:
		return d.keepRaw((*[]byte)(unsafe.Add(p, n.raw)), (*[]byte)(memory.At(last, n.raw)), at)
	case opDrop:
		return d.skip(at)
	case opOther:
		return d.other(n, p, at)
	case opQuantity:
		return d.quantity(p, at)
	}
	// The rest is plain, and is behind two pointers.
	var none share.Cursor
	return d.value(n, p, last, &none, 0, at)
}

// extent returns where the value at raw[at] ends, without proving that it is
// valid, or -1.
func (d *decoder) extent(at int) int {
	if e := d.tape.find(at); e != nil {
		return d.tape.start + int(e.end)
	}
	if end, ok := scan.Value(d.raw, at); ok {
		return end
	}
	return -1
}

// indexed fills the tape with the value that begins at raw[at], unless that is
// neither an object nor an array.
func (d *decoder) indexed(at int) bool {
	if c := d.raw[at]; c != '{' && c != '[' || d.tape.find(at) != nil {
		return true
	}
	return d.tape.read(d.raw, at)
}

// remembers reports that the previous version has a value with parts, which may change
// and are worth records.
func (n *node) remembers(last unsafe.Pointer) bool {
	if last == nil || n.untold() {
		return false
	}
	switch n.op {
	case opStruct:
		return true
	case opPointer:
		return *(*unsafe.Pointer)(last) != nil && n.elem.op != opOther && n.elem.op != opRaw
	case opSlice:
		return (*memory.Slice)(last).Len > 0
	}
	return false
}

// untold reports that values cannot be compared, since their memory has state to
// which a reader may be writing.
func (n *node) untold() bool {
	return n.holds || (n.op == opPointer || n.op == opSlice) && n.elem.holds
}

// equal reports that a value that was built equals the previous version's.
func (n *node) equal(p, last unsafe.Pointer) bool {
	if last == nil || n.untold() {
		return false
	}
	switch n.op {
	case opPointer:
		a, b := *(*unsafe.Pointer)(p), *(*unsafe.Pointer)(last)
		return b != nil && n.elem.equal(a, b)
	case opSlice:
		a, b := (*memory.Slice)(p), (*memory.Slice)(last)
		return a.Len == b.Len && b.Data != nil && memory.Equal(a.Data, b.Data, uintptr(a.Len)*n.elem.size)
	case opBytes:
		b := *(*[]byte)(last)
		return b != nil && string(*(*[]byte)(p)) == string(b)
	case opOther:
		return gotype.Identical(reflect.NewAt(n.typ, p).Elem(), reflect.NewAt(n.typ, last).Elem())
	case opDrop:
		return false
	}
	return n.same(p, last)
}

// memberReader reads the members of a JSON object that a struct has fields for,
// and skips the others.
type memberReader struct {
	d     *decoder
	names *names
	begun bool
	seen  [seenWords]uint64
}

// noMember is what next returns at an object's end.
const noMember = -1

// open begins the object at raw[at], and returns where its members begin, or -1.
func (m *memberReader) open(at int) int {
	if m.d.raw[at] != '{' || m.d.depth == maxDepth {
		return -1
	}
	m.d.depth++
	return at + 1
}

// next returns the next field and where its value begins, which is within raw; at
// is where the value before ended. At the object's end it returns noMember and
// where the object ends. If it gives up it returns noMember and -1.
func (m *memberReader) next(at int) (field, value int) {
	d := m.d
	raw := d.raw
	for {
		at = scan.Space(raw, at)
		if at >= len(raw) {
			return noMember, -1
		}
		switch {
		case raw[at] == '}':
			d.depth--
			return noMember, at + 1
		case !m.begun:
			m.begun = true
		case raw[at] == ',':
			at = scan.Space(raw, at+1)
		default:
			return noMember, -1
		}
		if at >= len(raw) || raw[at] != '"' {
			return noMember, -1
		}
		i, quote := m.names.find(raw, at+1)
		if i < 0 {
			if i, quote = m.names.search(raw, at); quote < 0 {
				return noMember, -1
			}
		}
		// This is scan.Colon, inlined.
		at = scan.Space(raw, quote+1)
		if at >= len(raw) || raw[at] != ':' {
			return noMember, -1
		}
		at = scan.Space(raw, at+1)
		if at >= len(raw) {
			return noMember, -1
		}
		if i < 0 {
			if at = d.skip(at); at < 0 {
				return noMember, -1
			}
			continue
		}
		bit := uint64(1) << (i % 64)
		if m.seen[i/64]&bit != 0 {
			return noMember, -1
		}
		m.seen[i/64] |= bit
		return i, at
	}
}

// search is find for names near the end of raw, and for unknown ones. quote is -1
// if the name is not plain.
func (n *names) search(raw []byte, at int) (field, quote int) {
	content, end, plain, ok := scan.String(raw, at)
	if !ok || !plain {
		return -1, -1
	}
	name := unsafe.String(unsafe.SliceData(content), len(content))
	for place := n.hash(ends(name)); ; place = n.after(place) {
		if i := int(n.places[place]) - 1; i < 0 || n.list[i] == name {
			return i, end - 1
		}
	}
}

// structure decodes an object into the struct at p.
func (d *decoder) structure(n *node, p, last unsafe.Pointer, records *share.Cursor, at int) int {
	m := memberReader{d: d, names: &n.names}
	at = m.open(at)
	for at >= 0 {
		var i int
		if i, at = m.next(at); i == noMember {
			break
		}
		f := &n.fields[i]
		at = d.value(f.node, unsafe.Add(p, f.offset), memory.At(last, f.offset), records, i, at)
	}
	if n.drops.Marks() {
		n.drops.Mark((*metav1.ObjectMeta)(p), d.table == nil)
	}
	for _, q := range n.quantities {
		d.countLazy(unsafe.Add(p, q))
	}
	if n.alone {
		d.session.Private++
	}
	return at
}

// skip returns where a value ends that is dropped, or kept as JSON. It proves the
// value valid, and returns -1 if it is not, or nests too deep.
func (d *decoder) skip(at int) int {
	raw := d.raw
	var ok bool
	switch c := raw[at]; c {
	case '{', '[':
		if e := d.tape.find(at); e != nil {
			return d.tape.start + int(e.end)
		}
		if !d.tape.read(raw, at) {
			return -1
		}
		return d.tape.end
	case '"':
		at, ok = scan.StringEnd(raw, at)
	case 'n', 't', 'f':
		at, ok = scan.Literal(raw, at)
	default:
		at, _, ok = scan.Number(raw, at)
	}
	if !ok {
		return -1
	}
	return at
}

// null skips null.
func (d *decoder) null(at int) int {
	if end, ok := scan.Literal(d.raw, at); ok {
		return end
	}
	return -1
}
