package release

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Copy copies what git knows of the module's folder, or would be told of, into
// the empty folder to, without the modules inside it and without what Without
// names. repository is the folder of the root module. Its go.mod then says what
// the release's does.
func (m Module) Copy(repository, to string) error {
	from := filepath.Join(repository, m.Dir)
	files, err := known(from)
	if err != nil {
		return err
	}
	var inside []string
	for _, f := range files {
		if dir, name := filepath.Split(f); name == "go.mod" && dir != "" {
			inside = append(inside, dir)
		}
	}
	for _, f := range files {
		if slices.Contains(m.Without, f) || slices.ContainsFunc(inside, func(dir string) bool { return strings.HasPrefix(f, dir) }) {
			continue
		}
		if err := copyFile(filepath.Join(from, f), filepath.Join(to, f)); err != nil {
			return err
		}
	}
	return m.rewrite(filepath.Join(to, "go.mod"))
}

// known are the files below dir, relative to it, that are or would be in git.
func known(dir string) ([]string, error) {
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files in %s: %w", dir, err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	return slices.DeleteFunc(files, func(f string) bool {
		_, err := os.Lstat(filepath.Join(dir, f))
		return err != nil // deleted, and git not told yet
	}), nil
}

func copyFile(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	info, err := os.Lstat(from)
	if err != nil || info.Mode()&fs.ModeType != 0 {
		return err // a link is no part of a module
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, info.Mode().Perm())
}

// rewrite makes the requirements of a line. What is left out is found by "go mod
// tidy".
func (m Module) rewrite(file string) error {
	if m.Line == "" {
		return nil
	}
	return edit(file, func(f *modfile.File) error {
		var out []string
		for _, r := range f.Require {
			switch {
			case r.Indirect || ofKubernetesLine(r.Mod.Path):
				out = append(out, r.Mod.Path)
			case OfKubernetes(r.Mod.Path):
				if err := f.AddRequire(r.Mod.Path, m.Kubernetes); err != nil {
					return err
				}
			}
		}
		for _, p := range out {
			if err := f.DropRequire(p); err != nil {
				return err
			}
		}
		return nil
	})
}

// OfKubernetes reports that a module has Kubernetes' version numbers.
func OfKubernetes(module string) bool {
	switch module {
	case "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/cli-runtime", "k8s.io/apiextensions-apiserver":
		return true
	}
	return false
}
