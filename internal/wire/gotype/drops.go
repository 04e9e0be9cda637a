package gotype

import (
	"reflect"
	"slices"
	"strings"
)

// Drops is a set of fields, as a tree of JSON names: fields that are not decoded, or that
// a copy does not share. A path such as "spec.containers.env" leads through pointers, and
// into each element of a slice or map. Nil is the empty set. Drops are immutable.
type Drops struct {
	// kids are sorted by name.
	kids []drop
}

// drop is one field, dropped whole or in part.
type drop struct {
	name string
	// inside is nil if the whole field is dropped.
	inside *Drops
}

// NewDrops returns the set of the fields with these paths. It returns a
// *PathError for a path with an empty name in it.
func NewDrops(paths []string) (*Drops, error) {
	for _, p := range paths {
		if slices.Contains(strings.Split(p, "."), "") {
			return nil, &PathError{Path: p}
		}
	}
	return tree(paths), nil
}

func tree(paths []string) *Drops {
	if len(paths) == 0 {
		return nil
	}
	inside := map[string][]string{}
	whole := map[string]bool{}
	for _, p := range paths {
		name, rest, more := strings.Cut(p, ".")
		whole[name] = whole[name] || !more
		inside[name] = append(inside[name], rest)
	}
	d := &Drops{}
	for name, rest := range inside {
		k := drop{name: name}
		if !whole[name] {
			k.inside = tree(rest)
		}
		d.kids = append(d.kids, k)
	}
	slices.SortFunc(d.kids, func(a, b drop) int { return strings.Compare(a.name, b.name) })
	return d
}

// Of returns what is dropped inside the field of that name, and whether all of
// the field is.
func (d *Drops) Of(name string) (inside *Drops, whole bool) {
	if d == nil {
		return nil, false
	}
	for i := range d.kids {
		if k := &d.kids[i]; k.name == name {
			return k.inside, k.inside == nil
		}
	}
	return nil, false
}

// In is Of for a field of a struct. The field may be an embedded struct, whose fields
// are then named as the outer struct's.
func (d *Drops) In(f *Field) (inside *Drops, whole bool) {
	name, _, ok := f.jsonName()
	if d == nil || !ok {
		return nil, false
	}
	if name != "" {
		return d.Of(name)
	}
	outer := f.Type
	if outer.Kind == reflect.Pointer {
		outer = outer.Elem
	}
	inside = &Drops{}
	for _, k := range d.kids {
		if slices.ContainsFunc(outer.Members(), func(m Member) bool { return m.Name == k.name }) {
			inside.kids = append(inside.kids, k)
		}
	}
	if len(inside.kids) == 0 {
		return nil, false
	}
	return inside, false
}

// All calls visit with this set and all sets inside it.
func (d *Drops) All(visit func(*Drops)) {
	if d == nil {
		return
	}
	visit(d)
	for _, k := range d.kids {
		k.inside.All(visit)
	}
}

// String returns the same text for equal sets.
func (d *Drops) String() string {
	if d == nil {
		return ""
	}
	var b strings.Builder
	for _, k := range d.kids {
		b.WriteString("{" + k.name + k.inside.String() + "}")
	}
	return b.String()
}

// Clear empties the dropped fields of a value that was decoded whole.
func (d *Drops) Clear(v reflect.Value) {
	if d == nil {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.Clear(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.Clear(v.Index(i))
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			elem.Set(v.MapIndex(k))
			d.Clear(elem)
			v.SetMapIndex(k, elem)
		}
	case reflect.Struct:
		t, err := Of(v.Type())
		if err != nil {
			panic("BUG: a type in one with a plan is too large for one")
		}
		for _, m := range t.Members() {
			inside, whole := d.Of(m.Name)
			if inside == nil && !whole {
				continue
			}
			f, err := v.FieldByIndexErr(m.Index)
			switch {
			case err != nil: // inside an embedded pointer that is nil
			case whole:
				f.SetZero()
			default:
				inside.Clear(f)
			}
		}
	}
}

// ClearUntyped is Clear for the maps and slices of an unstructured object.
func (d *Drops) ClearUntyped(v any) {
	if d == nil {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			d.ClearUntyped(e)
		}
	case map[string]any:
		for _, k := range d.kids {
			if k.inside == nil {
				delete(v, k.name)
			} else {
				k.inside.ClearUntyped(v[k.name])
			}
		}
	}
}
