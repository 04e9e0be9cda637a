// Package parity compares what two packages export, name by name and type by
// type. Tests of the drop-in packages use it; nothing else imports it.
package parity

import (
	"bytes"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// Compare is a comparison of package Ours with package Theirs, by import path.
type Compare struct {
	Ours, Theirs string
	// Exceptions are the names that differ, and why.
	Exceptions map[string]string
	// AtLeast is the least number of names, fields and methods to compare. Fewer mean
	// that the comparison did not work.
	AtLeast int
}

// Run fails the test for each name that Theirs exports and that Ours lacks or has with
// another type, and for each exception that does not differ.
func (c Compare) Run(t *testing.T) {
	t.Helper()
	imp := c.exportImporter(t)
	us, err := imp.Import(c.Ours)
	if err != nil {
		t.Fatal(err)
	}
	them, err := imp.Import(c.Theirs)
	if err != nil {
		t.Fatal(err)
	}
	p := &parity{Compare: c}
	for _, name := range them.Scope().Names() {
		if token.IsExported(name) {
			p.compare(name, us.Scope().Lookup(name), them.Scope().Lookup(name))
		}
	}
	var unexplained []string
	for _, d := range p.differences {
		name, _, _ := strings.Cut(d, ":")
		if c.Exceptions[name] == "" {
			unexplained = append(unexplained, d)
		}
	}
	if len(unexplained) > 0 {
		t.Errorf("%d differences:\n%s", len(unexplained), strings.Join(unexplained, "\n"))
	}
	for name, why := range c.Exceptions {
		if !slices.ContainsFunc(p.differences, func(d string) bool { return strings.HasPrefix(d, name+":") }) {
			t.Errorf("%s is as in client-go, and an exception: %s", name, why)
		}
	}
	if p.compared < c.AtLeast {
		t.Errorf("only %d identifiers were compared", p.compared)
	}
}

// exportImporter reads the export data that the compiler wrote, as this test
// itself was built.
func (c Compare) exportImporter(t *testing.T) types.Importer {
	args := []string{"list", "-export", "-deps", "-f", "{{if .Export}}{{.ImportPath}} {{.Export}}{{end}}"}
	if info, ok := debug.ReadBuildInfo(); ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, c.Ours, c.Theirs)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, &stderr)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, ok := files[path]
		if !ok {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(file)
	})
}

// parity collects differences.
type parity struct {
	Compare
	differences []string
	compared    int
}

func (p *parity) differ(name, format string, args ...any) {
	p.differences = append(p.differences, name+": "+fmt.Sprintf(format, args...))
}

func (p *parity) compare(name string, a, b types.Object) {
	p.compared++
	if a == nil {
		p.differ(name, "missing")
		return
	}
	if fmt.Sprintf("%T", a) != fmt.Sprintf("%T", b) {
		p.differ(name, "is a %T, not a %T", a, b)
		return
	}
	switch b := b.(type) {
	case *types.TypeName:
		p.compareTypes(name, a.Type(), b.Type())
	case *types.Const:
		if got, want := a.(*types.Const).Val().ExactString(), b.Val().ExactString(); got != want {
			p.differ(name, "is %s, not %s", got, want)
		}
		p.sameText(name, a.Type(), b.Type())
	default:
		p.sameText(name, a.Type(), b.Type())
	}
}

// compareTypes accepts an alias of client-go's type, and otherwise compares
// what a program can use of both.
func (p *parity) compareTypes(name string, a, b types.Type) {
	a, b = types.Unalias(a), types.Unalias(b)
	an, aNamed := a.(*types.Named)
	bn, bNamed := b.(*types.Named)
	if !aNamed || !bNamed {
		p.sameText(name, a, b)
		return
	}
	if got, want := p.typeParams(an.TypeParams()), p.typeParams(bn.TypeParams()); got != want {
		p.differ(name, "has type parameters %s, not %s", got, want)
	}
	if got, want := p.typeArgs(an), p.typeArgs(bn); got != want {
		p.differ(name, "is of %s, not %s", got, want)
	}
	if an.Origin() == bn.Origin() {
		return
	}
	if as, ok := an.Underlying().(*types.Struct); ok {
		if bs, ok := bn.Underlying().(*types.Struct); ok {
			p.compareFields(name, as, bs)
		}
	} else {
		p.sameText(name, an.Underlying(), bn.Underlying())
	}
	p.compareMethods(name, an, bn)
	p.compareMethods("*"+name, types.NewPointer(an), types.NewPointer(bn))
}

func (p *parity) compareFields(name string, a, b *types.Struct) {
	fields := map[string]*types.Var{}
	for f := range a.Fields() {
		fields[f.Name()] = f
	}
	for f := range b.Fields() {
		if !f.Exported() {
			continue
		}
		p.compared++
		switch own := fields[f.Name()]; {
		case own == nil:
			p.differ(name+"."+f.Name(), "missing field")
		case own.Embedded() != f.Embedded():
			p.differ(name+"."+f.Name(), "embedded: %t, in client-go %t", own.Embedded(), f.Embedded())
		default:
			p.sameText(name+"."+f.Name(), own.Type(), f.Type())
		}
	}
}

func (p *parity) compareMethods(name string, a, b types.Type) {
	methods := types.NewMethodSet(a)
	for m := range types.NewMethodSet(b).Methods() {
		if !m.Obj().Exported() {
			continue
		}
		p.compared++
		own := methods.Lookup(nil, m.Obj().Name())
		if own == nil {
			p.differ(name+"."+m.Obj().Name(), "missing method")
			continue
		}
		p.sameText(name+"."+m.Obj().Name(), own.Type(), m.Type())
	}
}

// sameText compares the text of types, with one name for both packages.
func (p *parity) sameText(name string, a, b types.Type) {
	if got, want := p.text(a), p.text(b); got != want {
		p.differ(name, "is %s, not %s", got, want)
	}
}

func (p *parity) text(t types.Type) string {
	var b bytes.Buffer
	// The names of parameters do not count.
	if sig, ok := t.(*types.Signature); ok {
		b.WriteString(p.typeParams(sig.TypeParams()) + "(" + tuple(sig.Params(), p.qualifier))
		fmt.Fprintf(&b, ", variadic %t) (%s)", sig.Variadic(), tuple(sig.Results(), p.qualifier))
	} else {
		types.WriteType(&b, t, p.qualifier)
	}
	return strings.ReplaceAll(b.String(), "interface{}", "any")
}

func tuple(t *types.Tuple, q types.Qualifier) string {
	var parts []string
	for v := range t.Variables() {
		parts = append(parts, types.TypeString(v.Type(), q))
	}
	return strings.Join(parts, ", ")
}

// typeParams returns the constraints of type parameters. Their names do not
// count, as those of parameters do not.
func (p *parity) typeParams(list *types.TypeParamList) string {
	var parts []string
	for tp := range list.TypeParams() {
		parts = append(parts, types.TypeString(tp.Constraint(), p.qualifier))
	}
	return fmt.Sprint(parts)
}

func (p *parity) typeArgs(n *types.Named) string {
	var parts []string
	for arg := range n.TypeArgs().Types() {
		if _, open := arg.(*types.TypeParam); !open {
			parts = append(parts, types.TypeString(arg, p.qualifier))
		}
	}
	return strings.ReplaceAll(fmt.Sprint(parts), "interface{}", "any")
}

func (p *parity) qualifier(pkg *types.Package) string {
	if pkg.Path() == p.Ours || pkg.Path() == p.Theirs {
		return "it"
	}
	return pkg.Path()
}
