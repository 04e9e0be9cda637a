package own

import (
	"iter"
	"sync"

	"github.com/kinglet-go/kinglet/store"
)

// View is a snapshot of a store, merged with the writes that it does not show yet. It
// never changes.
//
// A read of one key costs a search among the entries in addition to the store's read.
// The first read of anything else examines each entry once; later reads cost the
// store's read and some nanoseconds per entry. Without entries, a read costs as much as
// one of the store.
type View[T any] struct {
	Base *store.Snapshot[T]
	// merged is nil if there is nothing to merge.
	merged *merged[T]
}

// merged is what a view merges with its snapshot.
type merged[T any] struct {
	base *store.Snapshot[T]
	over *overlay[T]
	r    *Rules[T]
	// generation is that of the indexes: an entry's values of another one are computed
	// again.
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

// differences returns the entries that differ from what the snapshot shows.
func (m *merged[T]) differences() []difference[T] {
	m.once.Do(func() {
		m.differ = make([]difference[T], 0, len(m.over.entries))
		for _, e := range m.over.entries {
			held, ok := m.base.Get(e.key)
			s := e.resolve(m.r, m.base.ResourceVersion(e.scope), held, ok)
			if s.merged && (s.shown || ok) {
				m.differ = append(m.differ, difference[T]{entry: e, obj: s.obj, shown: s.shown, held: held, hidden: ok})
			}
		}
	})
	return m.differ
}

// Get returns the object under key. It does not allocate.
func (v View[T]) Get(key store.Key) (T, bool) {
	held, ok := v.Base.Get(key)
	if v.merged == nil {
		return held, ok
	}
	e := v.merged.over.at(key)
	if e == nil {
		return held, ok
	}
	s := e.resolve(v.merged.r, v.Base.ResourceVersion(e.scope), held, ok)
	return s.obj, s.shown
}

// Len returns the number of objects.
func (v View[T]) Len() int {
	n := v.Base.Len()
	if v.merged == nil {
		return n
	}
	for i := range v.merged.differences() {
		if v.merged.differ[i].shown {
			n++
		}
		if v.merged.differ[i].hidden {
			n--
		}
	}
	return n
}

// Visit calls yield with all objects in key order, until it returns false.
func (v View[T]) Visit(yield func(T) bool) {
	if v.merged == nil {
		v.Base.Visit(yield)
		return
	}
	v.merged.span(store.Span{})(yield)
}

// VisitPrefix calls yield with the objects whose keys start with p, in key order.
func (v View[T]) VisitPrefix(p store.Key, yield func(T) bool) {
	if v.merged == nil {
		v.Base.Prefix(p)(yield)
		return
	}
	v.merged.span(store.PrefixSpan(p))(yield)
}

// span iterates in key order over the objects whose keys are in a span.
func (m *merged[T]) span(s store.Span) iter.Seq[T] {
	return between(m, s, m.base.Span, func(d *difference[T]) T { return d.obj })
}

// SpanKeys iterates in order over the keys that are in a span.
func (v View[T]) SpanKeys(s store.Span) iter.Seq[store.Key] {
	if v.merged == nil {
		return v.Base.SpanKeys(s)
	}
	return between(v.merged, s, v.Base.SpanKeys, func(d *difference[T]) store.Key { return d.key })
}

// between iterates over the snapshot's objects between the differences, and over those
// that the differences show.
func between[T, V any](m *merged[T], s store.Span, held func(store.Span) iter.Seq[V], of func(*difference[T]) V) iter.Seq[V] {
	return func(yield func(V) bool) {
		rest := s
		for i := range m.differences() {
			d := &m.differ[i]
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
