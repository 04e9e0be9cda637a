package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// functions are the functions of a package, by file.
type functions map[string]source

// source is a file's functions and its lines.
type source struct {
	spans []span
	lines []string
}

// span is a function and its lines.
type span struct {
	name        string // "Func" or "Type.Method"
	first, last int
}

func (f functions) count() (n int) {
	for _, s := range f {
		n += len(s.spans)
	}
	return n
}

// functionsIn reads the files of a package, without its tests.
func functionsIn(dir string) (functions, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	funcs := functions{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		spans, err := spansOf(filepath.Base(file), text)
		if err != nil {
			return nil, err
		}
		funcs[filepath.Base(file)] = source{spans, strings.Split(string(text), "\n")}
	}
	if len(funcs) == 0 {
		return nil, fmt.Errorf("no Go files in %s", dir)
	}
	return funcs, nil
}

func spansOf(file string, text []byte) ([]span, error) {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var spans []span
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := fn.Name.Name
		if fn.Recv != nil {
			name = receiver(fn.Recv.List[0].Type) + "." + name
		}
		spans = append(spans, span{name, fset.Position(fn.Pos()).Line, fset.Position(fn.End()).Line})
	}
	return spans, nil
}

// receiver returns the name of a receiver's type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return "?"
}

// storing are the texts of lines in which client-go's reflector passes an
// object of a watch to a store.
var storing = []string{"store.Add(", "store.Update(", "store.Delete("}

// executed returns the functions in which a statement ran, according to a
// coverage profile. Code outside of functions, such as a package's variables,
// is left out. A line that stores an object counts as a function of its own,
// named after it.
func executed(profile string, funcs functions) (map[string]bool, error) {
	ran := map[string]bool{}
	blocks := 0
	for line := range strings.Lines(profile) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "mode:") {
			continue
		}
		// path/file.go:12.34,56.7 statements count
		path, rest, ok := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if !ok || len(fields) != 3 {
			return nil, fmt.Errorf("not a line of a coverage profile: %q", line)
		}
		file, found := strings.CutPrefix(path, watched+"/")
		if !found || strings.Contains(file, "/") {
			continue
		}
		blocks++
		if fields[2] == "0" {
			continue
		}
		var at, column, end int
		if _, err := fmt.Sscanf(fields[0], "%d.%d,%d.", &at, &column, &end); err != nil {
			return nil, fmt.Errorf("not a line of a coverage profile: %q", line)
		}
		for _, s := range funcs[file].spans {
			if s.first <= at && at <= s.last {
				ran[s.name] = true
			}
		}
		lines := funcs[file].lines
		for n := at; n <= min(end, len(lines)); n++ {
			for _, text := range storing {
				if strings.Contains(lines[n-1], text) {
					ran[fmt.Sprintf("%s:%d (%s)", file, n, strings.TrimSpace(lines[n-1]))] = true
				}
			}
		}
	}
	if blocks == 0 {
		return nil, fmt.Errorf("the profile is not of %s: use -coverpkg", watched)
	}
	return ran, nil
}
