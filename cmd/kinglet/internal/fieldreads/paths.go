package fieldreads

import (
	"cmp"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

// all returns the kinds.
func (r *reads) all() []Kind {
	var kinds []Kind
	for obj := range r.kinds {
		t := obj.Type().(*types.Named)
		paths := r.paths(t, "", false, nil)
		paths = slices.DeleteFunc(paths, gotype.Always)
		if len(paths) == 0 && len(r.escapes[obj]) == 0 {
			continue
		}
		slices.Sort(paths)
		kinds = append(kinds, Kind{Package: obj.Pkg().Path(), Name: obj.Name(), Paths: slices.Compact(paths), Escapes: r.escapes[obj]})
	}
	slices.SortFunc(kinds, func(a, b Kind) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Name, b.Name))
	})
	return kinds
}

// paths returns what is read of a type, below a path; of every field if all. above are the
// types on the way.
func (r *reads) paths(t *types.Named, below string, all bool, above []*types.Named) (found []string) {
	// An object may also be a part of another, of which nothing is always kept.
	part := below != "" && below != "metadata" && r.identified
	object, metadata := isObject(t), len(above) > 0 && isObject(above[len(above)-1]) && t.Obj().Name() == "ObjectMeta"
	above = append(slices.Clip(above), t.Origin())
	for f, tag := range fieldsOf(structOf(t)) {
		read, selected := r.fields[f.Origin()]
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		inside := named(f.Type())
		isStruct := inside != nil && structOf(inside) != nil
		inline := name == "" && f.Embedded() && isStruct
		selected = selected || object && (f.Name() == "ObjectMeta" || inline && isObject(inside)) && (part || len(r.getters) > 0) ||
			metadata && (r.getters[f.Name()] || part && gotype.Always("metadata."+name))
		if !selected && !all || name == "-" || !f.Exported() && !inline {
			continue
		}
		path := below
		if !inline {
			path = join(below, cmp.Or(name, f.Name()))
		}
		// Without fields that can be told apart, the value is read as a whole, even if one of
		// its fields is what is selected: those of an anonymous struct, of a type parameter, of
		// a type that makes its JSON itself, or that is inside itself. If values of its type
		// are passed on, one that is more than on the way to a field may be among them.
		var more []string
		if isStruct && !decodes(inside) && !slices.Contains(above, inside.Origin()) && !(read && len(r.escapes[inside.Origin().Obj()]) > 0) && !(all && !inline) {
			more = r.paths(inside, path, all, above)
		}
		switch {
		case len(more) > 0:
		case !inline:
			more = []string{path}
		case below != "":
			return []string{below} // what embeds it has no other name for all of it
		case !all && inside.Obj().Name() != "TypeMeta":
			more = r.paths(inside, path, true, above)
		}
		found = append(found, more...)
	}
	return found
}

func join(below, name string) string { return strings.TrimPrefix(below+"."+name, ".") }

// named returns the named struct or interface that t is, or that it refers to by pointers,
// slices, arrays, maps and channels; nil if there is none.
func named(t types.Type) *types.Named {
	n, _ := element(t).(*types.Named)
	return n
}

// element returns the type to which t refers, itself if it is a struct or an interface.
func element(t types.Type) types.Type {
	for t != nil {
		switch u := types.Unalias(t).(type) {
		case *types.Named:
			if _, is := u.Underlying().(*types.Struct); is || types.IsInterface(u) {
				return u
			}
			t = u.Underlying()
		case interface{ Elem() types.Type }:
			t = u.Elem()
		default:
			return u
		}
	}
	return nil
}

// structOf returns the struct that t is or points to; nil if it is none.
func structOf(t types.Type) *types.Struct {
	if p, ok := types.Unalias(t).Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	s, _ := types.Unalias(t).Underlying().(*types.Struct)
	return s
}

func pointer(t types.Type) bool {
	_, is := types.Unalias(t).Underlying().(*types.Pointer)
	return is
}

// fieldsOf returns the fields of a struct with their tags.
func fieldsOf(s *types.Struct) func(func(*types.Var, string) bool) {
	return func(yield func(*types.Var, string) bool) {
		for i := 0; s != nil && i < s.NumFields() && yield(s.Field(i), s.Tag(i)); i++ {
		}
	}
}

// isObject reports whether a type is one of whole Kubernetes objects.
func isObject(t *types.Named) bool {
	embeds := func(name string) bool {
		f, _, _ := types.LookupFieldOrMethod(t, true, t.Obj().Pkg(), name)
		v, is := f.(*types.Var)
		return is && v.Embedded()
	}
	return structOf(t) != nil && embeds("TypeMeta") && embeds("ObjectMeta")
}

// decodes reports whether a type has a form of its own in JSON, without the names of fields.
func decodes(t *types.Named) bool {
	return slices.ContainsFunc([]string{"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}, func(name string) bool {
		method, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name)
		_, is := method.(*types.Func)
		return is
	})
}
