package json

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// drops is a set of paths of JSON names, as a tree. A nil value is the empty
// set; a leaf, one without kids, is dropped itself.
type drops struct {
	kids map[string]*drops
}

func newDrops(paths []string) *drops {
	var root *drops
	for _, path := range paths {
		if root == nil {
			root = &drops{kids: map[string]*drops{}}
		}
		at := root
		names := strings.Split(path, ".")
		for i, name := range names {
			kid, known := at.kids[name]
			if known && len(kid.kids) == 0 {
				break // what is above it is dropped already
			}
			if !known {
				kid = &drops{kids: map[string]*drops{}}
				at.kids[name] = kid
			}
			if i == len(names)-1 {
				clear(kid.kids)
			}
			at = kid
		}
	}
	return root
}

// of returns what is to be dropped inside a field, and whether the field is.
func (d *drops) of(name string) (inside *drops, whole bool) {
	if d == nil {
		return nil, false
	}
	kid, ok := d.kids[name]
	if !ok {
		return nil, false
	}
	return kid, len(kid.kids) == 0
}

// String is the same for equal sets.
func (d *drops) String() string {
	if d == nil || len(d.kids) == 0 {
		return ""
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(d.kids)) {
		b.WriteString("{" + name + d.kids[name].String() + "}")
	}
	return b.String()
}

// checkDrop returns a *PathError if no field answers to a path. Pointers,
// slices and maps are passed through: what a path says is dropped from each
// element.
func checkDrop(root reflect.Type, path string) error {
	at, t := "", root
	for name := range strings.SplitSeq(path, ".") {
		t = throughElements(t)
		var list []member
		if t.Kind() == reflect.Struct && kindOf(t) == opStruct {
			list = members(t)
		}
		i := slices.IndexFunc(list, func(m member) bool { return m.name == name })
		if i < 0 {
			err := &PathError{Type: root, Path: path, At: at, Missing: name}
			if near := nearest(list, name); near != "" {
				err.Nearest = join(at, near)
			} else {
				err.Nearest = at
			}
			return err
		}
		at, t = join(at, name), list[i].typ
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func throughElements(t reflect.Type) reflect.Type {
	for {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			if kindOf(t) == opOther {
				return t
			}
			t = t.Elem()
		default:
			return t
		}
	}
}

// nearest is the name that takes the fewest changes of a letter to become the
// one that was asked for, in any case.
func nearest(list []member, name string) string {
	best, least := "", 0
	for _, m := range list {
		d := distance(strings.ToLower(m.name), strings.ToLower(name))
		if best == "" || d < least {
			best, least = m.name, d
		}
	}
	return best
}

func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// clearDropped does to a value that the official decoder made what a plan
// does in passing.
func clearDropped(v reflect.Value, d *drops) {
	if d == nil {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			clearDropped(v.Elem(), d)
		}
	case reflect.Slice:
		for i := range v.Len() {
			clearDropped(v.Index(i), d)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			elem := reflect.New(v.Type().Elem()).Elem()
			elem.Set(v.MapIndex(k))
			clearDropped(elem, d)
			v.SetMapIndex(k, elem)
		}
	case reflect.Struct:
		for _, m := range members(v.Type()) {
			inside, whole := d.of(m.name)
			if inside == nil {
				continue
			}
			f, err := v.FieldByIndexErr(m.index)
			switch {
			case err != nil: // inside an embedded pointer that is nil
			case whole:
				f.SetZero()
			default:
				clearDropped(f, inside)
			}
		}
	}
}
