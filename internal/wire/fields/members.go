package fields

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// MaxParts is how many types and fields a plan may have, a dozen times those of a Pod. A
// type that leads to more is left to the official decoder.
const MaxParts = 16 << 10

// Member is one field of a struct as encoding/json sees it.
type Member struct {
	Name   string
	Type   reflect.Type
	Offset uintptr
	// Index is as in reflect.StructField.
	Index []int
	// Odd reports that the field is reached through an embedded pointer, or
	// marked ",string".
	Odd bool

	tagged bool
}

// Members returns the fields of a struct type that encoding/json decodes, in the
// order of their offsets. They include fields of embedded structs, unless Go's rules
// hide these: a shallower field of the same name wins, then one with a tag.
func Members(t reflect.Type) []Member {
	byName := map[string][]Member{}
	level := []Member{{Type: t}}
	visited := map[reflect.Type]bool{}
	for len(level) > 0 {
		var next []Member
		times := map[reflect.Type]int{}
		for _, m := range level {
			times[m.Type]++
		}
		for _, m := range level {
			if visited[m.Type] {
				continue
			}
			visited[m.Type] = true
			for i := range m.Type.NumField() {
				f, ok := fieldOf(m, i)
				if !ok {
					continue
				}
				if f.Name == "" {
					next = append(next, f)
					continue
				}
				byName[f.Name] = append(byName[f.Name], f)
				if times[m.Type] > 1 {
					// Embedded twice at one depth: it hides itself.
					byName[f.Name] = append(byName[f.Name], f)
				}
			}
		}
		level = next
	}
	var out []Member
	for _, same := range byName {
		if m, ok := dominant(same); ok {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Member) int { return slices.Compare(a.Index, b.Index) })
	return out
}

// fieldOf returns the i-th field of the struct m, which may be embedded itself.
// An embedded struct has no name. ok is false for a field that is not decoded.
func fieldOf(m Member, i int) (f Member, ok bool) {
	sf := m.Type.Field(i)
	name, tagged, direct, ok := nameOf(sf)
	f = Member{
		Name: name, tagged: tagged, Type: sf.Type,
		Index:  append(slices.Clone(m.Index), i),
		Offset: m.Offset + sf.Offset,
		Odd:    m.Odd || quoted(sf, direct.Kind()),
	}
	if name == "" {
		f.Odd = f.Odd || sf.Type.Kind() == reflect.Pointer
		f.Type = direct
	}
	return f, ok
}

// nameOf returns a field's name, and whether its tag gives it. An embedded struct
// whose fields are promoted has no name. direct is the field's type, or the type that
// it points to.
func nameOf(sf reflect.StructField) (name string, tagged bool, direct reflect.Type, ok bool) {
	direct = sf.Type
	if direct.Name() == "" && direct.Kind() == reflect.Pointer {
		direct = direct.Elem()
	}
	tag := sf.Tag.Get("json")
	if tag == "-" || !sf.IsExported() && (!sf.Anonymous || direct.Kind() != reflect.Struct) {
		return "", false, direct, false
	}
	name, _, _ = strings.Cut(tag, ",")
	switch {
	case validName(name):
		return name, true, direct, true
	case sf.Anonymous && direct.Kind() == reflect.Struct:
		return "", false, direct, true
	}
	return sf.Name, false, direct, true
}

func dominant(same []Member) (Member, bool) {
	slices.SortStableFunc(same, func(a, b Member) int {
		if d := len(a.Index) - len(b.Index); d != 0 {
			return d
		}
		switch {
		case a.tagged == b.tagged:
			return 0
		case a.tagged:
			return -1
		}
		return 1
	})
	if len(same) > 1 && len(same[0].Index) == len(same[1].Index) && same[0].tagged == same[1].tagged {
		return Member{}, false
	}
	return same[0], true
}

func quoted(sf reflect.StructField, kind reflect.Kind) bool {
	if !slices.Contains(strings.Split(sf.Tag.Get("json"), ",")[1:], "string") {
		return false
	}
	return kind == reflect.Bool || kind >= reflect.Int && kind <= reflect.Float64 || kind == reflect.String
}

func validName(s string) bool {
	for _, c := range s {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return s != ""
}
