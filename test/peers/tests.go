package main

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
)

// testsOf returns the tests that the suite's packages have in the tree.
func (t *tree) testsOf(ctx context.Context, s suite) ([]testName, error) {
	pkgs, err := list(ctx, t.modfile, s.packages...)
	if err != nil {
		return nil, err
	}
	var tests []testName
	for _, p := range pkgs {
		for _, f := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && isTest(fn.Name.Name) {
					tests = append(tests, testName{pkg: p.ImportPath, test: fn.Name.Name})
				}
			}
		}
	}
	return tests, nil
}
