package own

import (
	"iter"
	"slices"
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
			s := e.resolve(m.r, m.base.ReportedVersion(e.scope), held, ok)
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
	s := e.resolve(v.merged.r, v.Base.ReportedVersion(e.scope), held, ok)
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

// valuesIn returns the values of an object in every index of a snapshot. failed is
// called with each error of an index function.
func valuesIn[T any](base *store.Snapshot[T], obj T, failed func(index string, err error)) map[string][]string {
	names := base.Indexes()
	if len(names) == 0 {
		return nil
	}
	values := make(map[string][]string, len(names))
	for _, name := range names {
		of, err := base.ValuesOf(name, obj)
		if err != nil {
			failed(name, err)
		}
		values[name] = of
	}
	return values
}

// shows reports whether a difference shows an object under an index value.
func (m *merged[T]) shows(d *difference[T], index, value string) bool {
	return d.shown && slices.Contains(m.valuesOf(d, index), value)
}

// valuesOf returns the values of the object that a difference shows.
func (m *merged[T]) valuesOf(d *difference[T], index string) []string {
	if d.written.generation == m.generation {
		if values, ok := d.written.values[index]; ok {
			return values
		}
	}
	// Errors were reported when the write was recorded.
	values, _ := m.base.ValuesOf(index, d.obj)
	return values
}

// hides reports whether a difference hides an object that is held under an index value.
func (m *merged[T]) hides(d *difference[T], index, value string) bool {
	return d.hidden && slices.Contains(m.heldUnder(d, index), value)
}

// heldUnder returns the values of the object that a difference hides.
func (m *merged[T]) heldUnder(d *difference[T], index string) []string {
	values, _ := m.base.ValuesOf(index, d.held)
	return values
}

// hidesKey reports whether the object that is held under a key is not shown.
func (m *merged[T]) hidesKey(key store.Key) bool {
	_, ok := slices.BinarySearchFunc(m.differences(), key, func(d difference[T], k store.Key) int { return d.key.Compare(k) })
	return ok
}

// keyed iterates over the held objects that are shown, and then over those of the
// differences that match.
func (m *merged[T]) keyed(held iter.Seq2[store.Key, T], matches ...store.IndexMatch) iter.Seq2[store.Key, T] {
	return func(yield func(store.Key, T) bool) {
		for key, obj := range held {
			if !m.hidesKey(key) && !yield(key, obj) {
				return
			}
		}
		for i := range m.differences() {
			d := &m.differ[i]
			misses := func(is store.IndexMatch) bool { return !m.shows(d, is.Index, is.Value) }
			if len(matches) > 0 && !slices.ContainsFunc(matches, misses) && !yield(d.key, d.obj) {
				return
			}
		}
	}
}

// ByIndexKeyed iterates over the objects that an index holds under a value, with their
// keys.
func (v View[T]) ByIndexKeyed(index, value string) (iter.Seq2[store.Key, T], error) {
	held, err := v.Base.ByIndexKeyed(index, value)
	if err != nil || v.merged == nil {
		return held, err
	}
	return v.merged.keyed(held, store.IndexMatch{Index: index, Value: value}), nil
}

// ByIndexes iterates over the objects that each of several indexes holds under its
// value, with their keys.
func (v View[T]) ByIndexes(matches ...store.IndexMatch) (iter.Seq2[store.Key, T], error) {
	held, err := v.Base.ByIndexes(matches...)
	if err != nil || v.merged == nil {
		return held, err
	}
	return v.merged.keyed(held, matches...), nil
}

// ByIndex iterates over the objects that an index holds under a value.
func (v View[T]) ByIndex(index, value string) (iter.Seq[T], error) {
	held, err := v.Base.ByIndex(index, value)
	if err != nil || v.merged == nil {
		return held, err
	}
	m := v.merged
	return func(yield func(T) bool) {
		if slices.ContainsFunc(m.differences(), func(d difference[T]) bool { return m.hides(&d, index, value) }) {
			// Hidden objects are recognised by key.
			keyed, _ := v.ByIndexKeyed(index, value)
			for _, obj := range keyed {
				if !yield(obj) {
					return
				}
			}
			return
		}
		for obj := range held {
			if !yield(obj) {
				return
			}
		}
		for i := range m.differ {
			if d := &m.differ[i]; m.shows(d, index, value) && !yield(d.obj) {
				return
			}
		}
	}, nil
}

// VisitIndex calls yield with what ByIndex iterates over.
func (v View[T]) VisitIndex(index, value string, yield func(T) bool) error {
	if v.merged == nil {
		return v.Base.VisitIndex(index, value, yield)
	}
	objs, err := v.ByIndex(index, value)
	if err == nil {
		objs(yield)
	}
	return err
}

// IndexKeys iterates over the keys of the objects that an index holds under a value.
func (v View[T]) IndexKeys(index, value string) (iter.Seq[store.Key], error) {
	if v.merged == nil {
		return v.Base.IndexKeys(index, value)
	}
	keyed, err := v.ByIndexKeyed(index, value)
	if err != nil {
		return nil, err
	}
	return func(yield func(store.Key) bool) {
		for key := range keyed {
			if !yield(key) {
				return
			}
		}
	}, nil
}

// IndexCount returns how many objects ByIndex would yield.
func (v View[T]) IndexCount(index, value string) (int, error) {
	n, err := v.Base.IndexCount(index, value)
	if err != nil || v.merged == nil {
		return n, err
	}
	for i := range v.merged.differences() {
		d := &v.merged.differ[i]
		if v.merged.shows(d, index, value) {
			n++
		}
		if v.merged.hides(d, index, value) {
			n--
		}
	}
	return n, nil
}

// IndexValues iterates over the values that have at least one object.
func (v View[T]) IndexValues(index string) (iter.Seq[string], error) {
	held, err := v.Base.IndexValues(index)
	if err != nil || v.merged == nil {
		return held, err
	}
	m := v.merged
	return func(yield func(string) bool) {
		// more is how many more objects than in the snapshot each value has.
		more := map[string]int{}
		for i := range m.differences() {
			d := &m.differ[i]
			if d.shown {
				for _, value := range m.valuesOf(d, index) {
					more[value]++
				}
			}
			if d.hidden {
				for _, value := range m.heldUnder(d, index) {
					more[value]--
				}
			}
		}
		for value := range held {
			change, touched := more[value]
			delete(more, value)
			if touched && change < 0 {
				if n, _ := v.Base.IndexCount(index, value); n+change <= 0 {
					continue
				}
			}
			if !yield(value) {
				return
			}
		}
		for value, n := range more {
			if n > 0 && !yield(value) {
				return
			}
		}
	}, nil
}
