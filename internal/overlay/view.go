package overlay

import (
	"iter"
	"sync"

	"github.com/kinglet-go/kinglet/store"
)

// View is a snapshot of a store merged with an overlay. It never changes.
//
// A read of one key costs a search among the entries in addition to the store's read.
// The first read of anything else examines each entry once; later reads cost the
// store's read and some nanoseconds per entry.
type View[T any] struct {
	base *store.Snapshot[T]
	over *Overlay[T]
	r    *Rules[T]
	// generation is that of the indexes.
	generation uint64

	once sync.Once
	// differ are the entries that differ from what the snapshot shows, in key order;
	// set by once.
	differ []difference[T]
}

// difference is a key whose merged state is not the snapshot's.
type difference[T any] struct {
	*entry[T]
	obj    T
	shown  bool
	held   T
	hidden bool // an object is held and not shown
}

// NewView returns the view of base merged with over, which must not be empty.
// generation is that of the indexes: an entry's values of another generation are
// computed again.
//
// over must be read before base is taken, since an entry may be removed as soon as the
// store shows its write.
func NewView[T any](base *store.Snapshot[T], over *Overlay[T], r *Rules[T], generation uint64) *View[T] {
	return &View[T]{base: base, over: over, r: r, generation: generation}
}

// differences returns the entries that differ from what the snapshot shows.
func (v *View[T]) differences() []difference[T] {
	v.once.Do(func() {
		v.differ = make([]difference[T], 0, len(v.over.entries))
		for _, e := range v.over.entries {
			held, ok := v.base.Get(e.key)
			obj, shown, merged := e.resolve(v.r, v.base.ResourceVersion(e.scope), held, ok)
			if merged && (shown || ok) {
				v.differ = append(v.differ, difference[T]{entry: e, obj: obj, shown: shown, held: held, hidden: ok})
			}
		}
	})
	return v.differ
}

// Get returns the object under key.
func (v *View[T]) Get(key store.Key) (T, bool) {
	held, ok := v.base.Get(key)
	scope, has := v.over.Scope(key)
	if !has {
		return held, ok
	}
	return v.over.Resolve(v.r, key, v.base.ResourceVersion(scope), held, ok)
}

// Len returns the number of objects.
func (v *View[T]) Len() int {
	n := v.base.Len()
	for i := range v.differences() {
		if v.differ[i].shown {
			n++
		}
		if v.differ[i].hidden {
			n--
		}
	}
	return n
}

// Span iterates in key order over the objects whose keys are in a span.
func (v *View[T]) Span(s store.Span) iter.Seq[T] {
	return merge(v, s, v.base.Span, func(d *difference[T]) T { return d.obj })
}

// SpanKeys iterates in order over the keys that are in a span.
func (v *View[T]) SpanKeys(s store.Span) iter.Seq[store.Key] {
	return merge(v, s, v.base.SpanKeys, func(d *difference[T]) store.Key { return d.key })
}

// merge iterates over the snapshot's objects between the differences, and over those
// that the differences show.
func merge[T, V any](v *View[T], s store.Span, held func(store.Span) iter.Seq[V], of func(*difference[T]) V) iter.Seq[V] {
	return func(yield func(V) bool) {
		rest := s
		for i := range v.differences() {
			d := &v.differ[i]
			if !s.Has(d.key) {
				continue
			}
			before := rest
			before.To = &d.key
			for obj := range held(before) {
				if !yield(obj) {
					return
				}
			}
			if d.shown && !yield(of(d)) {
				return
			}
			rest.From, rest.After = &d.key, true
		}
		for obj := range held(rest) {
			if !yield(obj) {
				return
			}
		}
	}
}
