package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A tree is copies of the modules whose packages import those of client-go's that
// kinglet has drop-ins for, with kinglet's in their place. The go command has them from there by replace
// directives; it allows no overlay over the module cache.
//
// The folder is a module that requires what testdata/suites.mod pins. It is the same in
// each run, since the go command compiles a package again if its folder is another.
type tree struct {
	dir     string
	pinned  string // the suites' modules as they are: a go.mod with kinglet's folders
	modfile string // the same with the copies in their place
	// clientGo is set to run the tests over client-go's packages, to see what they
	// do there.
	clientGo bool
	// needs has, for each package of client-go's with a drop-in, the packages that
	// the drop-in needs: those could not import it, and are left as they are.
	needs map[string]map[string]bool
}

// newTree copies the modules that the suites need, and swaps the import. Until
// unlock is called, no other process can have a tree in that folder.
func newTree(ctx context.Context, dir string, clientGo bool, suites []suite) (_ *tree, unlock func(), err error) {
	if unlock, err = lock(dir); err != nil {
		return nil, nil, err
	}
	t, err := fillTree(ctx, dir, clientGo, suites)
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return t, unlock, nil
}

func lock(dir string) (unlock func(), err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another run uses the folder %s; choose one with -dir: %w", dir, err), f.Close())
	}
	// Closing releases the lock, and cannot lose anything.
	return func() { _ = f.Close() }, nil
}

func fillTree(ctx context.Context, dir string, clientGo bool, suites []suite) (*tree, error) {
	t := &tree{
		dir: dir, pinned: filepath.Join(dir, "pinned.mod"), modfile: filepath.Join(dir, "go.mod"),
		clientGo: clientGo, needs: map[string]map[string]bool{},
	}
	mod, err := t.pin()
	if err != nil {
		return nil, err
	}
	return t, t.swapModules(ctx, mod, suites)
}

// swapModules copies the modules whose packages import one of those with a drop-in, and
// adds them to the go.mod.
func (t *tree) swapModules(ctx context.Context, mod []byte, suites []suite) error {
	for path, to := range dropIns {
		needs, err := list(ctx, t.pinned, "-deps", to)
		if err != nil {
			return err
		}
		t.needs[path] = map[string]bool{}
		for _, p := range needs {
			t.needs[path][p.ImportPath] = true
		}
	}
	args := []string{"-deps", "-test"}
	var skip []string
	for _, s := range suites {
		if s.hooked != "" {
			continue
		}
		args = append(args, s.packages...)
		if s.outside {
			skip = append(skip, s.packages...)
		}
	}
	pkgs, err := list(ctx, t.pinned, args...)
	if err != nil {
		return err
	}
	modules := map[string]*goModule{}
	for _, p := range pkgs {
		importPath, _, _ := strings.Cut(p.ImportPath, " ")
		if (slices.Contains(p.Imports, clientGoCache) || slices.Contains(p.Imports, clientGoQueue)) && p.Module != nil && !p.Module.Main && !isKinglet(importPath) {
			modules[p.Module.Path] = p.Module
		}
	}
	for _, s := range suites {
		if s.outside {
			// Its tests are changed even if nothing imports it.
			i := slices.IndexFunc(pkgs, func(p goPackage) bool { return p.ImportPath == s.packages[0] })
			modules[pkgs[i].Module.Path] = pkgs[i].Module
		}
	}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := modules[path]
		if err := t.copy(m, skip); err != nil {
			return fmt.Errorf("copy module %s: %w", m.Path, err)
		}
		mod = fmt.Appendf(mod, "\nreplace %s => %s\n", m.Path, strconv.Quote(t.module(m)))
	}
	return write(t.modfile, mod)
}

// pin makes the folder a module that requires what testdata/suites.mod does, and has
// kinglet's modules from the repository. It returns the text of its go.mod.
func (t *tree) pin() ([]byte, error) {
	top, err := repository()
	if err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join("testdata", "suites.mod"))
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{"", "/cache", "/kinglettest", "/workqueue"} {
		mod = fmt.Appendf(mod, "\nreplace github.com/kinglet-go/kinglet%s => %s\n", dir, strconv.Quote(top+dir))
	}
	sum, err := os.ReadFile(filepath.Join("testdata", "suites.sum"))
	if err != nil {
		return nil, err
	}
	return mod, t.writeModules(mod, sum)
}

// writeModules writes what pins the modules. The go command looks for a go.mod, whatever
// -modfile says.
func (t *tree) writeModules(mod, sum []byte) error {
	for name, text := range map[string][]byte{"go.mod": mod, "go.sum": sum, "pinned.mod": mod, "pinned.sum": sum} {
		if err := write(filepath.Join(t.dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

// repository is the folder of kinglet's root module, from the folder of this package.
func repository() (string, error) { return filepath.Abs(filepath.Join("..", "..")) }

func isKinglet(importPath string) bool {
	return strings.HasPrefix(importPath, "github.com/kinglet-go/kinglet/")
}

func (t *tree) module(m *goModule) string {
	return filepath.Join(t.dir, filepath.FromSlash(m.Path)+"@"+m.Version)
}

// copy makes the copy of a module, without the tests of the packages in skip.
func (t *tree) copy(m *goModule, skip []string) error {
	if m.Dir == "" {
		return errors.New("it is not in the module cache")
	}
	return filepath.WalkDir(m.Dir, func(from string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(m.Dir, from)
		if err != nil {
			return err
		}
		to := filepath.Join(t.module(m), rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o777)
		}
		pkg := path.Join(m.Path, filepath.ToSlash(filepath.Dir(rel)))
		if strings.HasSuffix(rel, "_test.go") && slices.Contains(skip, pkg) {
			return nil // cut decides what becomes of it
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if strings.HasSuffix(rel, ".go") && !strings.Contains(rel, "testdata") {
			if strings.HasSuffix(rel, "_test.go") {
				pkg = "" // nothing needs a test
			}
			if text, err = t.swapImports(from, pkg, text); err != nil {
				return err
			}
		}
		return write(to, text)
	})
}

// write writes a file, unless it has that text already.
func write(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return os.WriteFile(path, text, 0o666)
}
