package untyped

import (
	"maps"
	"slices"

	"github.com/kinglet-go/kinglet/internal/wire/footprint"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// frame has what is known of an object or an array before it is decoded.
type frame struct {
	// last is the previous version's, if that is of the same kind.
	last map[string]any
	list []any
	// memo has the records of the units inside.
	memo share.Cursor
	// note: the units inside are to be noted.
	note bool
	// root: the outermost.
	root  bool
	drops *gotype.Drops
	name  share.Hash // of the way here, as in unit
	path  path
	depth int
}

// object decodes the object that begins at raw[at]. If same, m is the previous
// version's.
func (d *decoder) object(at int, f *frame) (m map[string]any, end int, same, ok bool) {
	base := len(d.members)
	i, more := scan.Item(d.raw, at+1, true, '}')
	for more {
		if i, ok = d.member(i, f); !ok {
			return nil, at, false, false
		}
		i, more = scan.Item(d.raw, i, false, '}')
	}
	if i < 0 {
		return nil, at, false, false
	}
	all := d.members[base:]
	d.members = d.members[:base]
	m, same, ok = d.build(all, f)
	clear(all)
	if !ok {
		return nil, at, false, false
	}
	return m, i, same, true
}

// member decodes one member and returns where it ends.
func (d *decoder) member(at int, f *frame) (int, bool) {
	text, i := scan.Text(d.raw, at, &d.scratch)
	if i < 0 {
		return at, false
	}
	quoted := d.raw[at:i]
	if i = scan.Colon(d.raw, i); i < 0 {
		return at, false
	}
	var m member
	ok := true
	m.name, m.hash = d.name(text)
	inside, drop := f.drops.Of(m.name)
	if drop {
		return scan.Valid(d.raw, i)
	}
	var last any
	if f.last != nil {
		last, m.had = f.last[m.name]
	}
	switch d.raw[i] {
	case '{', '[':
		u := unit{last: last, had: m.had, note: f.note, drops: inside, path: f.path.member(m.hash), depth: f.depth + 1}
		if f.note {
			own := d.table.Sum(quoted)
			u.name = within(f.name, own)
			u.field = int(own.B & share.MaxField)
		}
		m.value, i, m.old, ok = d.unit(i, &u, &f.memo)
	default:
		m.value, i, m.old, ok = d.scalar(i, last, m.had)
	}
	if !ok {
		return at, false
	}
	d.members = append(d.members, m)
	return i, true
}

// build makes a map of members, or returns the previous version's if it has the same.
func (d *decoder) build(all []member, f *frame) (m map[string]any, same, ok bool) {
	if !distinct(all) {
		return nil, false, false
	}
	had, old := 0, 0
	for i := range all {
		if all[i].had {
			had++
		}
		if all[i].old {
			old++
		}
	}
	n := len(all)
	covered := f.last != nil && n <= maxDistinct && had == n && n+f.lacks(all) == len(f.last)
	switch {
	case covered && old == n:
		return f.last, true, true
	case n == 0 && d.table != nil && !f.root:
		return d.plan.emptyMap.(map[string]any), false, true
	case covered && 2*old >= n && n+len(f.drops.MarkNames()) == len(f.last):
		// Cloning it and changing the rest is cheaper than building a new map.
		m = maps.Clone(f.last)
		for i := range all {
			if !all[i].old {
				m[all[i].name] = all[i].value
			}
		}
	default:
		m = make(map[string]any, n)
		for i := range all {
			m[all[i].name] = all[i].value
		}
	}
	ok = len(m) == n || covered
	f.drops.MarkUntyped(m, d.table == nil)
	d.session.Allocated += footprint.MapBytes(len(m), memberBytes)
	return m, false, ok
}

var kindNames = []string{"kind", "apiVersion"}

// lacks returns how many names the previous version has of the mark, or of kind and
// apiVersion, and all does not: items of lists have neither.
func (f *frame) lacks(all []member) int {
	names := f.drops.MarkNames()
	if f.root {
		names = kindNames
	}
	n := 0
	for _, name := range names {
		if _, ok := f.last[name]; ok && !slices.ContainsFunc(all, func(m member) bool { return m.name == name }) {
			n++
		}
	}
	return n
}

// array decodes the array that begins at raw[at], and returns it boxed. If same, v
// is the previous version's.
func (d *decoder) array(at int, boxed any, f *frame) (v any, end int, same, ok bool) {
	base := len(d.values)
	same = f.list != nil
	i, more := scan.Item(d.raw, at+1, true, ']')
	for n := 0; more; n++ {
		var old bool
		if i, old, ok = d.element(i, n, f); !ok {
			return nil, at, false, false
		}
		same = same && old
		i, more = scan.Item(d.raw, i, false, ']')
	}
	if i < 0 {
		return nil, at, false, false
	}
	all := d.values[base:]
	d.values = d.values[:base]
	switch {
	case same && len(all) == len(f.list):
		clear(all)
		return boxed, i, true, true
	case len(all) == 0 && d.table != nil:
		return d.plan.emptySlice, i, false, true
	}
	list := make([]any, len(all))
	copy(list, all)
	clear(all)
	d.session.Allocated += sliceBytes + anyBytes*len(all)
	return list, i, false, true
}

// element decodes the nth element and returns where it ends.
func (d *decoder) element(at, n int, f *frame) (end int, old, ok bool) {
	if at >= len(d.raw) {
		return at, false, false
	}
	var last, v any
	had := n < len(f.list)
	if had {
		last = f.list[n]
	}
	switch d.raw[at] {
	case '{', '[':
		u := unit{last: last, had: had, note: f.note, field: n, name: within(f.name, share.Hash{A: 1}), drops: f.drops, path: f.path.element(), depth: f.depth + 1}
		v, at, old, ok = d.unit(at, &u, &f.memo)
	default:
		v, at, old, ok = d.scalar(at, last, had)
	}
	if !ok {
		return at, false, false
	}
	d.values = append(d.values, v)
	return at, old, true
}
