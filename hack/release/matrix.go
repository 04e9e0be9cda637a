package release

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
)

// Row is one module with one version of Kubernetes.
type Row struct {
	Module
	// With is the version of the modules k8s.io/... .
	With string
	// Go is the toolchain: the oldest that this version of Kubernetes is compiled
	// with and the module allows, where that is not the one at hand.
	Go string
}

// Matrix is each module with the newest patch of every minor that it says it
// works with.
var Matrix = []Row{
	row(".", "", "v0.34.13", "go1.25.9"),
	row(".", "", "v0.35.10", "go1.25.9"),
	row(".", "", "v0.36.6", ""),
	row(".", "", "v0.37.2", ""),
	row("workqueue", "", "v0.34.13", "go1.25.9"),
	row("workqueue", "", "v0.35.10", "go1.25.9"),
	row("workqueue", "", "v0.36.6", ""),
	row("workqueue", "", "v0.37.2", ""),
	row("prometheus", "", "v0.34.13", "go1.25.9"),
	row("prometheus", "", "v0.35.10", "go1.25.9"),
	row("prometheus", "", "v0.36.6", ""),
	row("prometheus", "", "v0.37.2", ""),
	row("cache", "0.36", "v0.36.6", ""),
	row("cache", "0.36", "v0.37.2", ""),
	row("cache", "", "v0.37.2", ""),
	row("ctrlruntime", "", "v0.36.6", ""),
	row("ctrlruntime", "", "v0.37.2", ""),
}

func row(dir, line, with, toolchain string) Row {
	for _, m := range Modules {
		if m.Dir == dir && m.Line == line {
			return Row{Module: m, With: with, Go: toolchain}
		}
	}
	panic("BUG: the matrix has a module that is not released: " + dir + " " + line)
}

// String names the row.
func (r Row) String() string {
	name := r.Path()
	if r.Go != "" {
		return name + " with Kubernetes " + r.With + " and " + r.Go
	}
	return name + " with Kubernetes " + r.With
}

// Lay copies the row's module into the empty folder to, beside the modules that it
// requires, and returns its own folder there. Its go.mod requires the row's
// Kubernetes, and is not tidied.
func (r Row) Lay(repository, to string) (string, error) {
	replaced := map[string]string{}
	for _, named := range Modules {
		m, ok := RequiredOn(r.With, named.Dir)
		dir := filepath.Join(to, m.Dir)
		if !ok || m.Dir == r.Dir || replaced[m.Path()] != "" {
			continue
		}
		if err := m.Copy(repository, dir); err != nil {
			return "", err
		}
		replaced[m.Path()] = dir
	}
	dir := filepath.Join(to, r.Dir)
	if err := r.Copy(repository, dir); err != nil {
		return "", err
	}
	return dir, edit(filepath.Join(dir, "go.mod"), func(f *modfile.File) error {
		for _, req := range f.Require {
			if at := replaced[req.Mod.Path]; at != "" {
				if err := f.AddReplace(req.Mod.Path, "", at, ""); err != nil {
					return err
				}
			}
			if OfKubernetes(req.Mod.Path) {
				if err := f.AddRequire(req.Mod.Path, r.With); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Env is the environment for the go command in the row's folder.
func (r Row) Env() []string {
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	if r.Go != "" {
		env = append(env, "GOTOOLCHAIN="+r.Go)
	}
	return env
}

// edit changes a go.mod.
func edit(file string, change func(*modfile.File) error) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	f, err := modfile.Parse(file, b, nil)
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	f.Cleanup()
	if b, err = f.Format(); err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o644)
}

// ofKubernetesLine reports that a module is required in the version that
// client-go requires.
func ofKubernetesLine(module string) bool {
	return strings.HasPrefix(module, "k8s.io/") && !OfKubernetes(module)
}
