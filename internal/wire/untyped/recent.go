package untyped

import "github.com/kinglet-go/kinglet/internal/wire/share"

// recent is the last units that one object had, for those which it has twice:
// two containers of one pod that start in the same second. The table does not
// learn of such repeats, they would fill it.
type recent struct {
	n     int
	units [16]struct {
		id    share.Unit
		hash  share.Hash
		value any
	}
}

func (r *recent) add(id share.Unit, hash share.Hash, v any) {
	e := &r.units[r.n%len(r.units)]
	e.id, e.hash, e.value = id, hash, v
	r.n++
}

func (r *recent) get(id share.Unit, hash share.Hash) (any, bool) {
	for i := range r.units[:min(r.n, len(r.units))] {
		if e := &r.units[i]; e.hash == hash && e.id == id {
			return e.value, true
		}
	}
	return nil, false
}

func (r *recent) clear() {
	clear(r.units[:min(r.n, len(r.units))])
	r.n = 0
}
