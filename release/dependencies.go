package release

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Dependency is a module that a build of one of ours contains code of.
type Dependency struct {
	Path, Version string
	// Dir is where its source is.
	Dir string
	// Sum is the hash of its source in go.sum, "h1:…". Ours have none before they
	// are tagged.
	Sum string
	// Packages are how many of its packages are linked.
	Packages int
	// Imports are the modules that these packages import, sorted.
	Imports []string
}

// Dependencies returns the modules of which a program links code that imports every
// package of m, requires m and nothing newer; sorted by path. repository is the
// folder of the root module.
func (m Module) Dependencies(repository string) ([]Dependency, error) {
	tmp, err := os.MkdirTemp("", "dependencies")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	row := Row{Module: m, With: m.Kubernetes}
	dir, err := row.Lay(repository, tmp)
	if err != nil {
		return nil, err
	}
	packages, err := importable(dir, row.Env())
	if err != nil {
		return nil, err
	}
	linked, err := Linked(dir, row.Env(), packages...)
	for i := range linked {
		if ours(linked[i].Path) {
			linked[i].Dir = repository // not the copy, which goes away
		}
	}
	return linked, err
}

// importable are the packages in dir that other modules may import, and commands.
func importable(dir string, env []string) ([]string, error) {
	cmd := exec.Command("go", "list", "./...")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(p string) bool {
		return slices.Contains(strings.Split(p, "/"), "internal")
	}), nil
}

// Linked returns the modules of which the packages link code, without those of the
// main module in dir and without the standard library.
func Linked(dir string, env []string, packages ...string) ([]Dependency, error) {
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Standard,Imports,Module"}, packages...)...)
	cmd.Dir, cmd.Env = dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	var all []linkedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p linkedPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.Module != nil {
			all = append(all, p)
		}
	}
	sums, err := sumsOf(filepath.Join(dir, "go.sum"))
	if err != nil {
		return nil, err
	}
	return modulesOf(all, sums), nil
}

// linkedPackage is what "go list" says of a package.
type linkedPackage struct {
	ImportPath string
	Imports    []string
	Module     *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// modulesOf puts packages together by their modules.
func modulesOf(all []linkedPackage, sums map[string]string) []Dependency {
	moduleOf := map[string]string{}
	for _, p := range all {
		moduleOf[p.ImportPath] = p.Module.Path
	}
	found := map[string]*Dependency{}
	for _, p := range all {
		m := p.Module
		if m.Main {
			continue
		}
		d := found[m.Path]
		if d == nil {
			d = &Dependency{Path: m.Path, Version: m.Version, Dir: m.Dir, Sum: sums[m.Path+" "+m.Version]}
			found[m.Path] = d
		}
		d.Packages++
		for _, i := range p.Imports {
			if other := moduleOf[i]; other != "" && other != m.Path && !slices.Contains(d.Imports, other) {
				d.Imports = append(d.Imports, other)
			}
		}
	}
	var out []Dependency
	for _, d := range found {
		slices.Sort(d.Imports)
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b Dependency) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// sumsOf reads a go.sum: the hash of each module's source by its path and version.
func sumsOf(file string) (map[string]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if w := strings.Fields(s.Text()); len(w) == 3 && !strings.HasSuffix(w[1], "/go.mod") {
			sums[w[0]+" "+w[1]] = w[2]
		}
	}
	return sums, nil
}
