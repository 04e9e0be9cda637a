package overlay

import (
	"iter"
	"slices"

	"github.com/kinglet-go/kinglet/store"
)

// Values returns the values of an object in every index of a snapshot, for
// Write.Values. failed is called with each error of an index function.
func Values[T any](base *store.Snapshot[T], obj T, failed func(index string, err error)) map[string][]string {
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
func (v *View[T]) shows(d *difference[T], index, value string) bool {
	return d.shown && slices.Contains(v.valuesOf(d, index), value)
}

// valuesOf returns the values of the object that a difference shows.
func (v *View[T]) valuesOf(d *difference[T], index string) []string {
	if d.written.generation == v.generation {
		if values, ok := d.written.values[index]; ok {
			return values
		}
	}
	// Errors were reported when the write was recorded.
	values, _ := v.base.ValuesOf(index, d.obj)
	return values
}

// hides reports whether a difference hides an object that is held under an index value.
func (v *View[T]) hides(d *difference[T], index, value string) bool {
	return d.hidden && slices.Contains(v.heldUnder(d, index), value)
}

// heldUnder returns the values of the object that a difference hides.
func (v *View[T]) heldUnder(d *difference[T], index string) []string {
	values, _ := v.base.ValuesOf(index, d.held)
	return values
}

// ByIndexKeyed iterates over the objects that an index holds under a value, with
// their keys: those of the snapshot, then those of the overlay.
func (v *View[T]) ByIndexKeyed(index, value string) (iter.Seq2[store.Key, T], error) {
	keyed, err := v.base.ByIndexKeyed(index, value)
	if err != nil {
		return nil, err
	}
	return func(yield func(store.Key, T) bool) {
		for key, obj := range keyed {
			if v.hidesKey(key) {
				continue
			}
			if !yield(key, obj) {
				return
			}
		}
		for i := range v.differences() {
			if d := &v.differ[i]; v.shows(d, index, value) && !yield(d.key, d.obj) {
				return
			}
		}
	}, nil
}

// ByIndexes iterates over the objects that each of several indexes holds under its
// value: those of the snapshot, then those of the overlay.
func (v *View[T]) ByIndexes(matches ...store.IndexMatch) (iter.Seq2[store.Key, T], error) {
	held, err := v.base.ByIndexes(matches...)
	if err != nil {
		return nil, err
	}
	return func(yield func(store.Key, T) bool) {
		for key, obj := range held {
			if !v.hidesKey(key) && !yield(key, obj) {
				return
			}
		}
		if len(matches) == 0 {
			return
		}
		for i := range v.differences() {
			d := &v.differ[i]
			misses := func(m store.IndexMatch) bool { return !v.shows(d, m.Index, m.Value) }
			if !slices.ContainsFunc(matches, misses) && !yield(d.key, d.obj) {
				return
			}
		}
	}, nil
}

// hidesKey reports whether the object that is held under a key is not shown.
func (v *View[T]) hidesKey(key store.Key) bool {
	_, ok := slices.BinarySearchFunc(v.differences(), key, func(d difference[T], k store.Key) int { return d.key.Compare(k) })
	return ok
}

// ByIndex iterates over the objects that an index holds under a value.
func (v *View[T]) ByIndex(index, value string) (iter.Seq[T], error) {
	held, err := v.base.ByIndex(index, value)
	if err != nil {
		return nil, err
	}
	return func(yield func(T) bool) {
		if !slices.ContainsFunc(v.differences(), func(d difference[T]) bool { return v.hides(&d, index, value) }) {
			for obj := range held {
				if !yield(obj) {
					return
				}
			}
			for i := range v.differ {
				if d := &v.differ[i]; v.shows(d, index, value) && !yield(d.obj) {
					return
				}
			}
			return
		}
		// Hidden objects are recognised by key.
		keyed, _ := v.ByIndexKeyed(index, value)
		for _, obj := range keyed {
			if !yield(obj) {
				return
			}
		}
	}, nil
}

// IndexCount returns how many objects ByIndex would yield.
func (v *View[T]) IndexCount(index, value string) (int, error) {
	n, err := v.base.IndexCount(index, value)
	if err != nil {
		return 0, err
	}
	for i := range v.differences() {
		d := &v.differ[i]
		if v.shows(d, index, value) {
			n++
		}
		if v.hides(d, index, value) {
			n--
		}
	}
	return n, nil
}

// IndexValues iterates over the values that have at least one object.
func (v *View[T]) IndexValues(index string) (iter.Seq[string], error) {
	held, err := v.base.IndexValues(index)
	if err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		// more is how many more objects than in the snapshot each value has.
		more := map[string]int{}
		for i := range v.differences() {
			d := &v.differ[i]
			if d.shown {
				for _, value := range v.valuesOf(d, index) {
					more[value]++
				}
			}
			if d.hidden {
				for _, value := range v.heldUnder(d, index) {
					more[value]--
				}
			}
		}
		for value := range held {
			change, touched := more[value]
			delete(more, value)
			if touched && change < 0 {
				if n, _ := v.base.IndexCount(index, value); n+change <= 0 {
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
