package main

import (
	"bytes"
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// dropIn returns the import path by which the tree's tests have a package of
// client-go's: kinglet's, if there is one.
func (t *tree) dropIn(path string) string {
	if to := dropIns[path]; to != "" && !t.clientGo {
		return to
	}
	return path
}

// swapImports returns a file of a package with kinglet's import paths in place of
// client-go's, apart from those whose drop-in needs the package. Lines keep their
// numbers.
func (t *tree) swapImports(name, pkg string, text []byte) ([]byte, error) {
	if !bytes.Contains(text, []byte(clientGoCache)) && !bytes.Contains(text, []byte(clientGoQueue)) {
		return text, nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range slices.Backward(file.Imports) {
		if path, _ := strconv.Unquote(spec.Path.Value); dropIns[path] != "" && !t.needs[path][pkg] {
			from, to := fset.Position(spec.Path.Pos()).Offset, fset.Position(spec.Path.End()).Offset
			text = slices.Concat(text[:from], []byte(strconv.Quote(t.dropIn(path))), text[to:])
		}
	}
	return text, nil
}

// proveSwapped returns an error if the tests of the suite would be linked with a
// package that imports one of client-go's that kinglet has a drop-in for, other
// than kinglet's own. Where there is none, nothing but kinglet can make an
// informer, a reflector, a store or a queue of client-go's.
func (t *tree) proveSwapped(ctx context.Context, s suite) error {
	if t.clientGo {
		return nil
	}
	pkgs, err := list(ctx, t.modfile, append([]string{"-deps", "-test"}, s.packages...)...)
	if err != nil {
		return err
	}
	linked := false
	for _, p := range pkgs {
		path, _, _ := strings.Cut(p.ImportPath, " ")
		linked = linked || path == kingletCache || path == kingletQueue
		if isKinglet(path) || strings.HasSuffix(path, ".test") {
			continue
		}
		for _, imported := range p.Imports {
			if imported, _, _ = strings.Cut(imported, " "); dropIns[imported] != "" {
				return fmt.Errorf("%s: package %s still imports %s, so that what it makes would be client-go's", s.name, p.ImportPath, imported)
			}
		}
	}
	if !linked {
		return fmt.Errorf("%s: its tests do not use kinglet's packages", s.name)
	}
	return nil
}
