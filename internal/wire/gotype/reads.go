package gotype

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Reads returns the path of a dropped field that decides the result of f, if an object of
// typ with a value in every field, which is not being deleted, shows one; "something" if it
// takes several. A function that looks for certain values may read fields without that. Its
// panics count as results.
func (d *Drops) Reads(typ reflect.Type, f func(obj any) any) string {
	result := func(d *Drops) (r any) {
		defer func() {
			if p := recover(); p != nil {
				r = "panic"
			}
		}()
		v := reflect.New(typ)
		fill(v.Elem(), "1")
		alive.Clear(v)
		d.Clear(v)
		return f(v.Interface())
	}
	whole := result(nil)
	without := func(d *Drops) bool { return !reflect.DeepEqual(result(d), whole) }
	if d == nil || without(nil) || !without(d) {
		return "" // a result that changes by itself says nothing
	}
	t, err := Of(typ)
	if err != nil {
		return ""
	}
	var found []string
	// It may take several fields together, if one does not decide alone.
	for at := d; at != nil && !t.DecodesItself; {
		i := slices.IndexFunc(t.Members(), func(m Member) bool {
			inside, whole := at.Of(m.Name)
			return (inside != nil || whole) && without(only(append(found, m.Name), inside, whole))
		})
		if i < 0 {
			break
		}
		m := t.Members()[i]
		inside, whole := at.Of(m.Name)
		if whole {
			inside = &Drops{others: true}
		}
		found, at, t = append(found, m.Name), inside, element(m.Type)
	}
	return cmp.Or(strings.Join(found, "."), "something")
}

var alive = tree([]string{"metadata.deletionTimestamp"}, false)

// only returns the set of what is dropped in the field that path leads to.
func only(path []string, inside *Drops, whole bool) *Drops {
	d := &Drops{kids: []drop{{name: path[len(path)-1], inside: inside, whole: whole}}}
	for _, name := range slices.Backward(path[:len(path)-1]) {
		d = &Drops{kids: []drop{{name: name, inside: d}}}
	}
	return d
}

// values are tried for types that decode themselves.
var values = [...]string{`"1"`, `1`, `"2006-01-02T15:04:05Z"`, `"2006-01-02T15:04:05.000000Z"`, `{"a":"1"}`}

// LeftOut is the text that Fill writes.
const LeftOut = "kinglet: this field is left out"

// Fill gives the dropped fields of a value that was decoded without them other values than
// an object has: texts are LeftOut.
func (d *Drops) Fill(v reflect.Value) {
	d.set(v, func(f reflect.Value) { fill(f, LeftOut) })
}

// maxFilled is how many values fill gives at most, far more than a Pod has.
const maxFilled = MaxParts

// place is a value that fill is to give, and the place that it is in.
type place struct {
	reflect.Value
	in int
}

// fill gives all fields of a value that is zero a value, level by level, down to types
// within themselves and as far as maxFilled goes.
func fill(v reflect.Value, text string) {
	places := []place{{v, -1}}
	var maps [][3]reflect.Value
	add := func(v reflect.Value, in int) {
		if len(places) < maxFilled {
			places = append(places, place{v, in})
		}
	}
	within := func(i int) bool {
		for in := places[i].in; in >= 0; in = places[in].in {
			if places[in].Type() == places[i].Type() {
				return true
			}
		}
		return false
	}
	for i := 0; i < len(places); i++ {
		v := places[i].Value
		t, err := Of(v.Type())
		if err != nil || !v.CanSet() || within(i) {
			continue
		}
		if t.DecodesItself {
			for _, s := range values {
				if decodes(v, s) {
					break
				}
			}
			continue
		}
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		case reflect.String:
			v.SetString(text)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			v.SetInt(1)
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			v.SetUint(1)
		case reflect.Float32, reflect.Float64:
			v.SetFloat(1)
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			add(v.Elem(), i)
		case reflect.Interface:
			if one := reflect.ValueOf("1"); one.Type().Implements(v.Type()) {
				v.Set(one)
			}
		case reflect.Array:
			for n := range min(v.Len(), maxFilled-len(places)) {
				add(v.Index(n), i)
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			add(v.Index(0), i)
		case reflect.Map:
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			v.Set(reflect.MakeMap(v.Type()))
			add(key, i)
			add(elem, i)
			maps = append(maps, [...]reflect.Value{v, key, elem})
		case reflect.Struct:
			for n := range min(v.NumField(), maxFilled-len(places)) {
				f := v.Field(n)
				if v.Type().Field(n).Anonymous && f.Kind() == reflect.Struct {
					f = writable(f)
				}
				add(f, i)
			}
		}
	}
	// A map holds copies, so those inside its element come first.
	for _, m := range slices.Backward(maps) {
		m[0].SetMapIndex(m[1], m[2])
	}
}

// decodes has a value's own decoder, which may panic at what it does not expect, decode s.
func decodes(v reflect.Value, s string) (ok bool) {
	defer func() { _ = recover() }()
	return json.Unmarshal([]byte(s), v.Addr().Interface()) == nil && !v.IsZero()
}
