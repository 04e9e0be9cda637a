package fielddiff

import (
	"cmp"
	"maps"
	"slices"
)

// Change is one leaf that differs.
type Change struct {
	// Path is dotted; elements of lists stand in brackets under the name that
	// identifies them: status.conditions[Ready].status.
	Path string `json:"path"`
	// Old is nil if the field was absent, New if it is absent now.
	Old any `json:"old,omitempty"`
	New any `json:"new,omitempty"`
	// reordered marks a list of which only the order differs.
	reordered bool
}

// Compare returns what differs between two versions of one object, ordered by
// path. metadata.managedFields and metadata.resourceVersion, which differ in
// every version, are left out.
//
// A subtree that is on one side only is one change, but for lists of a few
// elements. Lists of objects are
// compared element by element under the field that identifies them (name,
// type, …), lists of plain values as sets.
func Compare(before, after map[string]any) []Change {
	var c comparison
	c.maps(nil, before, after)
	slices.SortStableFunc(c.changes, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return c.changes
}

type comparison struct{ changes []Change }

func (c *comparison) maps(at path, before, after map[string]any) {
	for _, key := range unionOfKeys(before, after) {
		if at.isNoise(key) {
			continue
		}
		was, had := before[key]
		is, has := after[key]
		switch {
		case !had:
			c.one(at.field(key), is, func(at path, v any) { c.add(at, nil, v) })
		case !has:
			c.one(at.field(key), was, func(at path, v any) { c.add(at, v, nil) })
		default:
			c.values(at.field(key), was, is)
		}
	}
}

// one adds a subtree that is on one side only: a few elements that have names
// each by its own, since conditions mostly come all at once; anything else as
// a whole.
func (c *comparison) one(at path, v any, add func(path, any)) {
	const few = 8
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > few {
		add(at, v)
		return
	}
	elements, _, ok := byIdentity(list, nil)
	if !ok {
		add(at, v)
		return
	}
	for _, id := range unionOfKeys(elements, nil) {
		add(at.element(id), elements[id])
	}
}

func (c *comparison) add(at path, before, after any) {
	c.changes = append(c.changes, Change{Path: at.String(), Old: before, New: after})
}

func (c *comparison) values(at path, before, after any) {
	switch was := before.(type) {
	case map[string]any:
		if is, ok := after.(map[string]any); ok {
			c.maps(at, was, is)
			return
		}
	case []any:
		if is, ok := after.([]any); ok {
			c.lists(at, was, is)
			return
		}
	}
	if !equal(before, after) {
		c.add(at, before, after)
	}
}

func (c *comparison) lists(at path, before, after []any) {
	if equal(before, after) {
		return
	}
	if was, is, ok := byIdentity(before, after); ok {
		from := len(c.changes)
		for _, id := range unionOfKeys(was, is) {
			w, had := was[id]
			i, has := is[id]
			switch {
			case !had:
				c.add(at.element(id), nil, i)
			case !has:
				c.add(at.element(id), w, nil)
			default:
				c.values(at.element(id), w, i)
			}
		}
		if len(c.changes) > from {
			return
		}
	} else if allScalars(before) && allScalars(after) {
		gone, come := multisetDifference(before, after)
		for _, v := range gone {
			c.add(at, v, nil)
		}
		for _, v := range come {
			c.add(at, nil, v)
		}
		if len(gone)+len(come) > 0 {
			return
		}
	} else {
		c.add(at, before, after)
		return
	}
	c.changes = append(c.changes, Change{Path: at.String(), Old: before, New: after, reordered: true})
}

// unionOfKeys returns the keys of both, sorted.
func unionOfKeys[V any](a, b map[string]V) []string {
	keys := make([]string, 0, max(len(a), len(b)))
	keys = slices.AppendSeq(keys, maps.Keys(a))
	for k := range b {
		if _, both := a[k]; !both {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// equal compares two decoded values. Numbers are equal if they are the same
// number, whatever type a decoder chose for them.
func equal(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, equal)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y
	}
	return a == b
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case int:
		return float64(n), true
	}
	return 0, false
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

func allScalars(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { return !isScalar(v) })
}

// multisetDifference returns what only a has and what only b has, each in its
// own order.
func multisetDifference(a, b []any) (onlyA, onlyB []any) {
	count := make(map[any]int, len(b))
	for _, v := range b {
		count[v]++
	}
	for _, v := range a {
		if count[v] > 0 {
			count[v]--
		} else {
			onlyA = append(onlyA, v)
		}
	}
	clear(count)
	for _, v := range a {
		count[v]++
	}
	for _, v := range b {
		if count[v] > 0 {
			count[v]--
		} else {
			onlyB = append(onlyB, v)
		}
	}
	return onlyA, onlyB
}
