package untyped

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// PathError is a path that names nothing.
type PathError struct{ Path string }

func (e *PathError) Error() string {
	return fmt.Sprintf("field to drop: %q has an empty name in it", e.Path)
}

// node is a place in an object that something is dropped beneath.
type node struct {
	// unit is of what is decoded here: like no other place's, unless the same
	// is dropped there.
	unit share.Unit
	kids []kid // by name
}

type kid struct {
	name string
	// node is what is dropped inside, nil if all of it is.
	node *node
}

// parse makes a tree of paths, nil if there are none.
func parse(paths []string) (*node, error) {
	for _, p := range paths {
		if slices.Contains(strings.Split(p, "."), "") {
			return nil, &PathError{Path: p}
		}
	}
	return tree(paths), nil
}

func tree(paths []string) *node {
	if len(paths) == 0 {
		return nil
	}
	inside := map[string][]string{}
	whole := map[string]bool{}
	for _, p := range paths {
		name, rest, more := strings.Cut(p, ".")
		if !more {
			whole[name] = true
		}
		inside[name] = append(inside[name], rest)
	}
	n := new(node)
	for name, rest := range inside {
		k := kid{name: name}
		if !whole[name] {
			k.node = tree(rest)
		}
		n.kids = append(n.kids, k)
	}
	slices.SortFunc(n.kids, func(a, b kid) int { return strings.Compare(a.name, b.name) })
	n.unit = unitOf(n)
	return n
}

func unitOf(n *node) share.Unit {
	return share.UnitOf(reflect.TypeFor[map[string]any](), share.Untyped, n.text())
}

// text is equal for nodes that drop the same. Names have no dots.
func (n *node) text() string {
	if n == nil {
		return ""
	}
	var b strings.Builder
	for _, k := range n.kids {
		b.WriteString(k.name)
		b.WriteByte('.')
		b.WriteString(k.node.text())
		b.WriteByte('.')
	}
	return b.String()
}

// kid returns what is dropped inside of a member, nil if nothing, or drop, if
// it is dropped itself.
func (n *node) kid(name string) (inside *node, drop bool) {
	if n == nil {
		return nil, false
	}
	for i := range n.kids {
		if n.kids[i].name == name {
			return n.kids[i].node, n.kids[i].node == nil
		}
	}
	return nil, false
}

// clear drops from what was decoded whole.
func (n *node) clear(v any) {
	if n == nil {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n.clear(e)
		}
	case map[string]any:
		for _, k := range n.kids {
			if k.node == nil {
				delete(v, k.name)
			} else {
				k.node.clear(v[k.name])
			}
		}
	}
}
