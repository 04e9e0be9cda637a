package protobuf

import (
	"reflect"
	"slices"
	"strings"
)

// path is a field to drop, by the places of the fields that lead to it: those
// of embedded structs included.
type path struct {
	name   string // dotted, of JSON names
	fields []int
}

func names(paths []path) []string {
	var res []string
	for _, p := range paths {
		res = append(res, p.name)
	}
	slices.Sort(res)
	return slices.Compact(res)
}

// resolve finds the fields to drop.
func resolve(typ reflect.Type, drop []string) ([]path, error) {
	var res []path
	for _, name := range drop {
		fields, err := walk(typ, typ, name, name)
		if err != nil {
			return nil, err
		}
		res = append(res, path{name, fields})
	}
	return res, nil
}

// walk returns the places of the fields that rest, the end of a path, names in
// typ.
func walk(root, typ reflect.Type, rest, whole string) ([]int, error) {
	typ = element(typ)
	first, more, nested := strings.Cut(rest, ".")
	fail := func(reason, nearest string) error {
		return &PathError{Type: root, Path: whole, Reason: reason, Nearest: nearest}
	}
	if typ.Kind() != reflect.Struct || canUnmarshal(typ) && !generated(typ) {
		return nil, fail(typ.String()+" has no fields that can be named", "")
	}
	fields, f := named(typ, first)
	if fields == nil {
		before := strings.TrimSuffix(whole, rest)
		nearest := ""
		if n := nearestOf(first, jsonNames(typ)); n != "" {
			nearest = before + n
		}
		return nil, fail("there is no "+first+" in "+typ.String(), nearest)
	}
	if !nested {
		return fields, nil
	}
	if f.Kind() == reflect.Map {
		return nil, fail("the keys of "+strings.TrimSuffix(whole, "."+more)+" cannot be named", "")
	}
	inner, err := walk(root, f, more, whole)
	return append(fields, inner...), err
}

// element strips what a path passes through.
func element(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && !canUnmarshal(typ) {
		typ = typ.Elem()
	}
	return typ
}

// jsonName is a field's name in JSON, or empty; inline says that its own fields
// stand in its place.
func jsonName(f reflect.StructField) (name string, inline bool) {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" {
		return "", false
	}
	if name == "" && f.Anonymous && (strings.Contains(options, "inline") || element(f.Type).Kind() == reflect.Struct) {
		return "", true
	}
	if name == "" {
		name = f.Name
	}
	return name, false
}

// named finds a field by its JSON name, in embedded structs too.
func named(typ reflect.Type, name string) ([]int, reflect.Type) {
	if typ.Kind() != reflect.Struct {
		return nil, nil
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		n, inline := jsonName(f)
		if inline {
			if t := element(f.Type); t.Kind() == reflect.Struct {
				if fields, ft := named(t, name); fields != nil {
					return append([]int{i}, fields...), ft
				}
			}
			continue
		}
		if n != "" && n == name {
			return []int{i}, f.Type
		}
	}
	return nil, nil
}

func jsonNames(typ reflect.Type) []string {
	var res []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		n, inline := jsonName(f)
		switch {
		case inline:
			if t := element(f.Type); t.Kind() == reflect.Struct {
				res = append(res, jsonNames(t)...)
			}
		case n != "":
			res = append(res, n)
		}
	}
	return res
}

// below returns what of the names is to be dropped inside of a field, and
// whether all of it is.
func below(drop []string, f reflect.StructField) (inner []string, gone bool) {
	name, inline := jsonName(f)
	if inline {
		for _, d := range drop {
			first, _, _ := strings.Cut(d, ".")
			if fields, _ := named(element(f.Type), first); fields != nil {
				inner = append(inner, d)
			}
		}
		return inner, false
	}
	for _, d := range drop {
		first, more, nested := strings.Cut(d, ".")
		if first != name || name == "" {
			continue
		}
		if !nested {
			return nil, true
		}
		inner = append(inner, more)
	}
	return inner, false
}

// clear zeroes the field in a decoded object.
func (p path) clear(v reflect.Value) { clearField(v, p.fields) }

func clearField(v reflect.Value, fields []int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			clearField(v.Elem(), fields)
		}
		return
	case reflect.Slice:
		for i := range v.Len() {
			clearField(v.Index(i), fields)
		}
		return
	}
	f := v.Field(fields[0])
	if len(fields) == 1 {
		f.SetZero()
		return
	}
	clearField(f, fields[1:])
}

// nearestOf returns the name that takes the fewest edits, if these are fewer
// than half of its letters.
func nearestOf(name string, all []string) string {
	best, distance := "", 0
	for _, n := range all {
		d := edits(strings.ToLower(name), strings.ToLower(n))
		if 2*d < max(len(n), len(name)) && (best == "" || d < distance) {
			best, distance = n, d
		}
	}
	return best
}

// edits is the Levenshtein distance.
func edits(a, b string) int {
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
