// Command types runs the Go types of other people's API modules through kinglet's
// decoders: every type that their packages register, and every struct below it. The
// modules are in modules.txt, and come from the module proxy; no build of ours imports
// them. For each group a temporary module below bin has the rig (package rig), and a
// test with the packages that register something. Its go.mod has the modules of all
// groups that resolve together.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/test/types/rig"
)

var (
	//go:embed modules.txt
	list string
	//go:embed rig/*.go
	sources embed.FS
)

const modulePath = "github.com/kinglet-go/kinglet/typesworld"

func main() {
	only := flag.String("only", "", "run the groups whose name matches this `regexp`")
	seed := flag.Uint64("seed", 0, "of what is random; 0: another each time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := run(ctx, *only, *seed)
	if err != nil {
		fmt.Fprintln(os.Stderr, "types:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// run runs the groups, and reports whether any failed.
func run(ctx context.Context, only string, seed uint64) (failed bool, err error) {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	groups, err := parse(list)
	if err != nil {
		return false, err
	}
	sum, modules, packages := rig.Report{FallsBack: map[string]string{}}, 0, 0
	for _, g := range groups {
		if !chosen.MatchString(g.name) {
			continue
		}
		start := time.Now()
		if err := g.prepare(ctx, groups, seed); err != nil {
			return false, fmt.Errorf("group %s: %w", g.name, err)
		}
		report, err := g.test(ctx)
		if failed = failed || err != nil; err != nil {
			fmt.Printf("%s: %v\n", g.name, err)
		}
		fmt.Printf("%s: %d modules, %d packages, %d types, %d structs, %d decodings, %d problems, in %v\n", g.name, len(g.modules), len(g.packages),
			len(report.Types), len(report.Structs), report.Decodings, len(report.Problems), time.Since(start).Round(time.Second))
		modules, packages = modules+len(g.modules), packages+len(g.packages)
		sum.Add(report)
	}
	if modules == 0 {
		return false, fmt.Errorf("no group of test/types/modules.txt has a name like %q", only)
	}
	for _, name := range slices.Sorted(maps.Keys(sum.FallsBack)) {
		fmt.Printf("falls back: %s: %s\n", name, sum.FallsBack[name])
	}
	for _, name := range sum.Unfilled {
		fmt.Printf("no object could be made of %s\n", name)
	}
	distinct := func(names []string) int { slices.Sort(names); return len(slices.Compact(names)) }
	fmt.Printf("%d modules, %d packages, %d registered types, %d structs (%d decode themselves), %d decodings, %d copies, %d problems\n",
		modules, packages, distinct(sum.Types), distinct(sum.Structs), distinct(sum.Foreign), sum.Decodings, sum.Copies, len(sum.Problems))
	fmt.Printf("the slowest plan: %v, %s\nthe largest plan: %d bytes, %s\n",
		time.Duration(sum.Slowest.Value), sum.Slowest.What, sum.Largest.Value, sum.Largest.What)
	return failed, nil
}

// group is modules whose types are in one test.
type group struct {
	name    string
	modules []module
	// alone: it does not resolve with other groups.
	alone    bool
	dir      string
	packages []apiPackage
}

type module struct {
	path, version string
	patterns      []string
}

// apiPackage is a package that registers types, by what has these names.
type apiPackage struct {
	path  string
	names []string
}

func parse(text string) (groups []*group, err error) {
	for n, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case strings.HasPrefix(line, "["):
			name := strings.Trim(words[0], "[]")
			groups = append(groups, &group{name: name, alone: len(words) > 1, dir: filepath.Join("bin/types", name)})
		case len(groups) == 0 || len(words) < 3:
			return nil, fmt.Errorf("modules.txt:%d: a module, its version and packages are expected", n+1)
		default:
			g := groups[len(groups)-1]
			g.modules = append(g.modules, module{words[0], words[1], words[2:]})
		}
	}
	return groups, nil
}

var required = regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`)

// prepare makes the group's module.
func (g *group) prepare(ctx context.Context, groups []*group, seed uint64) error {
	checkout, err := os.Getwd()
	if err != nil {
		return err
	}
	// What an earlier run left would be resolved as well.
	if err := os.RemoveAll(g.dir); err != nil {
		return err
	}
	if err := os.MkdirAll(g.dir, 0o777); err != nil {
		return err
	}
	if err := os.CopyFS(g.dir, sources); err != nil {
		return err
	}
	mod := fmt.Sprintf("module %s\n\ngo 1.26.0\n\nreplace github.com/kinglet-go/kinglet => %s\n\nrequire github.com/kinglet-go/kinglet v0.0.0\n", modulePath, checkout)
	// What our own tests require as well has been compiled in that version.
	ours, err := os.ReadFile("test/go.mod")
	if err != nil {
		return err
	}
	for _, m := range required.FindAllStringSubmatch(string(ours), -1) {
		if !strings.HasPrefix(m[1], "github.com/kinglet-go/") {
			mod += fmt.Sprintf("\nreplace %s => %s %s\n", m[1], m[1], m[2])
		}
	}
	for _, other := range groups {
		if other == g || !other.alone && !g.alone {
			for _, m := range other.modules {
				mod += fmt.Sprintf("\nrequire %s %s\n", m.path, m.version)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(g.dir, "go.mod"), []byte(mod), 0o666); err != nil {
		return err
	}
	if err := g.find(ctx); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(g.dir, "types_test.go"), g.source(seed), 0o666)
}

// find finds the packages that register types and compile.
func (g *group) find(ctx context.Context) error {
	var paths []string
	for _, m := range g.modules {
		args := []string{"-f", "{{if ne .Name `main`}}{{.ImportPath}}{{range .GoFiles}} {{$.Dir}}/{{.}}{{end}}{{end}}"}
		for _, p := range m.patterns {
			args = append(args, path.Join(m.path, p))
		}
		found, err := g.list(ctx, args...)
		if err != nil {
			return err
		}
		before := len(paths)
		for _, line := range found {
			words := strings.Fields(line)
			names, err := registers(words[1:])
			if err != nil {
				return err
			}
			if len(names) > 0 && !slices.Contains(strings.Split(words[0], "/"), "internal") {
				g.packages, paths = append(g.packages, apiPackage{words[0], names}), append(paths, words[0])
			}
		}
		if len(paths) == before {
			fmt.Printf("%s: %s has no package that registers types\n", g.name, m.path)
		}
	}
	built, err := g.list(ctx, append([]string{"-export", "-f", "{{if .Export}}{{.ImportPath}}{{end}}"}, paths...)...)
	g.packages = slices.DeleteFunc(g.packages, func(p apiPackage) bool {
		broken := !slices.Contains(built, p.path)
		if broken {
			fmt.Printf("%s: left out, since it does not compile: %s\n", g.name, p.path)
		}
		return broken
	})
	return err
}

// list returns the lines of go list.
func (g *group) list(ctx context.Context, args ...string) (lines []string, err error) {
	out, err := g.command(ctx, append([]string{"list", "-e"}, args...)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("go list: %w: %s", err, exit.Stderr)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\n"), func(l string) bool { return l == "" }), err
}

func (g *group) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = g.dir
	// Two versions of one protobuf file may be linked; neither is used by its name.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOLANG_PROTOBUF_REGISTRATION_CONFLICT=ignore")
	return cmd
}

// registering finds what adds types to a scheme: a declaration, alone or in a group, or a
// call in an init.
var registering = regexp.MustCompile(`(?m)^(?:func |var |\t)(AddToScheme|SchemeBuilder|Install)\b *[(=]|^\t[a-z]+\.Scheme\.(AddKnownTypes)\(`)

// registers returns the names of what a package's files have to add types to a scheme.
func registers(files []string) (names []string, err error) {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range registering.FindAllStringSubmatch(string(text), -1) {
			if name := m[1] + m[2]; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	// A SchemeBuilder is what AddToScheme adds.
	if slices.Contains(names, "AddToScheme") {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "SchemeBuilder" })
	}
	return names, nil
}

// source returns the group's test.
func (g *group) source(seed uint64) []byte {
	imports, packages := "", ""
	for i, p := range g.packages {
		alias, register := "_", ""
		for _, n := range p.names {
			if n != "AddKnownTypes" {
				alias = fmt.Sprint("p", i)
				register += map[bool]string{true: "&"}[n == "SchemeBuilder"] + alias + "." + n + ", "
			}
		}
		imports += fmt.Sprintf("\t%s %q\n", alias, p.path)
		packages += fmt.Sprintf("\t\t{Path: %q, Register: []any{%s}},\n", p.path, register)
	}
	const test = "package typesworld\n\nimport (\n\t\"testing\"\n\n\t\"%s/rig\"\n%s)\n\n" +
		"func TestTypes(t *testing.T) {\n\trig.Run(t, %d, \"report.json\", []rig.Package{\n%s\t})\n}\n"
	return fmt.Appendf(nil, test, modulePath, imports, seed, packages)
}

// test runs the group's test.
func (g *group) test(ctx context.Context) (report rig.Report, err error) {
	cmd := g.command(ctx, "test", "-vet=off", "-count=1", "-timeout=30m", "-ldflags=-s -w", ".")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	failed := cmd.Run()
	b, err := os.ReadFile(filepath.Join(g.dir, "report.json"))
	if err != nil {
		return report, errors.Join(failed, err)
	}
	return report, errors.Join(failed, json.Unmarshal(b, &report))
}
