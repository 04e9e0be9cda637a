package untyped

import (
	"math"
	"strconv"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// unit is an object or an array inside of another, before it is decoded.
type unit struct {
	// last is the previous version's value at this place, if it had one.
	last any
	had  bool
	// note: it is to be noted.
	note bool
	// field is its number: an element's index, or 16 bits of the hash of a
	// member's name. name is the hash of all names on the way to it.
	field int
	name  share.Hash
	drops *gotype.Drops
	path  path
	depth int
}

// unit decodes the unit that begins at raw[at], of which memo may have a record. If
// old, v is the previous version's.
func (d *decoder) unit(at int, u *unit, memo *share.Cursor) (v any, end int, old, ok bool) {
	object := d.raw[at] == '{'
	f := frame{drops: u.drops, name: u.name, path: u.path, depth: u.depth}
	if u.had {
		if object {
			f.last, u.had = u.last.(map[string]any)
		} else {
			f.list, u.had = u.last.([]any)
		}
	}
	if v, end, old, ok = d.empty(at, object, u, &f); ok {
		return v, end, old, true
	}
	if u.depth > maxDepth {
		return nil, at, false, false
	}
	if d.table == nil {
		return d.inside(at, object, u.last, &f)
	}

	s := d.session
	open := false
	if u.had && !memo.Empty() {
		var size int
		if size, open, f.memo = s.Recall(memo, u.field, u.name, d.raw[at:]); size > 0 {
			return u.last, at + size, true, true
		}
	}
	var c share.Decision
	if !open && s.Asks(u.path.place(), &share.PathWorth) {
		if end, ok = scan.Value(d.raw, at); !ok {
			return nil, at, false, false
		}
		if known, ok := s.Lookup(&c, d.plan.unit(u.drops), u.path.place(), &share.PathWorth, d.raw[at:end]); ok {
			if u.note {
				s.NoteFound(&c, u.field, u.name)
			}
			return unshared(known, object), end, u.had && known == shared(u.last), true
		}
	}
	s.Build(&c, u.note)
	f.note = u.note && u.had
	if v, end, old, ok = d.inside(at, object, u.last, &f); !ok || !c.Ends(end-at) {
		return nil, at, false, false
	}
	if !old {
		s.Offer(&c, shared(v))
	}
	s.NoteBuilt(&c, u.field, u.name, d.raw[at:end], u.had, old)
	return v, end, old, true
}

// inside decodes the unit itself. last is the previous version's.
func (d *decoder) inside(at int, object bool, last any, f *frame) (any, int, bool, bool) {
	if !object {
		return d.array(at, last, f)
	}
	m, end, same, ok := d.object(at, f)
	return m, end, same, ok
}

// empty returns the value of an empty object or array, which is no unit and not
// noted.
func (d *decoder) empty(at int, object bool, u *unit, f *frame) (v any, end int, old, ok bool) {
	// '}' is '{'+2, as ']' is '['+2.
	if at+1 >= len(d.raw) || d.raw[at+1] != d.raw[at]+2 {
		return nil, at, false, false
	}
	switch {
	case u.had && len(f.last) == 0 && len(f.list) == 0:
		return u.last, at + 2, true, true
	case d.table != nil && object:
		return d.plan.emptyMap, at + 2, false, true
	case d.table != nil:
		return d.plan.emptySlice, at + 2, false, true
	case object:
		return map[string]any{}, at + 2, false, true
	}
	return []any{}, at + 2, false, true
}

// within returns the name of a unit that is called own in a unit called name. Two
// members with the same number have different names, and so have all units inside
// them: the records of one are never used for the other.
func within(name, own share.Hash) share.Hash {
	return share.Hash{A: name.A*0x9e3779b97f4a7c15 ^ own.A, B: name.B*0x9e3779b9 ^ own.B}
}

// scalar decodes a value that is neither an object nor an array. If old, v is last.
func (d *decoder) scalar(at int, last any, had bool) (v any, end int, old, ok bool) {
	if at >= len(d.raw) {
		return nil, at, false, false
	}
	switch d.raw[at] {
	case '"':
		return d.text(at, last)
	case 'n':
		end, ok = scan.Literal(d.raw, at)
		return nil, end, had && last == nil, ok
	case 't', 'f':
		end, ok = scan.Literal(d.raw, at)
		v := d.raw[at] == 't'
		was, is := last.(bool)
		return v, end, is && was == v, ok
	}
	return d.number(at, last)
}

// number decodes a number: into an int64 if it is an integer and fits, else into a
// float64.
func (d *decoder) number(at int, last any) (v any, end int, old, ok bool) {
	end, integer, ok := scan.Number(d.raw, at)
	if !ok {
		return nil, at, false, false
	}
	if integer {
		if n, ok := scan.Int(d.raw[at:end]); ok {
			if was, is := last.(int64); is && was == n {
				return last, end, true, true
			}
			d.session.Allocated += wordBytes
			return n, end, false, true
		}
	}
	n, err := strconv.ParseFloat(string(d.raw[at:end]), 64)
	if err != nil {
		return nil, at, false, false
	}
	if was, is := last.(float64); is && math.Float64bits(was) == math.Float64bits(n) {
		return last, end, true, true
	}
	d.session.Allocated += wordBytes
	return n, end, false, true
}

func (d *decoder) text(at int, last any) (v any, end int, old, ok bool) {
	text, end := scan.Text(d.raw, at, &d.scratch)
	if end < 0 {
		return nil, at, false, false
	}
	if was, is := last.(string); is && was == string(text) {
		return last, end, true, true
	}
	if d.table == nil || len(text) == 0 {
		return string(text), end, false, true
	}
	return boxOf(d.session.Boxed(text)), end, false, true
}
