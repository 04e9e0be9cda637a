package mutation

import (
	"bytes"
	"math"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// maxDepth is how deep values are compared. Unstructured values have no bound of
// their own.
const maxDepth = 1000

// difference is the first value of an object that is not as it was.
type difference struct{ path, was, is string }

// diff returns nil if the two are equal.
func diff[T any](live, was T) *difference {
	x := (&differ{}).compare(reflect.ValueOf(&live).Elem(), reflect.ValueOf(&was).Elem(), 0)
	if x != nil && x.path == "" {
		x.path = "."
	}
	return x
}

func changed(live, was reflect.Value) *difference {
	return &difference{was: show(was), is: show(live)}
}

// in puts a step before the path; "" for one that has no name of its own.
func (x *difference) in(step string) *difference {
	if step != "" && x.path != "" && x.path[0] != '[' {
		step += "."
	}
	x.path = step + x.path
	return x
}

// address is an unsafe.Pointer, which keeps the memory alive.
type address any

// differ compares two objects.
type differ struct {
	// met are the pairs of pointers that were followed. None is followed twice, so that
	// objects may contain cycles.
	met map[[2]address]struct{}
}

func (d *differ) compare(live, was reflect.Value, depth int) *difference {
	if depth == maxDepth {
		return nil
	}
	depth++
	equal := true
	switch k := live.Kind(); {
	case k == reflect.Struct:
		return d.structs(live, was, depth)
	case k == reflect.Pointer:
		return d.pointers(live, was, depth)
	case k == reflect.Slice || k == reflect.Array:
		return d.elements(live, was, depth)
	case k == reflect.Map:
		return d.entries(live, was, depth)
	case k == reflect.Interface:
		if !live.IsNil() && !was.IsNil() && live.Elem().Type() == was.Elem().Type() {
			return d.compare(live.Elem(), was.Elem(), depth)
		}
		equal = live.IsNil() && was.IsNil()
	case k == reflect.String:
		equal = live.String() == was.String()
	case k == reflect.Bool:
		equal = live.Bool() == was.Bool()
	case live.CanInt():
		equal = live.Int() == was.Int()
	case live.CanUint():
		equal = live.Uint() == was.Uint()
	case live.CanFloat():
		// Compare bits, so that a NaN equals itself.
		equal = math.Float64bits(live.Float()) == math.Float64bits(was.Float())
	case live.CanComplex():
		equal = live.Complex() == was.Complex()
	default: // functions, channels, unsafe pointers
		equal = live.UnsafePointer() == was.UnsafePointer()
	}
	if equal {
		return nil
	}
	return changed(live, was)
}

func (d *differ) structs(live, was reflect.Value, depth int) *difference {
	t := live.Type()
	s := structTypeOf(t)
	if s.equal != nil {
		if a, b := pointerTo(live), pointerTo(was); a.IsValid() && b.IsValid() {
			if s.equal(a, b) {
				return nil
			}
			return changed(live, was)
		}
	}
	for _, i := range s.fields {
		if x := d.compare(live.Field(i), was.Field(i), depth); x != nil {
			return x.in(fieldName(t, i))
		}
	}
	return nil
}

func (d *differ) pointers(live, was reflect.Value, depth int) *difference {
	a, b := live.UnsafePointer(), was.UnsafePointer()
	if a == b {
		return nil
	}
	if a == nil || b == nil {
		return changed(live, was)
	}
	pair := [2]address{a, b}
	if _, ok := d.met[pair]; ok {
		return nil
	}
	if d.met == nil {
		d.met = map[[2]address]struct{}{}
	}
	d.met[pair] = struct{}{}
	return d.compare(live.Elem(), was.Elem(), depth)
}

// elements compares slices or arrays.
func (d *differ) elements(live, was reflect.Value, depth int) *difference {
	if live.Kind() == reflect.Slice {
		if live.IsNil() != was.IsNil() || live.Len() != was.Len() {
			return changed(live, was)
		}
		if live.Type().Elem().Kind() == reflect.Uint8 {
			return differentBytes(live.Bytes(), was.Bytes())
		}
	}
	n := live.Len()
	if live.Type().Elem().Size() == 0 {
		n = 0 // without memory there may be any number of elements
	}
	for i := range n {
		if x := d.compare(live.Index(i), was.Index(i), depth); x != nil {
			return x.in("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

func differentBytes(live, was []byte) *difference {
	if bytes.Equal(live, was) {
		return nil
	}
	i := 0
	for live[i] == was[i] {
		i++
	}
	quoted := func(b []byte) string { return strconv.Quote(cut(string(b[i:min(i+200, len(b))]))) }
	return &difference{path: "[" + strconv.Itoa(i) + "]", was: quoted(was), is: quoted(live)}
}

// entries compares maps. Their order is random, so it returns the difference with the
// least path.
func (d *differ) entries(live, was reflect.Value, depth int) (first *difference) {
	if live.IsNil() != was.IsNil() {
		return changed(live, was)
	}
	found := func(key reflect.Value, x *difference) {
		if x = x.in(entryName(live.Type(), key)); first == nil || x.path < first.path {
			first = x
		}
	}
	common := 0
	for e := was.MapRange(); e.Next(); {
		now := live.MapIndex(e.Key())
		if !now.IsValid() {
			found(e.Key(), &difference{was: show(e.Value()), is: "absent"})
			continue
		}
		common++
		if x := d.compare(now, e.Value(), depth); x != nil {
			found(e.Key(), x)
		}
	}
	if live.Len() > common {
		for e := live.MapRange(); e.Next(); {
			if !was.MapIndex(e.Key()).IsValid() {
				found(e.Key(), &difference{was: "absent", is: show(e.Value())})
			}
		}
	}
	return first
}

// fieldName returns the JSON name, or the Go name if there is none; it is empty for a
// field that has no level of its own in JSON.
func fieldName(typ reflect.Type, i int) string {
	if typ == reflect.TypeFor[unstructured.Unstructured]() {
		return ""
	}
	f := typ.Field(i)
	name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "" && (f.Anonymous || opts == "inline"):
		return ""
	case name == "" || name == "-":
		return f.Name
	}
	return name
}

// entryName returns "[key]", or the key itself in an object without a Go type, in which
// maps stand for structs.
func entryName(typ reflect.Type, key reflect.Value) string {
	for key.Kind() == reflect.Interface && !key.IsNil() {
		key = key.Elem()
	}
	text := show(key)
	if key.Kind() == reflect.String {
		text = cut(key.String())
		if typ.Elem().Kind() == reflect.Interface && plain(text) {
			return text
		}
	}
	return "[" + text + "]"
}

func plain(name string) bool {
	return name != "" && strings.Trim(name, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
