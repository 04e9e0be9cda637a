package mutation

import "github.com/kinglet-go/kinglet/store"

// watch is one object and a copy of its original state.
type watch[T any] struct {
	key store.Key
	obj T
	was T // not shared
	// gone: it was not in the store at the last check.
	gone bool
}

// roster are the watches of full mode. It is plain data.
type roster[T any] struct {
	watches []*watch[T]
	// entering are the watches of objects that are not stored yet.
	entering []*watch[T]
	// latest is the watch of the object that entered last under a key.
	latest map[store.Key]*watch[T]
	// crowded is how many watches trigger a check between two intervals.
	crowded int
}

func (r *roster[T]) add(w *watch[T]) {
	if r.latest == nil {
		r.latest = map[store.Key]*watch[T]{}
	}
	r.entering = append(r.entering, w)
	r.latest[w.key] = w
}

// settle records that the entering objects have been stored, or never will be. It
// reports whether there are so many watches that most must be of old versions, given
// that n objects are stored. Each time it returns true it doubles the limit, so that
// each entering object costs one or two comparisons.
func (r *roster[T]) settle(n int) bool {
	r.watches = append(r.watches, r.entering...)
	clear(r.entering)
	r.entering = r.entering[:0]
	if len(r.watches) <= max(r.crowded, 2*n+slack) {
		return false
	}
	r.crowded = 2 * len(r.watches)
	return true
}

// has reports whether obj is the object that entered last under key.
func (r *roster[T]) has(key store.Key, obj T) bool {
	w := r.latest[key]
	return w != nil && same(w.obj, obj)
}

// retire ends the watches of objects that were not in the store at the last check
// either. now is the store's present state.
func (r *roster[T]) retire(checked []*watch[T], now store.Reader[T]) {
	ended := map[*watch[T]]bool{}
	for _, w := range checked {
		obj, stored := now.Get(w.key)
		switch {
		case stored && (same(obj, w.obj) || !identified(obj) && r.latest[w.key] == w):
			w.gone = false
		case w.gone:
			ended[w] = true
		default:
			w.gone = true
		}
	}
	if len(ended) == 0 {
		return
	}
	r.crowded = 0
	kept := r.watches[:0]
	for _, w := range r.watches {
		if !ended[w] {
			kept = append(kept, w)
			continue
		}
		if r.latest[w.key] == w {
			delete(r.latest, w.key)
		}
	}
	clear(r.watches[len(kept):])
	r.watches = kept
}
