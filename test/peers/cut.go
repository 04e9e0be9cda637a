package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A cutting is the test files of a package on their way out of it: what names
// something unexported is cut, and so is what needs that.
type cutting struct {
	path  string // of the package
	fset  *token.FileSet
	files []*cutFile
	// gone is what was cut, by name, each with the identifier that began it.
	gone map[string]string
}

type cutFile struct {
	path string
	text []byte
	ast  *ast.File
}

// A unit is what is cut as a whole: a function, a type with its methods (one
// without some of them could be another implementation), a group of constants
// (they count), a variable.
type unit struct {
	names  []string
	ranges []fileRange
}

type fileRange struct {
	file     *cutFile
	from, to token.Pos
}

// cut gives the tree what compiles of the suite's tests outside of their
// package, as an external test package that imports kinglet's drop-in by a dot. It
// returns the tests that do not, each with the identifier that began it.
func (t *tree) cut(ctx context.Context, s suite) (map[string]string, error) {
	from, err := list(ctx, t.pinned, s.packages...)
	if err != nil {
		return nil, err
	}
	to, err := list(ctx, t.modfile, s.packages...)
	if err != nil {
		return nil, err
	}
	if len(from) != 1 {
		return nil, fmt.Errorf("%s: one package was expected", s.name)
	}
	c := &cutting{path: from[0].ImportPath, gone: map[string]string{}}
	for _, name := range slices.Concat(from[0].TestGoFiles, from[0].XTestGoFiles) {
		text, err := os.ReadFile(filepath.Join(from[0].Dir, name))
		if err != nil {
			return nil, err
		}
		if text, err = t.swapImports(name, "", text); err != nil {
			return nil, err
		}
		if slices.Contains(from[0].TestGoFiles, name) {
			if text, err = t.outside(name, c.path, text); err != nil {
				return nil, err
			}
		}
		// What constructors return is asserted to be the type behind the
		// interface, by tests that need no more than the interface.
		text = bytes.ReplaceAll(text, []byte("*sharedIndexInformer)"), []byte("SharedIndexInformer)"))
		// A helper waits for client-go's loop to have read what AddAfter sent it.
		// Here there is nothing to wait for.
		text = bytes.ReplaceAll(text, []byte("len(q.(*delayingType[any]).waitingForAddCh) == 0"), []byte("true"))
		c.files = append(c.files, &cutFile{path: filepath.Join(to[0].Dir, name), text: text})
	}
	if err := c.parse(); err != nil {
		return nil, err
	}
	imported, err := c.importer(ctx, t.modfile)
	if err != nil {
		return nil, err
	}
	if err := c.cutWhatDoesNotCompile(imported); err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	for _, f := range c.files {
		if !f.empty() {
			err = write(f.path, f.text)
		} else if err = os.Remove(f.path); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	tests := map[string]string{}
	for name, why := range c.gone {
		if isTest(name) {
			tests[name] = why
		}
	}
	return tests, nil
}

// outside moves a file out of its package: package cache becomes package
// cache_test, and its names come from the drop-in for that package by a dot
// import. Lines keep their numbers.
func (t *tree) outside(path, pkg string, text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.PackageClauseOnly)
	if err != nil {
		return nil, err
	}
	end := fset.Position(file.Name.End()).Offset
	return slices.Concat(text[:end], []byte("_test; import . "+strconv.Quote(t.dropIn(pkg))), text[end:]), nil
}

func (c *cutting) parse() error {
	c.fset = token.NewFileSet()
	for _, f := range c.files {
		var err error
		if f.ast, err = parser.ParseFile(c.fset, f.path, f.text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
	}
	return nil
}

// importer returns an importer of what the files import, from the export data
// that the go command has for it.
func (c *cutting) importer(ctx context.Context, modfile string) (types.Importer, error) {
	paths := map[string]bool{}
	for _, f := range c.files {
		for _, spec := range f.ast.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			paths[path] = true
		}
	}
	args := []string{"-deps", "-export"}
	for p := range paths {
		args = append(args, p)
	}
	pkgs, err := list(ctx, modfile, args...)
	if err != nil {
		return nil, err
	}
	export := map[string]string{}
	for _, p := range pkgs {
		export[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if export[path] == "" {
			return nil, fmt.Errorf("no export data for %s", path)
		}
		return os.Open(export[path])
	}), nil
}

// cutWhatDoesNotCompile type-checks the files and cuts the declarations with
// errors, again and again until there is no error.
func (c *cutting) cutWhatDoesNotCompile(imp types.Importer) error {
	for {
		errs := c.check(imp)
		if len(errs) == 0 {
			return nil
		}
		units := c.units()
		wrong := map[*unit]string{}
		for _, e := range errs {
			if u := unitAt(units, e.Pos); u != nil && wrong[u] == "" {
				wrong[u] = c.reason(e)
			}
		}
		for u, why := range wrong {
			for _, name := range u.names {
				c.gone[name] = why
			}
			for _, r := range u.ranges {
				c.blank(r)
			}
		}
		// Imports that are not used are known for certain once all else is gone.
		if len(wrong) == 0 {
			for _, e := range errs {
				if !c.cutImport(e.Pos) {
					return fmt.Errorf("%s: %s, in no declaration that could be cut", c.fset.Position(e.Pos), e.Msg)
				}
			}
		}
		if err := c.parse(); err != nil {
			return fmt.Errorf("after a cut: %w", err)
		}
	}
}

// check returns the type errors of the files, in the order of the files.
func (c *cutting) check(imp types.Importer) []types.Error {
	var errs []types.Error
	conf := types.Config{Importer: imp, Error: func(err error) {
		if e, ok := err.(types.Error); ok {
			errs = append(errs, e)
		}
	}}
	files := make([]*ast.File, len(c.files))
	for i, f := range c.files {
		files[i] = f.ast
	}
	// Every error is given to the function, the one that is returned too.
	_, _ = conf.Check(c.path+"_test", c.fset, files, nil)
	slices.SortStableFunc(errs, func(a, b types.Error) int { return int(a.Pos) - int(b.Pos) })
	return errs
}

// units returns the units of all files.
func (c *cutting) units() []*unit {
	var units []*unit
	byType := map[string]*unit{}
	ofType := func(name string) *unit {
		if byType[name] == nil {
			byType[name] = &unit{names: []string{name}}
			units = append(units, byType[name])
		}
		return byType[name]
	}
	for _, f := range c.files {
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				u := &unit{names: []string{d.Name.Name}}
				if d.Recv != nil {
					u = ofType(receiver(d.Recv.List[0].Type))
				} else {
					units = append(units, u)
				}
				u.add(f, d, d.Doc)
			case *ast.GenDecl:
				if d.Tok == token.IMPORT {
					continue
				}
				if d.Tok == token.CONST || !d.Lparen.IsValid() {
					u := &unit{}
					for _, spec := range d.Specs {
						u.names = append(u.names, specNames(spec)...)
					}
					if d.Tok == token.TYPE {
						u = ofType(u.names[0])
					} else {
						units = append(units, u)
					}
					u.add(f, d, d.Doc)
					continue
				}
				for _, spec := range d.Specs {
					names := specNames(spec)
					u := &unit{names: names}
					if d.Tok == token.TYPE {
						u = ofType(names[0])
					} else {
						units = append(units, u)
					}
					u.add(f, spec, nil)
				}
			}
		}
	}
	return units
}

func (u *unit) add(f *cutFile, n ast.Node, doc *ast.CommentGroup) {
	from := n.Pos()
	if doc != nil {
		from = doc.Pos()
	}
	u.ranges = append(u.ranges, fileRange{f, from, n.End()})
}

func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

func specNames(spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		return []string{s.Name.Name}
	case *ast.ValueSpec:
		var names []string
		for _, n := range s.Names {
			names = append(names, n.Name)
		}
		return names
	}
	return nil
}

func unitAt(units []*unit, pos token.Pos) *unit {
	for _, u := range units {
		for _, r := range u.ranges {
			if r.from <= pos && pos < r.to {
				return u
			}
		}
	}
	return nil
}

// reason returns the identifier that the error is about, or the one for want of
// which that was cut; the error's text if it is about none.
func (c *cutting) reason(e types.Error) string {
	why := e.Msg
	for _, f := range c.files {
		if e.Pos < f.ast.FileStart || e.Pos >= f.ast.FileEnd {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && id.Pos() == e.Pos {
				why = id.Name
			}
			return n != nil && n.Pos() <= e.Pos && e.Pos < n.End()
		})
	}
	if first, ok := c.gone[why]; ok {
		return first
	}
	return why
}

// blank overwrites a part of a file with spaces: lines keep their numbers.
func (c *cutting) blank(r fileRange) {
	for i := c.fset.Position(r.from).Offset; i < c.fset.Position(r.to).Offset; i++ {
		if r.file.text[i] != '\n' {
			r.file.text[i] = ' '
		}
	}
}

// cutImport cuts the import at pos, if there is one.
func (c *cutting) cutImport(pos token.Pos) bool {
	for _, f := range c.files {
		for _, d := range f.ast.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok || d.Tok != token.IMPORT || pos < d.Pos() || pos >= d.End() {
				continue
			}
			if !d.Lparen.IsValid() {
				c.blank(fileRange{f, d.Pos(), d.End()})
				return true
			}
			for _, spec := range d.Specs {
				if spec.Pos() <= pos && pos < spec.End() {
					c.blank(fileRange{f, spec.Pos(), spec.End()})
					return true
				}
			}
		}
	}
	return false
}

// empty reports whether nothing but imports is left of the file.
func (f *cutFile) empty() bool {
	return !slices.ContainsFunc(f.ast.Decls, func(d ast.Decl) bool {
		g, ok := d.(*ast.GenDecl)
		return !ok || g.Tok != token.IMPORT
	})
}

// isTest reports whether go test runs a function of that name.
func isTest(name string) bool {
	rest, ok := strings.CutPrefix(name, "Test")
	if !ok || name == "TestMain" {
		return false
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLower(r)
}
