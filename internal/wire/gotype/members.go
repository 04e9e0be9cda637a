package gotype

import (
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// Member is one field of a struct as encoding/json sees it.
type Member struct {
	Name   string
	Type   *Type
	Offset uintptr
	// Index is as in reflect.StructField.
	Index []int
	// Odd reports that the field is reached through an embedded pointer, or
	// marked ",string".
	Odd bool

	tagged bool
}

// Members returns the fields of a struct that encoding/json decodes, in the order of
// their offsets. They include fields of embedded structs, unless Go's rules hide these: a
// shallower field of the same name wins, then one with a tag.
func (t *Type) Members() []Member {
	t.resolve.Do(t.resolveMembers)
	return t.members
}

// ForgetsState reports that a struct may have hidden state in a field that encoding/json
// does not decode.
func (t *Type) ForgetsState() bool {
	t.resolve.Do(t.resolveMembers)
	return t.forgets
}

// promoted is an embedded struct whose fields are promoted.
type promoted struct {
	*Type
	offset uintptr
	index  []int
	odd    bool
}

func (t *Type) resolveMembers() {
	byName := map[string][]Member{}
	level := []promoted{{Type: t}}
	visited := map[*Type]bool{}
	for len(level) > 0 {
		var next []promoted
		times := map[*Type]int{}
		for _, e := range level {
			times[e.Type]++
		}
		for _, e := range level {
			if visited[e.Type] {
				t.forgets = t.forgets || e.HoldsState && !e.odd
				continue
			}
			visited[e.Type] = true
			for i := range e.Fields {
				f := &e.Fields[i]
				name, tagged, ok := f.jsonName()
				at := promoted{f.Type, e.offset + f.Offset, append(slices.Clone(e.index), i), e.odd}
				switch {
				case !ok:
					t.forgets = t.forgets || f.HoldsState() && !slices.Contains(stateless, e.Go)
				case name == "" && f.Type.Kind == reflect.Pointer:
					at.Type, at.odd = f.Type.Elem, true
					next = append(next, at)
				case name == "":
					next = append(next, at)
				default:
					m := Member{Name: name, tagged: tagged, Type: f.Type, Offset: at.offset, Index: at.index, Odd: e.odd || f.quoted()}
					byName[name] = append(byName[name], m)
					if times[e.Type] > 1 {
						// Embedded twice at one depth: it hides itself.
						byName[name] = append(byName[name], m)
					}
				}
			}
		}
		level = next
	}
	for _, same := range byName {
		m, ok := dominant(same)
		if ok {
			t.members = append(t.members, m)
			same = same[1:]
		}
		for _, hidden := range same {
			t.forgets = t.forgets || hidden.Type.HoldsState
		}
	}
	slices.SortFunc(t.members, func(a, b Member) int { return slices.Compare(a.Index, b.Index) })
}

// jsonName returns a field's name, and whether its tag gives it. An embedded struct
// whose fields are promoted has no name. ok is false for a field that is not decoded.
func (f *Field) jsonName() (name string, tagged, ok bool) {
	tag := f.Tag.Get("json")
	promotes := f.promotes && (f.Type.Kind != reflect.Pointer || f.Type.Go.Name() == "")
	if tag == "-" || !f.Exported && !promotes {
		return "", false, false
	}
	name, _, _ = strings.Cut(tag, ",")
	switch {
	case validName(name):
		return name, true, true
	case promotes:
		return "", false, true
	}
	return f.Name, false, true
}

// dominant sorts the fields of one name, and returns the first, unless the second hides
// it.
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

// quoted reports that the field's value is in a string.
func (f *Field) quoted() bool {
	if !slices.Contains(strings.Split(f.Tag.Get("json"), ",")[1:], "string") {
		return false
	}
	direct := f.Type.Go
	if direct.Name() == "" && direct.Kind() == reflect.Pointer {
		direct = direct.Elem()
	}
	kind := direct.Kind()
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
