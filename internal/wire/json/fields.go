package json

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// member is one field of a struct as encoding/json sees it.
type member struct {
	name   string
	tagged bool
	index  []int
	offset uintptr
	typ    reflect.Type
	// odd: reached through an embedded pointer, or marked ",string"; plans
	// leave structs with such fields to the official decoder.
	odd bool
}

// members returns the fields that encoding/json decodes, in the order in which
// they stand in the struct: those of embedded structs as if they were its own,
// where a name that is deeper or as deep as another is hidden by Go's rules,
// and a tag wins over none.
func members(t reflect.Type) []member {
	byName := map[string][]member{}
	level := []member{{typ: t}}
	visited := map[reflect.Type]bool{}
	for len(level) > 0 {
		var next []member
		times := map[reflect.Type]int{}
		for _, m := range level {
			times[m.typ]++
		}
		for _, m := range level {
			if visited[m.typ] {
				continue
			}
			visited[m.typ] = true
			for i := range m.typ.NumField() {
				f, ok := fieldOf(m, i)
				if !ok {
					continue
				}
				if f.name == "" {
					next = append(next, f)
					continue
				}
				byName[f.name] = append(byName[f.name], f)
				if times[m.typ] > 1 {
					// Embedded twice at one depth: it hides itself.
					byName[f.name] = append(byName[f.name], f)
				}
			}
		}
		level = next
	}
	var out []member
	for _, same := range byName {
		if m, ok := dominant(same); ok {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b member) int { return slices.Compare(a.index, b.index) })
	return out
}

// fieldOf returns the i-th field of the struct m, which may be embedded; a
// struct to be embedded itself has no name. ok is false if it is not decoded.
func fieldOf(m member, i int) (f member, ok bool) {
	sf := m.typ.Field(i)
	direct := sf.Type
	if direct.Name() == "" && direct.Kind() == reflect.Pointer {
		direct = direct.Elem()
	}
	if !sf.IsExported() && (!sf.Anonymous || direct.Kind() != reflect.Struct) {
		return f, false
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return f, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validName(name) {
		name = ""
	}
	f = member{
		name: name, tagged: name != "", typ: sf.Type,
		index:  append(slices.Clone(m.index), i),
		offset: m.offset + sf.Offset,
		odd:    m.odd || quoted(options, direct.Kind()),
	}
	if name == "" && sf.Anonymous && direct.Kind() == reflect.Struct {
		f.odd = f.odd || sf.Type.Kind() == reflect.Pointer
		f.typ = direct
		return f, true
	}
	if name == "" {
		f.name = sf.Name
	}
	return f, true
}

func dominant(same []member) (member, bool) {
	slices.SortStableFunc(same, func(a, b member) int {
		if d := len(a.index) - len(b.index); d != 0 {
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
	if len(same) > 1 && len(same[0].index) == len(same[1].index) && same[0].tagged == same[1].tagged {
		return member{}, false
	}
	return same[0], true
}

func quoted(options string, kind reflect.Kind) bool {
	if !slices.Contains(strings.Split(options, ","), "string") {
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
