// Package rig runs the Go types that API packages register, and every struct below
// them, through kinglet's decoders, and compares with the official ones. Command types
// copies it into the modules that it makes.
package rig

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// Package is what an API package has for a scheme: its AddToScheme, a pointer to its
// SchemeBuilder, or the like; nothing if its init adds to client-go's scheme.
type Package struct {
	Path     string
	Register []any
}

// Report is what came of types.
type Report struct {
	// Types are registered, Structs are they and the struct types below them. Of these
	// Foreign decode themselves.
	Types, Structs, Foreign []string
	// Decodings were compared, and so were Copies.
	Decodings, Copies int
	// Unfilled are the types of which nothing was decoded: no object could be made that
	// the official encoder and decoder take.
	Unfilled []string
	// FallsBack are the types that kinglet leaves to the official decoder, with the reason.
	FallsBack map[string]string
	// Problems are differences, and plans above the limits.
	Problems []string
	// Slowest is the plan that took longest to compile, Largest the one that allocated most.
	Slowest, Largest Extreme
}

// Add adds another report to r.
func (r *Report) Add(o Report) {
	r.Types, r.Structs, r.Foreign = append(r.Types, o.Types...), append(r.Structs, o.Structs...), append(r.Foreign, o.Foreign...)
	r.Decodings, r.Copies = r.Decodings+o.Decodings, r.Copies+o.Copies
	r.Unfilled, r.Problems = append(r.Unfilled, o.Unfilled...), append(r.Problems, o.Problems...)
	maps.Copy(r.FallsBack, o.FallsBack)
	r.Slowest.raise(o.Slowest)
	r.Largest.raise(o.Largest)
}

// Extreme is a plan that stands out.
type Extreme struct {
	What  string
	Value int64
}

// raise makes e the larger of the two.
func (e *Extreme) raise(to Extreme) {
	if to.Value > e.Value {
		*e = to
	}
}

// Run checks the types that packages register, and writes the Report to a file.
func Run(t *testing.T, seed uint64, file string, packages []Package) {
	for seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	c := &checker{seed: seed, report: Report{FallsBack: map[string]string{}}}
	roots := map[reflect.Type]bool{}
	for _, p := range packages {
		for _, typ := range scheme.Scheme.AllKnownTypes() {
			if typ.PkgPath() == p.Path { // its init has added it
				roots[typ] = true
			}
		}
		for _, r := range p.Register {
			if err := register(roots, r); err != nil {
				t.Errorf("%s: %v", p.Path, err)
			}
		}
	}
	all := below(roots)
	for _, typ := range all {
		c.report.Structs = append(c.report.Structs, nameOf(typ))
		if roots[typ] {
			c.report.Types = append(c.report.Types, nameOf(typ))
		}
		c.check(typ, roots[typ])
	}
	for _, p := range c.report.Problems {
		t.Error(p)
	}
	b, err := json.Marshal(c.report)
	if err == nil {
		err = os.WriteFile(file, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// register adds the types that r, the value of a package's AddToScheme or the like, adds
// to a scheme.
func register(to map[reflect.Type]bool, r any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	v := reflect.ValueOf(r)
	for v.Kind() == reflect.Pointer && !v.MethodByName("AddToScheme").IsValid() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Func {
		v = v.MethodByName("AddToScheme")
	}
	s := runtime.NewScheme()
	switch add := v.Interface().(type) {
	case func(*runtime.Scheme) error:
		err = add(s)
	case func(*runtime.Scheme):
		add(s)
	default:
		err = fmt.Errorf("%T cannot add to a scheme", r)
	}
	if err != nil {
		return err
	}
	for _, typ := range s.AllKnownTypes() {
		to[typ] = true
	}
	return nil
}

// below returns the struct types that the roots lead to, themselves included, by name.
func below(roots map[reflect.Type]bool) []reflect.Type {
	seen := map[reflect.Type]bool{}
	var all, next []reflect.Type
	for typ := range roots {
		next = append(next, typ)
	}
	for len(next) > 0 {
		typ := next[len(next)-1]
		next = next[:len(next)-1]
		if seen[typ] {
			continue
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			next = append(next, typ.Elem())
		case reflect.Map:
			next = append(next, typ.Key(), typ.Elem())
		case reflect.Struct:
			all = append(all, typ)
			for i := range typ.NumField() {
				if f := typ.Field(i); f.IsExported() || f.Anonymous {
					next = append(next, f.Type)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b reflect.Type) int { return strings.Compare(nameOf(a), nameOf(b)) })
	return all
}

func nameOf(typ reflect.Type) string {
	if typ.Name() == "" {
		return strings.Join(strings.Fields(typ.String()), " ")
	}
	return typ.PkgPath() + "." + typ.Name()
}
