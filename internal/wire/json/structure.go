package json

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

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
