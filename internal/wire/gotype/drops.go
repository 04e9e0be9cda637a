package gotype

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Drops is a set of fields, as a tree of JSON names: fields that are not decoded, or that
// a copy does not share. A path such as "spec.containers.env" leads through pointers, and
// into each element of a slice or map. Nil is the empty set. Drops are immutable.
type Drops struct {
	// kids are sorted by name.
	kids []drop
	// others: fields that kids do not name are dropped as well.
	others bool
	// mark is set inside "metadata" if objects are to be marked as not whole.
	mark *mark
}

// drop is a field of which something is dropped, or which is an exception from others.
type drop struct {
	name string
	// whole: all of the field is dropped. If not, inside is what is dropped in it.
	whole  bool
	inside *Drops
}

// NewDrops returns the set of the fields with these paths. It returns a
// *PathError for a path with an empty name in it.
func NewDrops(paths []string) (*Drops, error) {
	return tree(paths, false), checkAll(nil, "drop", paths)
}

// tree returns the set of the fields with these paths, or, if keep, of all others.
func tree(paths []string, keep bool) *Drops {
	if len(paths) == 0 {
		return nil
	}
	inside := map[string][]string{}
	ends := map[string]bool{}
	for _, p := range paths {
		name, rest, more := strings.Cut(p, ".")
		ends[name] = ends[name] || !more
		inside[name] = append(inside[name], rest)
	}
	d := &Drops{others: keep}
	for name, rest := range inside {
		k := drop{name: name, whole: ends[name] && !keep}
		if !ends[name] {
			k.inside = tree(rest, keep)
		}
		d.kids = append(d.kids, k)
	}
	d.sort()
	return d
}

func (d *Drops) sort() {
	slices.SortFunc(d.kids, func(a, b drop) int { return strings.Compare(a.name, b.name) })
}

// and returns the union of two sets.
func (d *Drops) and(e *Drops) *Drops {
	if d == nil || e == nil {
		return cmp.Or(d, e)
	}
	u := &Drops{others: d.others || e.others, mark: cmp.Or(d.mark, e.mark)}
	add := func(name string) {
		inside, whole := d.Of(name)
		more, all := e.Of(name)
		k := drop{name: name, whole: whole || all}
		if !k.whole {
			k.inside = inside.and(more)
		}
		u.kids = append(u.kids, k)
	}
	for _, k := range d.kids {
		add(k.name)
	}
	for _, k := range e.kids {
		if !slices.ContainsFunc(d.kids, func(o drop) bool { return o.name == k.name }) {
			add(k.name)
		}
	}
	u.sort()
	return u
}

// Of returns what is dropped inside the field of that name, and whether all of
// the field is.
func (d *Drops) Of(name string) (inside *Drops, whole bool) {
	if d == nil {
		return nil, false
	}
	for i := range d.kids {
		if k := &d.kids[i]; k.name == name {
			return k.inside, k.whole
		}
	}
	return nil, d.others
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
	inside = &Drops{others: d.others}
	for _, k := range d.kids {
		if slices.ContainsFunc(outer.Members(), func(m Member) bool { return m.Name == k.name }) {
			inside.kids = append(inside.kids, k)
		}
	}
	if len(inside.kids) == 0 {
		return nil, d.others
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
	fmt.Fprintf(&b, "%t %t", d.others, d.Marks())
	for _, k := range d.kids {
		fmt.Fprintf(&b, "{%q %t %s}", k.name, k.whole, k.inside)
	}
	return b.String()
}

// Has reports that all of the field with a path is dropped.
func (d *Drops) Has(path ...string) (whole bool) {
	for _, name := range path {
		if d, whole = d.Of(name); whole {
			return true
		}
	}
	return false
}

// Clear empties the dropped fields of a value that was decoded whole, and marks it as
// decoders do.
func (d *Drops) Clear(v reflect.Value) { d.set(v, reflect.Value.SetZero) }

// set calls field for the dropped fields of a value, and marks it.
func (d *Drops) set(v reflect.Value, field func(reflect.Value)) {
	if d == nil {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			d.set(v.Elem(), field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			d.set(v.Index(i), field)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			elem.Set(v.MapIndex(k))
			d.set(elem, field)
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
				field(writable(f))
			default:
				inside.set(f, field)
			}
		}
		if d.Marks() && v.Type() == objectMeta {
			d.Mark(v.Addr().Interface().(*metav1.ObjectMeta), true)
		}
	}
}

// writable returns an addressable field that reflect writes to, even if it is an embedded
// struct whose name is not exported: its fields are.
func writable(f reflect.Value) reflect.Value {
	if f.CanSet() || !f.CanAddr() {
		return f
	}
	return reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
}

// ClearObject is Clear for a pointer to an object, which may be unstructured.
func (d *Drops) ClearObject(obj any) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		d.ClearUntyped(u.Object)
	} else {
		d.Clear(reflect.ValueOf(obj))
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
		for name, value := range v {
			if inside, whole := d.Of(name); whole {
				delete(v, name)
			} else {
				inside.ClearUntyped(value)
			}
		}
		d.MarkUntyped(v, true)
	}
}
