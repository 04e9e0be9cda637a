// Package fieldreads finds which fields of Kubernetes objects a program reads, from its
// source.
//
// It looks at types and not at values: a field counts as read if any expression of the
// program selects it, of whatever object, and does not only assign to it, or to a part of it.
// It is a path of each kind from which the program selects the fields on the way. What other
// packages read of what they are given is not known: an object's part that is passed to them
// counts as read as a whole, and for an object itself the place is reported. The same holds
// where a value becomes an interface or one of a type parameter, which are not followed but
// for the methods of metadata, and where structs are compared or put into other objects.
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

// Found is what a program reads.
type Found struct {
	// Kinds are sorted by package and name.
	Kinds []Kind
	// Excluded are files that are not looked at, because of build constraints.
	Excluded []string
	// Unstructured are where packages begin to use unstructured objects, whose fields are not
	// followed.
	Unstructured []token.Position
}

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

// Of returns which fields the packages read, without their tests.
func Of(ctx context.Context, opts Options) (*Found, error) {
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
	r := &reads{
		fset: fset, own: map[*types.Package]bool{}, fields: map[*types.Var]bool{}, escapes: map[*types.TypeName][]Escape{},
		contained: map[types.Type][]*types.TypeName{}, kinds: map[*types.TypeName]bool{}, getters: map[string]bool{},
	}
	for _, p := range loaded {
		r.own[p.Types] = true
	}
	found := &Found{}
	for _, p := range loaded {
		r.info, r.unstructured = p.TypesInfo, nil
		for _, file := range p.Syntax {
			r.file(file)
		}
		if r.unstructured != nil {
			found.Unstructured = append(found.Unstructured, fset.Position(r.unstructured.Pos()))
		}
		for _, file := range p.IgnoredFiles {
			if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
				found.Excluded = append(found.Excluded, file)
			}
		}
	}
	found.Kinds = r.all()
	return found, nil
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
	// contained is the result of contents for types that it was called with.
	contained map[types.Type][]*types.TypeName
	// kinds are types of whole objects that occur.
	kinds map[*types.TypeName]bool
	// getters are the fields of metadata that are read through interfaces, so of any kind.
	getters map[string]bool
	// unstructured is the first such object in the package that is looked at.
	unstructured ast.Node
}

func (r *reads) file(file *ast.File) {
	// A selector that is assigned to does not count, nor do those on the way to it. Those on
	// the way to others count as that. Names of functions that are called are not values, nor
	// are parts of such names.
	written, way, called := map[ast.Expr]bool{}, map[ast.Expr]bool{}, map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if n.Recv != nil && copies[n.Name.Name] {
				return false
			}
			r.returns(n.Body, r.info.Defs[n.Name].Type())
		case *ast.FuncLit:
			r.returns(n.Body, r.info.TypeOf(n))
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if n.Tok == token.ASSIGN {
					written[base(left)] = true
				}
				if len(n.Lhs) == len(n.Rhs) {
					r.assign(left, n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for _, v := range n.Values {
				if n.Type != nil {
					r.into(r.info.TypeOf(n.Type), v, "")
				}
			}
		case *ast.SendStmt:
			if c, is := r.info.TypeOf(n.Chan).Underlying().(*types.Chan); is {
				r.into(c.Elem(), n.Value, "")
			}
		case *ast.CompositeLit:
			r.literal(n)
		case *ast.SelectorExpr:
			called[n.Sel] = true
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
			called[ast.Unparen(n.Fun)] = true
			r.call(n)
		case *ast.BinaryExpr:
			r.compared(n.X, n.Op.String())
			r.compared(n.Y, n.Op.String())
		case *ast.SwitchStmt:
			r.compared(n.Tag, "switch")
		case *ast.IndexExpr:
			called[n.X] = called[n]
			r.compared(n.Index, "a map")
		case *ast.IndexListExpr:
			called[n.X] = called[n]
		case *ast.Ident:
			// A predicate of controller-runtime, which compares what it is not given here.
			if strings.HasSuffix(n.Name, "AnnotationChangedPredicate") {
				r.getter("Annotations")
			}
			r.instance(n)
		}
		if e, ok := n.(ast.Expr); ok {
			switch t := named(r.info.TypeOf(e)); {
			case t == nil:
			case isObject(t):
				r.kinds[t.Obj()] = true
			case r.unstructured == nil && strings.HasPrefix(t.Obj().Name(), "Unstructured") && t.Obj().Pkg().Name() == "unstructured":
				r.unstructured = e
			}
			if !called[e] {
				r.function(e)
			}
		}
		return true
	})
}

// instance counts the types for which a function of the program makes values of a type
// parameter that it is not given.
func (r *reads) instance(id *ast.Ident) {
	f, is := r.info.Uses[id].(*types.Func)
	if !is || r.foreign(f) {
		return
	}
	signature := f.Origin().Signature()
	args := r.info.Instances[id].TypeArgs
	for i := range args.Len() {
		t := signature.TypeParams().At(i)
		given := metadataOnly(t)
		for p := range signature.Params().Variables() {
			given = given || element(p.Type()) == t
		}
		if !given {
			r.escapeType(args.At(i), Escape{Position: r.fset.Position(id.Pos()), To: "as " + t.String()})
		}
	}
}

// returns counts what a function returns as an interface.
func (r *reads) returns(body *ast.BlockStmt, function types.Type) {
	if body == nil {
		return
	}
	results := function.Underlying().(*types.Signature).Results()
	ast.Inspect(body, func(n ast.Node) bool {
		if ret, is := n.(*ast.ReturnStmt); is && len(ret.Results) == results.Len() {
			for i, e := range ret.Results {
				r.into(results.At(i).Type(), e, "")
			}
		}
		_, is := n.(*ast.FuncLit)
		return !is
	})
}

// assign counts what becomes an interface, or a part of another object, which may be written
// as a whole.
func (r *reads) assign(left, right ast.Expr) {
	r.into(r.info.TypeOf(left), right, "")
	if x, is := base(left).(*ast.SelectorExpr); is && x.Sel.IsExported() && r.info.Selections[x] != nil {
		r.escape(right, "")
	}
}

// literal is assign for the elements of a literal.
func (r *reads) literal(e *ast.CompositeLit) {
	t := r.info.TypeOf(e)
	s := structOf(t)
	for i, v := range e.Elts {
		kv, is := v.(*ast.KeyValueExpr)
		if is {
			v = kv.Value
		}
		switch {
		case s != nil:
			f := s.Field(min(i, s.NumFields()-1))
			if is {
				f = r.info.Uses[kv.Key.(*ast.Ident)].(*types.Var)
			}
			r.into(f.Origin().Type(), v, "")
			if f.Exported() {
				r.escape(v, "")
			}
		case is:
			r.compared(kv.Key, "a map")
			fallthrough
		default:
			if c, is := types.Unalias(t).Underlying().(interface{ Elem() types.Type }); is {
				r.into(c.Elem(), v, "")
			}
		}
	}
}

// into counts a value that becomes one of a type, if that is an interface behind which all of
// the value can be read, or a type parameter.
func (r *reads) into(t types.Type, e ast.Expr, to string) {
	inside := element(t)
	if inside == nil || !types.IsInterface(inside) {
		return
	}
	if n := named(r.info.TypeOf(e)); metadataOnly(inside) && (n == nil || isObject(n)) {
		return // its methods are called by what is looked at
	}
	r.escape(e, cmp.Or(to, "as "+inside.String()))
}

// compared counts a struct that is compared with others.
func (r *reads) compared(e ast.Expr, by string) {
	if e == nil || r.info.Types[e].IsType() {
		return
	}
	if t := r.info.TypeOf(e); t != nil && structOf(t) != nil && !pointer(t) {
		r.escape(e, by)
	}
}

// function counts the parameters of a function of others that is used as a value: what is
// called through variables is taken for the program's own, but for its interfaces.
func (r *reads) function(e ast.Expr) {
	t := r.info.TypeOf(e)
	if t == nil {
		return
	}
	signature, is := t.Underlying().(*types.Signature)
	if !is {
		return
	}
	of := e
	if call, is := e.(*ast.CallExpr); is {
		of = call.Fun
	}
	switch f := r.callee(of).(type) {
	case *types.Func, *types.Var:
		if fn, is := f.(*types.Func); !r.foreign(f) || is && identity[unqualified(fn)] {
			return
		}
		for p := range signature.Params().Variables() {
			r.escapeType(p.Type(), Escape{Position: r.fset.Position(e.Pos()), To: nameOf(f)})
		}
	}
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
	method, isMethod := s.Obj().(*types.Func)
	if isMethod && writes(method) {
		return
	}
	t := s.Recv()
	path := s.Index()
	for i, index := range path {
		last := i == len(path)-1
		st := structOf(t)
		if st == nil || last && isMethod {
			break
		}
		f := st.Field(index)
		// A promoted method of the program has all of the part that it is a method of.
		receiver := isMethod && i == len(path)-2 && !r.foreign(method)
		r.fields[f.Origin()] = r.fields[f.Origin()] || last && read || receiver
		t = f.Type()
	}
	if !isMethod {
		return
	}
	// GetAnnotations and the like, of metadata or of an interface that may be any kind's.
	if field, get := strings.CutPrefix(method.Name(), "Get"); get && types.IsInterface(t) {
		r.getter(field)
	} else if n := named(t); get && n != nil && n.Obj().Name() == "ObjectMeta" {
		for f := range fieldsOf(structOf(t)) {
			if f.Name() == field {
				r.fields[f.Origin()] = true
			}
		}
	} else if r.foreign(method) && !copies[method.Name()] {
		r.escape(e.X, nameOf(method))
	}
}

// getter counts a field of metadata as read of any kind.
func (r *reads) getter(field string) {
	if _, is := reflect.TypeFor[metav1.ObjectMeta]().FieldByName(field); is {
		r.getters[field] = true
	}
}

// writes reports whether a method of metadata reads nothing that is not always kept.
func writes(method *types.Func) bool {
	n := named(method.Signature().Recv().Type())
	return n != nil && n.Obj().Name() == "ObjectMeta" && (copies[method.Name()] || strings.HasPrefix(method.Name(), "Set"))
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

// call looks for parts of objects among the arguments of a call of a foreign function, or of
// one that may do what it likes with an interface.
func (r *reads) call(e *ast.CallExpr) {
	if t := r.info.Types[e.Fun]; t.IsType() { // a conversion
		if types.IsInterface(t.Type) {
			r.into(t.Type, e.Args[0], "")
		} else {
			r.escape(e.Args[0], "as "+t.Type.String())
		}
		return
	}
	to := types.ExprString(e.Fun)
	signature, _ := r.info.TypeOf(e.Fun).Underlying().(*types.Signature)
	origin := signature
	f, _ := r.callee(e.Fun).(*types.Func)
	foreign, known := false, false
	if f != nil {
		if f.Signature().Recv() != nil && copies[f.Name()] {
			return
		}
		to, foreign, known = nameOf(f), r.foreign(f), identity[unqualified(f)]
		if f.Signature().Params().Len() == signature.Params().Len() { // no method expression
			origin = f.Origin().Signature()
		}
	}
	for i, arg := range e.Args {
		t := parameter(origin, i)
		switch {
		case t == nil, known && !types.Identical(t, types.Universe.Lookup("any").Type()):
		case foreign && metadataOnly(t) && types.IsInterface(r.info.TypeOf(arg)):
			r.getter("Annotations")
			r.getter("CreationTimestamp")
		case foreign:
			r.escape(arg, to)
		default:
			r.into(t, arg, to)
		}
	}
}

// callee returns what an expression names, if it is called.
func (r *reads) callee(e ast.Expr) types.Object {
	switch x := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		return r.callee(x.X)
	case *ast.IndexListExpr:
		return r.callee(x.X)
	case *ast.Ident:
		return r.info.Uses[x]
	case *ast.SelectorExpr:
		return r.info.Uses[x.Sel]
	}
	return nil
}

// identity are functions that read nothing of an object but what is always kept, or only
// write to it. What they have as any is printed.
var identity = map[string]bool{
	"client.Reader.Get": true, "client.Reader.List": true, "client.ObjectKeyFromObject": true,
	"v1.GetControllerOf": true, "v1.GetControllerOfNoCopy": true, "v1.IsControlledBy": true, "v1.NewControllerRef": true, "klog.KObj": true,
	"controller.Self": true, "controller.Owner": true,
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
	if p, is := t.(*types.TypeParam); is {
		t = p.Constraint()
	}
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

// escape counts a value of which everything may be read, or of a literal, whose own fields are
// new, its elements. Without to, it may become part of another object, and whole objects do
// not count.
func (r *reads) escape(e ast.Expr, to string) {
	e = ast.Unparen(e)
	if u, ok := e.(*ast.UnaryExpr); ok {
		e = ast.Unparen(u.X)
	}
	lit, is := e.(*ast.CompositeLit)
	if !is {
		r.escapeType(r.info.TypeOf(e), Escape{Position: r.fset.Position(e.Pos()), To: to})
		return
	}
	for _, v := range lit.Elts {
		if kv, is := v.(*ast.KeyValueExpr); is {
			v = kv.Value
		}
		r.escape(v, to)
	}
}

func (r *reads) escapeType(t types.Type, at Escape) {
	t = element(t)
	if _, known := r.contained[t]; !known && t != nil {
		r.contained[t] = r.contents(t, true, map[types.Type]bool{})
	}
	for _, obj := range r.contained[t] {
		switch n := obj.Type().(*types.Named); {
		case !isObject(n):
			r.escapes[obj] = append(r.escapes[obj], at)
		case at.To != "":
			r.escapes[obj] = append(r.escapes[obj], at)
			r.kinds[obj] = true
		}
	}
}

// contents returns the types of objects in a type, and if parts, itself and the types in it
// that the program put there.
func (r *reads) contents(t types.Type, parts bool, seen map[types.Type]bool) (all []*types.TypeName) {
	t = element(t)
	if t == nil || seen[t] {
		return nil
	}
	seen[t] = true
	own := true
	s, is := t.Underlying().(*types.Struct)
	if n, named := t.(*types.Named); is && named {
		own = r.own[n.Obj().Pkg()]
		if isObject(n) {
			return []*types.TypeName{n.Origin().Obj()}
		}
		if parts {
			all = append(all, n.Origin().Obj())
		}
	}
	for f := range fieldsOf(s) {
		if own || f.Exported() {
			all = append(all, r.contents(f.Type(), parts && own, seen)...)
		}
	}
	return all
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
		switch below {
		case "":
			selected = selected || len(r.getters) > 0 && f.Name() == "ObjectMeta"
		case "metadata":
			selected = selected || r.getters[f.Name()]
		}
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
