package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// hookTest is added to the package under test.
const hookTest = `package cache_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

func init() { cache.Hook = ctrlruntime.NewCache }

func TestTheCacheIsKinglets(t *testing.T) {
	c, err := cache.New(&rest.Config{}, cache.Options{Mapper: meta.NewDefaultRESTMapper(nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, is := c.(*ctrlruntime.Cache); !is {
		t.Errorf("it is a %T", c)
	}
}
`

// The beginning of New, and what it becomes.
const (
	newFunc   = "func New(cfg *rest.Config, opts Options) (Cache, error) {\n"
	hookedNew = "// Hook makes what New returns.\nvar Hook NewCacheFunc\n\n" + newFunc +
		"\tif Hook != nil && opts.NewInformer == nil {\n\t\treturn Hook(cfg, opts)\n\t}\n"
)

// runHooked runs a suite of controller-runtime's over module ctrlruntime.
func runHooked(ctx context.Context, dir string, s suite, e *expectation, opts options, out io.Writer) (verdict, error) {
	if opts.clientGo {
		return verdict{}, fmt.Errorf("%s: -client-go is of the other suites", s.name)
	}
	r, err := newHooked(ctx, filepath.Join(dir, "hooked", s.hooked), s)
	if err != nil {
		return verdict{}, fmt.Errorf("%s: %w", s.name, err)
	}
	r.limit, r.verbose = opts.timeout, io.Discard
	if opts.race {
		r.flags = append(r.flags, "-race")
	}
	if opts.verbose {
		r.verbose = out
	}
	// The other tests of the package are of what New does not use any more.
	tests := []testName{{pkg: s.packages[0], test: s.specs}, {pkg: s.packages[0], test: "TestTheCacheIsKinglets"}}
	if opts.list {
		for _, n := range tests {
			fmt.Fprintf(out, "%s: %s %s\n", s.name, n.pkg, n.test)
		}
		return verdict{}, nil
	}
	outcomes, err := r.runSuite(ctx, s, e, opts, tests)
	if err != nil {
		return verdict{}, fmt.Errorf("%s: %w", s.name, err)
	}
	v := judge(e, outcomes, 0, opts.run == nil)
	v.print(out, s, e, nil, opts.verbose)
	return v, nil
}

// newHooked copies controller-runtime to dir, as it is, and returns what runs its tests
// with the overlay.
func newHooked(ctx context.Context, dir string, s suite) (r runner, err error) {
	var module struct{ Dir string }
	download := goCommand(ctx, "mod", "download", "-json", "sigs.k8s.io/controller-runtime@"+s.hooked)
	if err := runGo(ctx, download, func(out io.Reader) error { return json.NewDecoder(out).Decode(&module) }); err != nil {
		return r, err
	}
	r.dir = filepath.Join(dir, "controller-runtime")
	if err := copyTree(module.Dir, r.dir); err != nil {
		return r, err
	}
	pkg := filepath.Join(r.dir, "pkg", "cache")
	text, err := os.ReadFile(filepath.Join(pkg, "cache.go"))
	if err != nil {
		return r, err
	}
	if n := strings.Count(string(text), newFunc); n != 1 {
		return r, fmt.Errorf("cache.go has %d functions New", n)
	}
	replaced := map[string]string{}
	for name, text := range map[string]string{
		"cache.go":        strings.Replace(string(text), newFunc, hookedNew, 1),
		"kinglet_test.go": hookTest,
	} {
		from := filepath.Join(dir, name)
		if err := write(from, []byte(text)); err != nil {
			return r, err
		}
		replaced[filepath.Join(pkg, name)] = from
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return r, err
	}
	if err := write(filepath.Join(dir, "overlay.json"), overlay); err != nil {
		return r, err
	}
	r.flags = []string{"-overlay=" + filepath.Join(dir, "overlay.json"), "-mod=mod"}
	r.modfile, err = hookedModfile(ctx, dir, r.dir, s.line)
	return r, err
}

// hookedModfile writes controller-runtime's go.mod with kinglet's modules.
func hookedModfile(ctx context.Context, dir, module, line string) (string, error) {
	top, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	cache := filepath.Join(top, "cache")
	if line != "" {
		cmd := exec.CommandContext(ctx, "go", "run", "-C", filepath.Join(top, "release"), "./line", "cache", line)
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("the line %s of module cache: %w", line, err)
		}
		made := strings.TrimSpace(string(out))
		cache = filepath.Join(dir, "cache")
		if err := errors.Join(copyTree(made, cache), os.RemoveAll(made)); err != nil {
			return "", err
		}
	}
	text, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return "", err
	}
	const path = "github.com/kinglet-go/kinglet"
	text = fmt.Appendf(text, "\nrequire %s/ctrlruntime v0.1.0\n", path)
	for name, folder := range map[string]string{
		"": top, "/cache": cache, "/ctrlruntime": filepath.Join(top, "ctrlruntime"),
		"/workqueue": filepath.Join(top, "workqueue"), "/kinglettest": filepath.Join(top, "kinglettest"),
	} {
		text = fmt.Appendf(text, "replace %s%s => %q\n", path, name, folder)
	}
	sum, err := os.ReadFile(filepath.Join(module, "go.sum"))
	if err != nil {
		return "", err
	}
	modfile := filepath.Join(dir, "kinglet.mod")
	return modfile, errors.Join(write(modfile, text), write(filepath.Join(dir, "kinglet.sum"), sum))
}

// copyTree makes to a copy of a folder.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return write(filepath.Join(to, rel), text)
	})
}
