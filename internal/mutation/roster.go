package mutation

import "github.com/kinglet-go/kinglet/store"

// watch is one object and what it was.
type watch[T any] struct {
	key store.Key
	obj T
	was T // nobody else has it
	// gone: it was not in the store at the last check.
	gone bool
}

// roster are the watches of full mode. It is plain data.
type roster[T any] struct {
	watches []*watch[T]
	// entering are watched, and not stored yet.
	entering []*watch[T]
	// latest is the watch of the object that entered last under a key.
	latest map[store.Key]*watch[T]
	// crowded is how many watches are worth a check between two intervals.
	crowded int
}

func (r *roster[T]) add(w *watch[T]) {
	if r.latest == nil {
		r.latest = map[store.Key]*watch[T]{}
	}
	r.entering = append(r.entering, w)
	r.latest[w.key] = w
}

// settle says that what was entering has been stored, or never will be. It
// reports whether there are so many watches that most must be of old versions,
// given that n objects are stored. Each time that is said allows for twice as
// many, so that it costs one or two comparisons for each object that enters.
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

// retire ends the watches of objects that are out of the store since the last
// check or longer. now is what the store has.
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
