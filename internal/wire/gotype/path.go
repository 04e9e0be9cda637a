package gotype

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

// DropsOf returns the set of the fields with these paths in a struct type. It returns a
// *PathError for a path without a field, and a *TooLargeError for a type without a plan.
// In unstructured objects every path has a field.
func DropsOf(root reflect.Type, paths []string) (*Drops, error) {
	drops, err := NewDrops(paths)
	if err != nil || drops == nil || root == reflect.TypeFor[unstructured.Unstructured]() {
		return drops, err
	}
	t, err := Of(root)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if err := check(t, path); err != nil {
			return nil, err
		}
	}
	return drops, nil
}

// check returns a *PathError if a struct type has no field with this path. A path
// cannot lead into a type that decodes itself.
func check(root *Type, path string) error {
	at, t := "", root
	for name := range strings.SplitSeq(path, ".") {
		t = element(t)
		var list []Member
		if t.Kind == reflect.Struct && !t.DecodesItself {
			list = t.Members()
		}
		i := slices.IndexFunc(list, func(m Member) bool { return m.Name == name })
		if i < 0 {
			err := &PathError{Type: root.Go, Path: path, At: at, Missing: name, Nearest: at}
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
func element(t *Type) *Type {
	for seen := map[*Type]bool{}; !seen[t] && t.Elem != nil && t.Kind != reflect.Array && !t.DecodesItself; t = t.Elem {
		seen[t] = true
	}
	return t
}

// nearest returns the name in list with the fewest edits to name, ignoring case.
func nearest(list []Member, name string) string {
	best, least := "", 0
	for _, m := range list {
		d := distance(strings.ToLower(m.Name), strings.ToLower(name))
		if best == "" || d < least {
			best, least = m.Name, d
		}
	}
	return best
}

// distance returns the Levenshtein distance of two texts, in bytes: how many insertions,
// deletions and substitutions turn one into the other. Its cost is the product of their
// lengths.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
