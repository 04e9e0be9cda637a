package release

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Dependencies returns the paths of the modules of which a program links code that
// imports every package of m, requires m and nothing newer; sorted, without those of this
// repository. repository is the folder of the root module.
func (m Module) Dependencies(repository string) ([]string, error) {
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
	packages, err := goList(dir, row.Env(), "./...")
	if err != nil {
		return nil, err
	}
	packages = slices.DeleteFunc(packages, func(p string) bool {
		return slices.Contains(strings.Split(p, "/"), "internal")
	})
	linked, err := linkedModules(dir, row.Env(), packages...)
	return slices.DeleteFunc(linked, func(p string) bool { return p == Path || strings.HasPrefix(p, Path+"/") }), err
}

// linkedModules returns the paths of the modules of which the packages link code, sorted,
// without the main module in dir and without the standard library.
func linkedModules(dir string, env []string, packages ...string) ([]string, error) {
	const modules = `{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}`
	linked, err := goList(dir, env, append([]string{"-deps", "-f", modules}, packages...)...)
	slices.Sort(linked)
	return slices.Compact(linked), err
}

// goList returns the words that "go list" prints.
func goList(dir string, env []string, args ...string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Env = dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	return strings.Fields(string(out)), nil
}
