package fields

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/editdistance"
)

// PathError reports a path without a field.
type PathError struct {
	// Type is nil for unstructured objects, which have any field.
	Type reflect.Type
	Path string
	// At is the part of the path that exists, and Missing the next name, which does
	// not.
	At, Missing string
	// Nearest is the path of the field whose name is most similar to Missing. It is
	// empty if there is no field at all.
	Nearest string
}

func (e *PathError) Error() string {
	if e.Type == nil {
		return fmt.Sprintf("cannot drop %q: %s", e.Path, e.Reason())
	}
	return fmt.Sprintf("cannot drop %q from %v: %s", e.Path, e.Type, e.Reason())
}

// Reason returns what is wrong with the path, for uses other than dropping its field.
func (e *PathError) Reason() string {
	if e.Type == nil {
		return "it has an empty name in it"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "no field %q", e.Missing)
	if e.At != "" {
		fmt.Fprintf(&b, " in %q", e.At)
	}
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; the nearest is %q", e.Nearest)
	}
	return b.String()
}

// DecodesItself reports that a type has a decoder of its own for JSON.
func DecodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// DropsOf returns the set of the fields with these paths in a struct type. It
// returns a *PathError for a path without a field. In unstructured objects every
// path has one.
func DropsOf(root reflect.Type, paths []string) (*Drops, error) {
	drops, err := NewDrops(paths)
	if err != nil || root == reflect.TypeFor[unstructured.Unstructured]() {
		return drops, err
	}
	for _, path := range paths {
		if err := Check(root, path); err != nil {
			return nil, err
		}
	}
	return drops, nil
}

// Check returns a *PathError if a struct type has no field with this path. A path
// cannot lead into a type that decodes itself.
func Check(root reflect.Type, path string) error {
	at, t := "", root
	for name := range strings.SplitSeq(path, ".") {
		t = element(t)
		var list []Member
		if t.Kind() == reflect.Struct && !DecodesItself(t) {
			list = Members(t)
		}
		i := slices.IndexFunc(list, func(m Member) bool { return m.Name == name })
		if i < 0 {
			err := &PathError{Type: root, Path: path, At: at, Missing: name, Nearest: at}
			if near := nearest(list, name); near != "" {
				err.Nearest = join(at, near)
			}
			return err
		}
		at, t = join(at, name), list[i].Type
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// element returns the type that a path continues in, or any that it leads to if it
// leads back to itself.
func element(t reflect.Type) reflect.Type {
	for seen := map[reflect.Type]bool{}; !seen[t]; {
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			if DecodesItself(t) {
				return t
			}
			t = t.Elem()
		default:
			return t
		}
	}
	return t
}

// nearest returns the name in list with the fewest edits to name, ignoring case.
func nearest(list []Member, name string) string {
	best, least := "", 0
	for _, m := range list {
		d := editdistance.Between(strings.ToLower(m.Name), strings.ToLower(name))
		if best == "" || d < least {
			best, least = m.Name, d
		}
	}
	return best
}
