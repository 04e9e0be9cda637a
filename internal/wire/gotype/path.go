package gotype

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// verb is what was asked for, "keep" or "drop"; reason replaces what is said of
	// Missing.
	verb, reason string
}

func (e *PathError) Error() string {
	if e.Type == nil {
		return fmt.Sprintf("cannot %s %q: %s", e.verb, e.Path, e.Reason())
	}
	return fmt.Sprintf("cannot %s %q of %v: %s", e.verb, e.Path, e.Type, e.Reason())
}

// Reason returns what is wrong with the path, for other uses of its field.
func (e *PathError) Reason() string {
	switch {
	case e.reason != "":
		return e.reason
	case e.Type == nil:
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

// DropsOf returns the fields of a struct type that decoders leave out: those with the
// paths in drop and, if there are any in keep, all that neither keep nor an object's
// identity has. It returns a *PathError for a path without a field, or of what cannot be
// dropped, and a *TooLargeError for a type without a plan. In unstructured objects every
// path has a field.
func DropsOf(root reflect.Type, keep, drop []string) (*Drops, error) {
	if len(keep)+len(drop) == 0 {
		return nil, nil
	}
	var t *Type
	marks := true
	if root != reflect.TypeFor[unstructured.Unstructured]() {
		var err error
		if t, err = Of(root); err != nil {
			return nil, err
		}
		marks = slices.ContainsFunc(t.Members(), func(m Member) bool { return m.Name == "metadata" && !m.Odd && m.Type.Go == objectMeta })
	}
	if err := cmp.Or(checkAll(t, "keep", keep), checkAll(t, "drop", drop)); err != nil {
		return nil, err
	}
	if marks {
		if err := refuseAlways(root, drop); err != nil {
			return nil, err
		}
	}
	d := tree(drop, false)
	if len(keep) > 0 {
		if !marks {
			return nil, &PathError{Type: root, Path: keep[0], verb: "keep", reason: "its metadata is no metav1.ObjectMeta"}
		}
		d = d.and(tree(slices.Concat(always, keep), true))
	}
	whole := len(keep) == 0 && !slices.ContainsFunc(drop, func(p string) bool { return !within(p, managedFields) })
	if marks && !whole {
		d = d.marked()
	}
	return d, nil
}

var objectMeta = reflect.TypeFor[metav1.ObjectMeta]()

// checkAll returns a *PathError for the first path without a field in t, or with an empty
// name in it. A nil t has all fields.
func checkAll(t *Type, verb string, paths []string) error {
	for _, p := range paths {
		if slices.Contains(strings.Split(p, "."), "") {
			return &PathError{Path: p, verb: verb}
		}
		if t == nil {
			continue
		}
		if err := check(t, p); err != nil {
			err.verb = verb
			return err
		}
	}
	return nil
}

// check returns a *PathError if a struct type has no field with this path. A path
// cannot lead into a type that decodes itself.
func check(root *Type, path string) *PathError {
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
