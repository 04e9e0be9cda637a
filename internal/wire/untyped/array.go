package untyped

import (
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

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
