package fieldreads

import (
	"cmp"
	"go/ast"
	"go/types"
	"slices"
)

// into counts a value that becomes one of a type, if that is an interface behind which all of
// the value can be read, or a type parameter.
func (r *reads) into(t types.Type, v value, to string) {
	inside := element(t)
	if inside == nil || !types.IsInterface(inside) {
		return
	}
	if n := named(v.t); metadataOnly(inside) && (n == nil || isObject(n)) {
		return // its methods are called by what is looked at
	}
	r.escape(v, cmp.Or(to, "as "+inside.String()))
}

// compared counts a struct that is compared with others.
func (r *reads) compared(e ast.Expr, by string) {
	if e == nil || r.info.Types[e].IsType() {
		return
	}
	t := r.info.TypeOf(e)
	for t != nil {
		array, is := t.Underlying().(*types.Array)
		if !is {
			break
		}
		t = array.Elem()
	}
	if t != nil && structOf(t) != nil && !pointer(t) {
		r.escape(value{t, e}, by)
	}
}

// function counts the parameters of another package's function that is used as a value. A call
// through a variable counts only arguments that become interfaces, as if the function were the
// program's own.
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
			r.into(t.Type, r.value(e.Args[0]), "")
		} else {
			r.escape(r.value(e.Args[0]), "as "+t.Type.String())
		}
		return
	}
	if id, is := ast.Unparen(e.Fun).(*ast.Ident); is {
		if builtin, is := r.info.Uses[id].(*types.Builtin); is {
			switch builtin.Name() {
			case "copy":
				r.assign(&ast.StarExpr{X: e.Args[0]}, r.value(e.Args[1]))
			case "delete":
				r.key(e.Args[0], e.Args[1])
			}
		}
	}
	to := types.ExprString(e.Fun)
	signature, _ := r.info.TypeOf(e.Fun).Underlying().(*types.Signature)
	origin := signature
	f, _ := r.callee(e.Fun).(*types.Func)
	foreign, known := false, false
	if f != nil {
		if f.Signature().Recv() != nil && copiesOf(f) {
			if x, is := ast.Unparen(e.Fun).(*ast.SelectorExpr); is && f.Name() == "DeepCopyInto" {
				r.escape(r.value(x.X), "") // it may become part of another object
			}
			return
		}
		to, foreign, known = nameOf(f), r.foreign(f), identity[unqualified(f)]
		r.identified = r.identified || known
		if f.Signature().Params().Len() == signature.Params().Len() { // no method expression
			origin = f.Origin().Signature()
		}
	}
	n := len(e.Args)
	if n == 1 { // f(g()) has all results of g
		if results, is := r.info.TypeOf(e.Args[0]).(*types.Tuple); is {
			n = results.Len()
		}
	}
	for i := range n {
		t, arg := parameter(origin, i), r.each(e.Args, n, i)
		switch {
		case t == nil, known && !types.Identical(t, types.Universe.Lookup("any").Type()):
		case foreign && metadataOnly(t) && types.IsInterface(arg.t):
			r.getter("Annotations")
			r.getter("CreationTimestamp")
		case foreign && anyObject(arg.t):
			r.interfaces = append(r.interfaces, Escape{Position: r.fset.Position(arg.e.Pos()), To: to})
		case foreign:
			r.escape(arg, to)
			if methods, is := types.Unalias(t).Underlying().(*types.Interface); is {
				r.results(methods, Escape{Position: r.fset.Position(arg.e.Pos()), To: to})
			}
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

// identity are functions that read nothing of an object but what is always kept, unless it is a
// part of another, or only write to it. What they have as any is printed.
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

// anyObject reports whether a type is an interface of objects.
func anyObject(t types.Type) bool {
	metadata, _, _ := types.LookupFieldOrMethod(t, false, nil, "GetAnnotations")
	object, _, _ := types.LookupFieldOrMethod(t, false, nil, "DeepCopyObject")
	return types.IsInterface(t) && (metadata != nil || object != nil)
}

// escape counts a value of which everything may be read, or of a literal, whose own fields are
// new, its elements. Without to, it may become part of another object, and whole objects do
// not count.
func (r *reads) escape(v value, to string) {
	e := ast.Unparen(v.e)
	if u, ok := e.(*ast.UnaryExpr); ok {
		e = ast.Unparen(u.X)
	}
	lit, is := e.(*ast.CompositeLit)
	if !is {
		r.escapeType(v.t, Escape{Position: r.fset.Position(e.Pos()), To: to})
		return
	}
	for _, e := range lit.Elts {
		if kv, is := e.(*ast.KeyValueExpr); is {
			e = kv.Value
		}
		r.escape(r.value(e), to)
	}
}

func (r *reads) escapeType(t types.Type, at Escape) {
	t = element(t)
	if _, known := r.contained[t]; !known && t != nil {
		r.contained[t] = r.contents(t, true, map[types.Type]bool{})
	}
	for _, obj := range r.contained[t] {
		switch n := obj.Type().(*types.Named); {
		case slices.Contains(r.escapes[obj], at): // of a value and its parameter's type
		case !isObject(n):
			r.escapes[obj] = append(r.escapes[obj], at)
		case at.To != "":
			r.escapes[obj] = append(r.escapes[obj], at)
			r.kinds[obj] = true
		}
	}
}

// results records the objects that another package can get from the methods of an interface.
// Results that are interfaces are not followed: a client or a factory leads to every kind.
func (r *reads) results(methods *types.Interface, at Escape) {
	for m := range methods.Methods() {
		for result := range m.Signature().Results().Variables() {
			if e := element(result.Type()); !types.IsInterface(e) && !copies(m) {
				r.escapeType(e, at)
			}
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
	if f, is := t.Underlying().(*types.Signature); is {
		return r.given(f, parts, seen)
	}
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

// given returns the contents of what a function gives to its caller: its results, and the
// arguments of the functions that it calls back, as an iterator does.
func (r *reads) given(f *types.Signature, parts bool, seen map[types.Type]bool) (all []*types.TypeName) {
	for v := range f.Results().Variables() {
		all = append(all, r.contents(v.Type(), parts, seen)...)
	}
	for p := range f.Params().Variables() {
		if call, is := p.Type().Underlying().(*types.Signature); is {
			for v := range call.Params().Variables() {
				all = append(all, r.contents(v.Type(), parts, seen)...)
			}
		}
	}
	return all
}
