package fielddiff

import (
	"slices"
	"strconv"
)

// identifying are the fields that tell the elements of a Kubernetes list from
// each other, in the order in which they are tried. All of a list's elements
// have to have the field, each with another value.
func identifying() []string {
	return []string{"name", "type", "key", "mountPath", "devicePath", "ip", "containerPort", "port", "uid", "path", "topologyKey"}
}

// byIdentity returns both lists as maps from an element's identity to the
// element; false if no field identifies the elements of both.
func byIdentity(before, after []any) (was, is map[string]any, ok bool) {
	for _, field := range identifying() {
		if was, ok = mapBy(field, before); !ok {
			continue
		}
		if is, ok = mapBy(field, after); ok {
			return was, is, true
		}
	}
	return nil, nil, false
}

func mapBy(field string, list []any) (map[string]any, bool) {
	m := make(map[string]any, len(list))
	for _, v := range list {
		element, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		var id string
		switch value := element[field].(type) {
		case string:
			id = value
		case int64:
			id = strconv.FormatInt(value, 10)
		default:
			return nil, false
		}
		if _, taken := m[id]; taken {
			return nil, false
		}
		m[id] = element
	}
	return m, true
}

// path is where in an object a value stands; its pieces are joined as they are.
type path []string

func (p path) String() string {
	n := 0
	for _, s := range p {
		n += len(s)
	}
	b := make([]byte, 0, n)
	for _, s := range p {
		b = append(b, s...)
	}
	return string(b)
}

// field appends a key of a map: plain after a dot, in brackets where it has
// characters that a path could not be read with.
func (p path) field(key string) path {
	switch {
	case !isIdentifier(key):
		return p.element(key)
	case len(p) == 0:
		return path{key}
	}
	return append(slices.Clip(p), "."+key)
}

func (p path) element(id string) path { return append(slices.Clip(p), "["+id+"]") }

func (p path) isNoise(key string) bool {
	return len(p) == 1 && p[0] == "metadata" && (key == "managedFields" || key == "resourceVersion")
}

func isIdentifier(s string) bool {
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '$':
		default:
			return false
		}
	}
	return s != ""
}
