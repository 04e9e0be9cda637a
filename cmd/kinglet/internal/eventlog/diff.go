package eventlog

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Change is a field that differs.
type Change struct {
	// Path is dotted; elements of lists stand in brackets under the name that
	// identifies them: status.conditions[Ready].status.
	Path string `json:"path"`
	// Old is nil if the field was absent, New if it is absent now.
	Old any `json:"old,omitempty"`
	New any `json:"new,omitempty"`
	// reordered marks a list with the same elements in another order.
	reordered bool
}

// Compare returns the fields that differ between two versions of an object, ordered by
// path, without metadata.managedFields and metadata.resourceVersion. A subtree that only
// one version has is one change, except a list of few elements. Lists of objects are
// compared by the field that identifies their elements, lists of plain values as sets.
func Compare(before, after map[string]any) []Change {
	var d differences
	d.maps("", before, after)
	slices.SortStableFunc(d, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return d
}

type differences []Change

func (d *differences) add(at string, before, after any) {
	*d = append(*d, Change{Path: at, Old: before, New: after})
}

func (d *differences) maps(at string, before, after map[string]any) {
	for _, key := range keysOf(before, after) {
		if at == "metadata" && (key == "managedFields" || key == "resourceVersion") {
			continue
		}
		d.values(field(at, key), before[key], after[key])
	}
}

func (d *differences) values(at string, before, after any) {
	was, wasMap := before.(map[string]any)
	is, isMap := after.(map[string]any)
	if wasMap && isMap {
		d.maps(at, was, is)
		return
	}
	if reflect.DeepEqual(before, after) {
		return
	}
	list, wasList := before.([]any)
	now, isList := after.([]any)
	const few = 8 // conditions mostly come all at once
	if wasList && isList || wasList && after == nil && len(list) <= few || isList && before == nil && len(now) <= few {
		d.lists(at, list, now)
		return
	}
	d.add(at, before, after)
}

// lists compares lists that are not equal; nil is an absent one.
func (d *differences) lists(at string, before, after []any) {
	from, reordered := len(*d), false
	if was, is, ok := byIdentity(before, after); ok {
		reordered = len(before) > 0 && reflect.DeepEqual(was, is)
		for _, id := range keysOf(was, is) {
			d.values(at+"["+id+"]", was[id], is[id])
		}
	} else if before != nil && after != nil && allScalars(before) && allScalars(after) {
		reordered = maps.Equal(counts(before), counts(after))
		for _, v := range before {
			if !slices.Contains(after, v) {
				d.add(at, v, nil)
			}
		}
		for _, v := range after {
			if !slices.Contains(before, v) {
				d.add(at, nil, v)
			}
		}
	}
	if len(*d) > from {
		return
	}
	c := Change{Path: at, reordered: reordered}
	if before != nil {
		c.Old = before
	}
	if after != nil {
		c.New = after
	}
	*d = append(*d, c)
}

// byIdentity returns both lists as maps by the first field that tells apart the elements
// of each; false if there is none.
func byIdentity(before, after []any) (was, is map[string]any, ok bool) {
	for _, name := range []string{"name", "type", "key", "mountPath", "devicePath", "ip", "containerPort", "port", "uid", "path", "topologyKey"} {
		if was, ok = mapBy(name, before); !ok {
			continue
		}
		if is, ok = mapBy(name, after); ok {
			return was, is, true
		}
	}
	return nil, nil, false
}

func mapBy(name string, list []any) (map[string]any, bool) {
	m := make(map[string]any, len(list))
	for _, v := range list {
		element, _ := v.(map[string]any)
		switch element[name].(type) {
		case string, int64:
		default:
			return nil, false
		}
		id := fmt.Sprint(element[name])
		if _, taken := m[id]; taken {
			return nil, false
		}
		m[id] = element
	}
	return m, true
}

// keysOf returns the keys of both, sorted.
func keysOf(a, b map[string]any) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// counts returns how often a list has each of its scalars.
func counts(list []any) map[any]int {
	n := make(map[any]int, len(list))
	for _, v := range list {
		n[v]++
	}
	return n
}

func allScalars(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { return !isScalar(v) })
}

// field appends a key to a path: after a dot, or in brackets if it has characters that
// would make the path ambiguous.
func field(at, key string) string {
	plain := key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '$')
	})
	switch {
	case !plain:
		return at + "[" + key + "]"
	case at == "":
		return key
	}
	return at + "." + key
}
