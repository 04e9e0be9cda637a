// Package fieldreads finds which fields of Kubernetes objects a program reads, from its
// source.
//
// It looks at types and not at values: a field counts as read if any expression of the
// program selects it, of whatever object, and does not only assign to it, or to a part of it.
// It is a path of each kind from which the program selects the fields on the way. What other
// packages read of what they are given is not known: an object's part that is passed to them
// counts as read as a whole, and for an object itself the place is reported. Values that are
// kept as interfaces are not followed.
package fieldreads

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

// Kind is a kind of objects of which fields are read.
type Kind struct {
	// Package and Name are the Go type's.
	Package, Name string
	// Paths are what is read, as source.Options.Keep takes it, without what is always kept.
	Paths []string
	// Escapes are the places where whole objects are passed to functions of other modules.
	Escapes []Escape
}

// Escape is a place where a whole object is passed on.
type Escape struct {
	Position token.Position
	To       string
}

// Options of Of.
type Options struct {
	// Dir is where patterns begin; the working directory if empty.
	Dir string
	// Patterns are packages, as the go command takes them.
	Patterns []string
}

// Of returns the kinds of which the packages read fields, by package and name.
func Of(ctx context.Context, opts Options) ([]Kind, error) {
	fset := token.NewFileSet()
	loaded, err := packages.Load(&packages.Config{
		Context: ctx, Dir: opts.Dir, Fset: fset,
		Mode: packages.NeedName | packages.NeedModule | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
	}, opts.Patterns...)
	if err != nil {
		return nil, fmt.Errorf("packages cannot be loaded: %w", err)
	}
	var errs []error
	for _, p := range loaded {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if len(loaded) == 0 {
		return nil, fmt.Errorf("no packages match %s", strings.Join(opts.Patterns, " "))
	}
	r := &reads{fset: fset, own: map[*types.Package]bool{}, fields: map[*types.Var]bool{}, escapes: map[*types.TypeName][]Escape{}, kinds: map[*types.TypeName]bool{}}
	for _, p := range loaded {
		r.own[p.Types] = true
	}
	for _, p := range loaded {
		r.info = p.TypesInfo
		for _, file := range p.Syntax {
			r.file(file)
		}
	}
	return r.all(), nil
}

// reads are what is found in a program.
type reads struct {
	fset *token.FileSet
	info *types.Info
	// own are the packages that are looked at.
	own map[*types.Package]bool
	// fields are those that are selected; true for those that are read themselves, and not
	// only passed on the way to another, or written to. Ones of generic types are those of
	// their origin.
	fields map[*types.Var]bool
	// escapes are the types of which values are passed on, and where.
	escapes map[*types.TypeName][]Escape
	// kinds are types of whole objects that occur.
	kinds map[*types.TypeName]bool
}

func (r *reads) file(file *ast.File) {
	// A selector that is assigned to does not count, nor do those on the way to it. Those on
	// the way to others count as that.
	written, way := map[ast.Expr]bool{}, map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if copies[n.Name.Name] {
				return false
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if n.Tok == token.ASSIGN {
					written[base(left)] = true
				}
			}
		case *ast.SelectorExpr:
			s := r.info.Selections[n]
			switch {
			case s == nil:
			case written[n]:
				written[base(n.X)] = true
			default:
				way[base(n.X)] = s.Kind() == types.FieldVal
				r.selected(n, s, !way[n])
			}
		case *ast.CallExpr:
			r.call(n)
		case *ast.BinaryExpr:
			if structOf(r.info.TypeOf(n.X)) != nil && !pointer(r.info.TypeOf(n.X)) {
				r.escape(n.X, n.Op.String())
			}
		}
		if e, ok := n.(ast.Expr); ok {
			if t := named(r.info.TypeOf(e)); t != nil && isObject(t) {
				r.kinds[t.Obj()] = true
			}
		}
		return true
	})
}

// base returns the expression of which e is an element, or to which it leads.
func base(e ast.Expr) ast.Expr {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return e
		}
	}
}

// selected counts the fields of a selector, of which the last is read or not. A method of
// metadata counts as its field.
func (r *reads) selected(e *ast.SelectorExpr, s *types.Selection, read bool) {
	t := s.Recv()
	path := s.Index()
	for i, index := range path {
		last := i == len(path)-1
		st := structOf(t)
		if st == nil || last && s.Kind() != types.FieldVal {
			break
		}
		f := st.Field(index)
		r.fields[f.Origin()] = r.fields[f.Origin()] || last && read
		t = f.Type()
	}
	if s.Kind() == types.FieldVal {
		return
	}
	// GetAnnotations and the like, through an embedded ObjectMeta or of it.
	if field, ok := strings.CutPrefix(s.Obj().Name(), "Get"); ok && named(t) != nil && named(t).Obj().Name() == "ObjectMeta" {
		for f := range fieldsOf(structOf(t)) {
			if f.Name() == field {
				r.fields[f.Origin()] = true
			}
		}
		return
	}
	if r.foreign(s.Obj()) && !copies[s.Obj().Name()] {
		r.escape(e.X, nameOf(s.Obj()))
	}
}

// copies are methods that read everything, and of which only the result is read.
var copies = map[string]bool{
	"DeepCopy": true, "DeepCopyInto": true, "DeepCopyObject": true,
	"GetObjectKind": true, "GetObjectMeta": true, "GroupVersionKind": true, "SetGroupVersionKind": true,
}

// foreign reports whether the code of a function is not looked at.
func (r *reads) foreign(f types.Object) bool {
	// Methods of interfaces may be anybody's.
	if fn, ok := f.(*types.Func); ok {
		if recv := fn.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			return true
		}
	}
	return f.Pkg() != nil && !r.own[f.Pkg()]
}

// call looks for parts of objects among the arguments of a call of a foreign function.
func (r *reads) call(e *ast.CallExpr) {
	if r.info.Types[e.Fun].IsType() {
		return // a conversion
	}
	fun := ast.Unparen(e.Fun)
	if x, ok := fun.(*ast.IndexExpr); ok {
		fun = x.X
	} else if x, ok := fun.(*ast.IndexListExpr); ok {
		fun = x.X
	}
	var id *ast.Ident
	switch fun := fun.(type) {
	case *ast.Ident:
		id = fun
	case *ast.SelectorExpr:
		id = fun.Sel
	}
	var callee types.Object
	if id != nil {
		callee = r.info.Uses[id]
	}
	f, ok := callee.(*types.Func)
	if !ok || copies[f.Name()] || identity[unqualified(f)] {
		return // a variable's functions are the program's, or were passed to others
	}
	signature, _ := r.info.TypeOf(e.Fun).(*types.Signature)
	for i, arg := range e.Args {
		if t := parameter(signature, i); t != nil && (r.foreign(f) || types.IsInterface(t)) && !metadataOnly(t) {
			r.escape(arg, nameOf(f))
		}
	}
}

// identity are functions that read nothing of an object but what is always kept, or only
// write to it.
var identity = map[string]bool{
	"client.Reader.Get": true, "client.Reader.List": true, "client.ObjectKeyFromObject": true,
	"controllerutil.AddFinalizer": true, "controllerutil.ContainsFinalizer": true, "controllerutil.RemoveFinalizer": true,
	"controllerutil.SetControllerReference": true, "controllerutil.SetOwnerReference": true, "controllerutil.HasControllerReference": true,
	"internal.EventRecorder.Eventf": true, "events.EventRecorder.Eventf": true, "record.EventRecorder.Event": true, "record.EventRecorder.Eventf": true,
}

// unqualified returns the name of a function with that of its package and of its receiver.
func unqualified(f *types.Func) string {
	name := f.Name()
	if recv := f.Signature().Recv(); recv != nil {
		if t := named(recv.Type()); t != nil {
			name = t.Obj().Name() + "." + name
		}
	}
	if f.Pkg() != nil {
		name = f.Pkg().Name() + "." + name
	}
	return name
}

func nameOf(f types.Object) string {
	if fn, ok := f.(*types.Func); ok {
		return fn.FullName()
	}
	return f.Name()
}

// parameter returns the type of an argument's parameter.
func parameter(s *types.Signature, i int) types.Type {
	if s == nil || s.Params().Len() == 0 {
		return nil
	}
	last := s.Params().Len() - 1
	t := s.Params().At(min(i, last)).Type()
	if slice, ok := t.(*types.Slice); ok && s.Variadic() && i >= last {
		t = slice.Elem()
	}
	return t
}

// metadataOnly reports whether a parameter is an interface through which only metadata can
// be read, if the function does not look for more behind it.
func metadataOnly(t types.Type) bool {
	n := named(t)
	if n == nil || n.Obj().Pkg() == nil {
		return false
	}
	switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Object", "k8s.io/klog/v2.KMetadata":
		return true
	}
	return false
}

// escape counts a value of which everything may be read. A new one has no fields yet.
func (r *reads) escape(e ast.Expr, to string) {
	if u, ok := e.(*ast.UnaryExpr); ok {
		e = u.X
	}
	if _, is := e.(*ast.CompositeLit); is {
		return
	}
	if t := named(r.info.TypeOf(e)); t != nil && structOf(t) != nil {
		obj := t.Origin().Obj()
		r.escapes[obj] = append(r.escapes[obj], Escape{Position: r.fset.Position(e.Pos()), To: to})
	}
}

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
	above = append(slices.Clip(above), t.Origin())
	for f, tag := range fieldsOf(structOf(t)) {
		read, selected := r.fields[f.Origin()]
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		inside := named(f.Type())
		isStruct := inside != nil && structOf(inside) != nil
		inline := name == "" && f.Embedded() && isStruct
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
	typeMeta, objectMeta := false, false
	for f := range fieldsOf(structOf(t)) {
		if n := named(f.Type()); f.Embedded() && n != nil {
			typeMeta = typeMeta || n.Obj().Name() == "TypeMeta"
			objectMeta = objectMeta || n.Obj().Name() == "ObjectMeta"
		}
	}
	return typeMeta && objectMeta
}

// decodes reports whether a type has a form of its own in JSON, without the names of fields.
func decodes(t *types.Named) bool {
	return slices.ContainsFunc([]string{"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}, func(name string) bool {
		method, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name)
		_, is := method.(*types.Func)
		return is
	})
}
