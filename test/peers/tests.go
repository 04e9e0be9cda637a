package main

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
)

// testsOf returns the tests that the suite's packages have in the tree, and the one of
// each package, if there is one, that runs its Ginkgo specs.
func (t *tree) testsOf(ctx context.Context, s suite) (tests []testName, specs map[string]string, err error) {
	pkgs, err := list(ctx, t.modfile, s.packages...)
	if err != nil {
		return nil, nil, err
	}
	specs = map[string]string{}
	for _, p := range pkgs {
		for _, f := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, f), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, nil, err
			}
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && isTest(fn.Name.Name) {
					tests = append(tests, testName{pkg: p.ImportPath, test: fn.Name.Name})
					ast.Inspect(fn.Body, func(n ast.Node) bool {
						if id, ok := n.(*ast.Ident); ok && id.Name == "RunSpecs" {
							specs[p.ImportPath] = fn.Name.Name
						}
						return true
					})
				}
			}
		}
	}
	return tests, specs, nil
}
