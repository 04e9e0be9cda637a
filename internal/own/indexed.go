package own

import (
	"iter"
	"slices"

	"github.com/kinglet-go/kinglet/store"
)

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
