package mutation

import (
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// step is one step into a value.
type step struct {
	kind stepKind
	typ  reflect.Type  // of what is stepped into
	i    int           // of a field or an element
	key  reflect.Value // of an entry
}

type stepKind uint8

const (
	intoField   stepKind = iota // of a struct
	intoElement                 // of a slice or an array
	intoEntry                   // of a map
	intoPointer
	intoInterface
)

// render formats a path by the API conventions. The root is ".".
func render(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		name := ""
		switch s.kind {
		case intoField:
			name = fieldName(s.typ, s.i)
		case intoElement:
			b.WriteString("[" + strconv.Itoa(s.i) + "]")
		case intoEntry:
			key := text(s.key)
			// In an object without a Go type maps stand for structs.
			if s.typ.Elem().Kind() == reflect.Interface && plain(key) {
				name = key
			} else {
				b.WriteString("[" + key + "]")
			}
		}
		if name != "" {
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(name)
		}
	}
	if b.Len() == 0 {
		return "."
	}
	return b.String()
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

func plain(name string) bool {
	for _, c := range name {
		if c != '-' && c != '_' && !('0' <= c && c <= '9') && !('a' <= c && c <= 'z') && !('A' <= c && c <= 'Z') {
			return false
		}
	}
	return name != ""
}

// text returns a map's key as it is written in a path.
func text(key reflect.Value) string {
	for key.Kind() == reflect.Interface && !key.IsNil() {
		key = key.Elem()
	}
	switch {
	case key.Kind() == reflect.String:
		return cut(key.String())
	case key.CanInt():
		return strconv.FormatInt(key.Int(), 10)
	case key.CanUint():
		return strconv.FormatUint(key.Uint(), 10)
	}
	return key.Type().String()
}

// cut bounds the length of a displayed text.
func cut(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
