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

// swapImport returns the file with the import path of the tree's cache in place of
// client-go's. Lines keep their numbers.
func (t *tree) swapImport(name string, text []byte) ([]byte, error) {
	if !bytes.Contains(text, []byte(clientGo)) {
		return text, nil
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	for _, spec := range slices.Backward(file.Imports) {
		if path, _ := strconv.Unquote(spec.Path.Value); path == clientGo {
			from, to := fset.Position(spec.Path.Pos()).Offset, fset.Position(spec.Path.End()).Offset
			text = slices.Concat(text[:from], []byte(strconv.Quote(t.cache)), text[to:])
		}
	}
	return text, nil
}

// proveSwapped returns an error if the tests of the suite would be linked with a
// package that imports client-go's tools/cache, other than kinglet's own. Where
// there is none, nothing but kinglet can make an informer, a reflector or a
// store of client-go's; and `make borrowed` shows that kinglet makes none.
func (t *tree) proveSwapped(ctx context.Context, s suite) error {
	if t.cache != kinglet {
		return nil
	}
	pkgs, err := list(ctx, t.modfile, append([]string{"-deps", "-test"}, s.packages...)...)
	if err != nil {
		return err
	}
	linked := false
	for _, p := range pkgs {
		path, _, _ := strings.Cut(p.ImportPath, " ")
		linked = linked || path == kinglet
		imports := slices.ContainsFunc(p.Imports, func(imported string) bool {
			imported, _, _ = strings.Cut(imported, " ")
			return imported == clientGo
		})
		if imports && !isKinglet(path) && !strings.HasSuffix(path, ".test") {
			return fmt.Errorf("%s: package %s still imports %s, so that its informers would be client-go's", s.name, p.ImportPath, clientGo)
		}
	}
	if !linked {
		return fmt.Errorf("%s: its tests do not use kinglet's cache", s.name)
	}
	return nil
}
