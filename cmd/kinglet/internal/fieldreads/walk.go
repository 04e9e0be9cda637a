package fieldreads

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// file counts what the package in r.info reads in one of its files.
func (r *reads) file(file *ast.File) {
	// A field on the way to another does not count, nor does one of which an element is set.
	// Names of functions that are called are not values, nor are parts of such names.
	way, called := map[ast.Expr]bool{}, map[ast.Expr]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if f, is := r.info.Defs[n.Name].(*types.Func); is && n.Recv != nil && copies(f) {
				return false
			}
			r.returns(n.Body, r.info.Defs[n.Name].Type())
		case *ast.FuncLit:
			r.returns(n.Body, r.info.TypeOf(n))
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if to := base(left); n.Tok == token.ASSIGN {
					way[to] = to != ast.Unparen(left)
				}
				r.assign(left, r.each(n.Rhs, len(n.Lhs), i))
			}
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				r.ranged(n)
			}
		case *ast.ValueSpec:
			if n.Type != nil && len(n.Values) > 0 {
				for i := range n.Names {
					r.into(r.info.TypeOf(n.Type), r.each(n.Values, len(n.Names), i), "")
				}
			}
		case *ast.SendStmt:
			if c, is := r.info.TypeOf(n.Chan).Underlying().(*types.Chan); is {
				r.into(c.Elem(), r.value(n.Value), "")
			}
			r.handed(n.Chan, r.value(n.Value))
		case *ast.CompositeLit:
			r.literal(n)
		case *ast.SelectorExpr:
			called[n.Sel] = true
			r.instance(n.Sel, called[n])
			if s := r.info.Selections[n]; s != nil {
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
			r.key(n.X, n.Index)
		case *ast.IndexListExpr:
			called[n.X] = called[n]
		case *ast.Ident:
			// A predicate of controller-runtime, which compares what it is not given here.
			if strings.HasSuffix(n.Name, "AnnotationChangedPredicate") {
				r.getter("Annotations")
			}
			r.instance(n, called[n])
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

// ranged is assign for what a range statement sets.
func (r *reads) ranged(n *ast.RangeStmt) {
	of := r.value(n.X)
	switch of.t.Underlying().(type) {
	case *types.Chan, *types.Signature:
		r.assign(n.Key, of)
	}
	if n.Value != nil {
		r.assign(n.Value, of)
	}
}

// instance counts the types for which a type of the program has a type parameter, and those
// for which a function of the program makes values of one, unless it is called with them.
func (r *reads) instance(id *ast.Ident, called bool) {
	var params *types.TypeParamList
	var given *types.Tuple
	generic := r.info.Uses[id]
	switch of := generic.(type) {
	case *types.TypeName:
		if n, is := types.Unalias(of.Type()).(*types.Named); is {
			params = n.TypeParams()
		}
	case *types.Func:
		if params = of.Origin().Signature().TypeParams(); called {
			given = of.Origin().Signature().Params()
		}
	}
	args := r.info.Instances[id].TypeArgs
	if args.Len() == 0 || args.Len() > params.Len() || r.foreign(generic) {
		return
	}
	for i := range args.Len() {
		t := params.At(i)
		known := metadataOnly(t)
		for p := range given.Variables() {
			known = known || element(p.Type()) == t
		}
		if !known {
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
		if ret, is := n.(*ast.ReturnStmt); is && len(ret.Results) > 0 {
			for i := range results.Len() {
				r.into(results.At(i).Type(), r.each(ret.Results, results.Len(), i), "")
			}
		}
		_, is := n.(*ast.FuncLit)
		return !is
	})
}

// value is a value and the expression of which it is one.
type value struct {
	t types.Type
	e ast.Expr
}

func (r *reads) value(e ast.Expr) value { return value{r.info.TypeOf(e), e} }

// each returns the i-th of n values, which may be those of one expression.
func (r *reads) each(all []ast.Expr, n, i int) value {
	if len(all) == n {
		return r.value(all[i])
	}
	v := r.value(all[0])
	if tuple, is := v.t.(*types.Tuple); is {
		v.t = tuple.At(min(i, tuple.Len()-1)).Type()
	} else if i > 0 {
		v.t = types.Typ[types.Bool] // the second of "v, ok"
	}
	return v
}

// assign counts what becomes an interface, or a part of another object, which may be written
// as a whole: so may what a pointer or a slice of the program refers to.
func (r *reads) assign(left ast.Expr, right value) {
	r.into(r.info.TypeOf(left), right, "")
	r.handed(left, right)
	to := base(left)
	x, field := to.(*ast.SelectorExpr)
	through := ast.Unparen(left) != to
	if t := r.info.TypeOf(to); through && t != nil {
		_, is := t.Underlying().(*types.Map)
		through = !is
	}
	if through || field && x.Sel.IsExported() && r.info.Selections[x] != nil {
		r.escape(right, "")
	}
}

// handed records a value that is stored in another package's variable, or sent to its channel.
func (r *reads) handed(left ast.Expr, right value) {
	for e := base(left); ; e = base(e.(*ast.SelectorExpr).X) {
		if v, is := r.callee(e).(*types.Var); is && !v.IsField() && r.foreign(v) {
			r.escape(right, v.Pkg().Path()+"."+v.Name())
		}
		if _, is := e.(*ast.SelectorExpr); !is {
			return
		}
	}
}

// key counts what is a key of a map.
func (r *reads) key(of, key ast.Expr) {
	r.compared(key, "a map")
	if t := r.info.TypeOf(of); t != nil {
		if m, is := types.Unalias(t).Underlying().(*types.Map); is {
			r.into(m.Key(), r.value(key), "")
		}
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
			r.into(f.Origin().Type(), r.value(v), "")
			if f.Exported() {
				r.escape(r.value(v), "")
			}
		case is:
			r.key(e, kv.Key)
			fallthrough
		default:
			if c, is := types.Unalias(t).Underlying().(interface{ Elem() types.Type }); is {
				r.into(c.Elem(), r.value(v), "")
			}
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
	if isMethod && neutral(method) {
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
	field, ok := strings.CutPrefix(method.Name(), "Get")
	if !ok {
		field, ok = strings.CutPrefix(method.Name(), "Set")
	}
	if ok && types.IsInterface(t) {
		r.getter(field)
	} else if n := named(t); ok && n != nil && n.Obj().Name() == "ObjectMeta" {
		for f := range fieldsOf(structOf(t)) {
			if f.Name() == field {
				r.fields[f.Origin()] = true
			}
		}
	} else if r.foreign(method) && !copiesOf(method) {
		r.escape(r.value(e.X), nameOf(method))
	}
}

// getter counts a field of metadata as read of any kind.
func (r *reads) getter(field string) {
	if _, is := reflect.TypeFor[metav1.ObjectMeta]().FieldByName(field); is {
		r.getters[field] = true
	}
}

// neutral reports whether a method is one of metadata that reads nothing of an object, or only
// what it returns.
func neutral(method *types.Func) bool {
	n := named(method.Signature().Recv().Type())
	return n != nil && (n.Obj().Name() == "ListMeta" || n.Obj().Name() == "ObjectMeta" && copiesOf(method))
}

// copiesOf reports whether a method reads everything, and only its result is read, or reads
// the kind of a whole object.
func copiesOf(method *types.Func) bool {
	if copies(method) {
		return true
	}
	switch method.Name() {
	case "GetObjectKind", "GetObjectMeta", "GroupVersionKind", "SetGroupVersionKind":
		n := named(method.Signature().Recv().Type())
		return n == nil || types.IsInterface(n) || isObject(n) || strings.HasSuffix(n.Obj().Name(), "Meta")
	}
	return false
}

// copies reports whether a method copies all of its receiver, as deepcopy-gen makes it.
func copies(method *types.Func) bool {
	return slices.Contains([]string{"DeepCopy", "DeepCopyInto", "DeepCopyObject"}, method.Name())
}
