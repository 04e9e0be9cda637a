package filler

import (
	"reflect"
	"slices"
	"strings"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

// Path returns the path of some field that a type leads to, in JSON names, or nothing.
func Path(s *Script, typ reflect.Type) string {
	var path []string
	for at := typ; len(path) == 0 || len(path) < 5 && !s.OneIn(3); {
		// A list may be one of itself.
		for range 8 {
			if slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, at.Kind()) && !DecodesItself(at) {
				at = at.Elem()
			}
		}
		if at.Kind() != reflect.Struct || DecodesItself(at) {
			break
		}
		t, err := gotype.Of(at)
		if err != nil || len(t.Members()) == 0 {
			break
		}
		m := Pick(s, t.Members())
		path, at = append(path, m.Name), m.Type.Go
		if strings.Contains(m.Name, ".") || m.Name == "" {
			return "" // no path leads there
		}
	}
	return strings.Join(path, ".")
}

// DecodesItself also reports it of a type that is too large for a plan.
func DecodesItself(typ reflect.Type) bool {
	t, err := gotype.Of(typ)
	return err != nil || t.DecodesItself
}

// Fields is the set of all fields of a type; nil if that is too large for a plan.
func Fields(typ reflect.Type) *gotype.Drops {
	t, err := gotype.Of(typ)
	if err != nil {
		return nil
	}
	var names []string
	for _, m := range t.Members() {
		names = append(names, m.Name)
	}
	d, _ := gotype.NewDrops(names) // the error is of odd names, which it has as well
	return d
}
