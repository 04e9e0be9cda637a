// Package fieldreads finds which fields of Kubernetes objects a program reads or sets, from
// its source.
//
// It looks at types and not at values: a field counts as read if any expression of the
// program selects it, of whatever object. So does one that is only set: in an object that
// lacked it, a merge patch would not see that the program removes what the server has.
// It is a path of each kind from which the program selects the fields on the way. What other
// packages read of what they are given is not known: an object's part that is passed to them
// counts as read as a whole, and for an object itself the place is reported. The same holds
// where a value becomes an interface or one of a type parameter, which are not followed but
// for the methods of metadata, and where structs are compared or put into other objects.
package fieldreads

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
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
	// Interfaces are the places where objects of whatever kind are passed to functions of other
	// modules.
	Interfaces []Escape
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
			errs = append(errs, errors.New(strings.TrimPrefix(e.Error(), "-: "))) // "-" is no position
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
	found.Kinds, found.Interfaces = r.all(), r.interfaces
	return found, nil
}

// reads are what is found in a program.
type reads struct {
	fset *token.FileSet
	info *types.Info
	// own are the packages that are looked at.
	own map[*types.Package]bool
	// fields are those that are selected; true for those that are read or set themselves, and
	// not only passed on the way to another. Ones of generic types are those of their origin.
	fields map[*types.Var]bool
	// escapes are the types of which values are passed on, and where.
	escapes map[*types.TypeName][]Escape
	// contained is the result of contents for types that it was called with.
	contained map[types.Type][]*types.TypeName
	// kinds are types of whole objects that occur.
	kinds map[*types.TypeName]bool
	// getters are the fields of metadata that are read or set through interfaces, so of any kind.
	getters map[string]bool
	// identified is whether functions are called that read what is always kept of an object.
	identified bool
	// interfaces are the places where objects are passed on that were interfaces before.
	interfaces []Escape
	// unstructured is the first such object in the package that is looked at.
	unstructured ast.Node
}
