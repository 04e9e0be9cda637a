package release

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

func goMod(t *testing.T, dir string) *modfile.File {
	t.Helper()
	file := filepath.Join("..", "..", dir, "go.mod")
	b, err := os.ReadFile(file)
	must(t, err)
	f, err := modfile.Parse(file, b, nil)
	must(t, err)
	return f
}

// TestWhatATaggedModuleRequiresIsTaggedToo: it requires its siblings in the
// versions that are tagged with it, Kubernetes in the oldest version that it
// works with, and replaces nothing, which an importer would not see; a program replaces
// nothing by a folder, which is not in its module.
func TestWhatATaggedModuleRequiresIsTaggedToo(t *testing.T) {
	for _, m := range Modules {
		if m.Line != "" {
			continue
		}
		f := goMod(t, m.Dir)
		if f.Module.Mod.Path != m.Path() {
			t.Errorf("%s is the module %s", m.Dir, f.Module.Mod.Path)
		}
		for _, r := range f.Replace {
			if !m.Program || r.New.Version == "" {
				t.Errorf("%s replaces %s", m, r.Old)
			}
		}
		for _, r := range f.Require {
			path, version := r.Mod.Path, r.Mod.Version
			if dir, ours := strings.CutPrefix(path, Path); ours {
				sibling, tagged := RequiredOn(m.Kubernetes, max(strings.TrimPrefix(dir, "/"), "."))
				if !tagged || sibling.Version != version {
					t.Errorf("%s requires %s, want %v", m, r.Mod, sibling)
				}
			}
			for _, replaced := range f.Replace {
				if replaced.Old.Path == path {
					version = replaced.New.Version
				}
			}
			if OfKubernetes(path) && version != m.Kubernetes {
				t.Errorf("%s requires %s, want %s", m, r.Mod, m.Kubernetes)
			}
		}
	}
}

// TestTheWorkspaceHasTheNextVersions: whoever works here needs no version that
// nobody can download yet.
func TestTheWorkspaceHasTheNextVersions(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "go.work"))
	must(t, err)
	f, err := modfile.ParseWork("go.work", b, nil)
	must(t, err)
	for _, m := range Modules {
		here := func(r *modfile.Replace) bool { return r.Old.Path == m.Path() && r.Old.Version == m.Version }
		if m.Line == "" && !m.Program && !slices.ContainsFunc(f.Replace, here) {
			t.Errorf("go.work does not replace %s", m)
		}
	}
}

// TestStartClusterTakesTheControlPlaneOfThisRelease: whoever has kinglettest from a proxy
// gets the program that was tagged with it.
func TestStartClusterTakesTheControlPlaneOfThisRelease(t *testing.T) {
	m, _ := Required("cluster")
	if source := read(t, "../../kinglettest/clusterbuild.go"); !strings.Contains(source, "clusterVersion = \""+m.Version+"\"\n") {
		t.Errorf("clusterVersion of kinglettest is not %s", m.Version)
	}
}

// TestALibraryIsBuiltFromWhatClientGoHas: whatever a program links that imports any package
// of the root, workqueue or cache is ours, of Kubernetes' three modules or of what these
// require, or of the standard library.
func TestALibraryIsBuiltFromWhatClientGoHas(t *testing.T) {
	internal := func(path string) bool { return strings.Contains(path, "/internal/") }
	for dir, allowed := range map[string][]string{
		".":         nil,
		"workqueue": {"golang.org/x/time", "k8s.io/klog/v2", "k8s.io/utils"},
		"cache":     {"k8s.io/klog/v2", "k8s.io/utils"},
	} {
		allowed = append(allowed, Path, "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go")
		at := filepath.Join("..", "..", dir)
		public := slices.DeleteFunc(strings.Fields(string(list(t, at, "./..."))), internal)
		imports := strings.Fields(string(list(t, at, append([]string{"-deps", "-f", `{{if not .Standard}}{{$p := .ImportPath}}{{range .Imports}}{{$p}}>{{.}} {{end}}{{end}}`}, public...)...)))
		ours := 0
		for _, i := range imports {
			importer, imported, _ := strings.Cut(i, ">")
			if !strings.HasPrefix(importer, Path) {
				continue
			}
			ours++
			within := func(module string) bool { return imported == module || strings.HasPrefix(imported, module+"/") }
			if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") && !slices.ContainsFunc(allowed, within) {
				t.Errorf("%s imports %s", importer, imported)
			}
		}
		if ours < 20 {
			t.Errorf("%s: only %d imports were looked at", dir, ours)
		}
	}
}

// TestEveryTaggedModuleIsInTheTableOfVersions: docs/upgrading.md has a row for each, with
// the oldest Kubernetes, the version of Go and the tag.
func TestEveryTaggedModuleIsInTheTableOfVersions(t *testing.T) {
	var rows []string
	for line := range strings.Lines(read(t, "../../docs/upgrading.md")) {
		if strings.HasPrefix(line, "| `kinglet") {
			rows = append(rows, line)
		}
	}
	if len(rows) != len(Modules) {
		t.Errorf("docs/upgrading.md has %d modules, %d are tagged", len(rows), len(Modules))
	}
	for _, m := range Modules {
		tag, prefix := m.Dir+"/", strings.TrimSuffix(path.Join("kinglet", m.Dir), "/")
		if m.Dir == "." {
			tag = ""
		}
		version := "v0.x.y"
		if m.Dir == "cache" {
			version = strings.TrimSuffix(m.Version, "0") + "y"
		}
		kubernetes := strings.TrimPrefix(semver.MajorMinor(m.Kubernetes), "v")
		golang := goMod(t, m.Dir).Go.Version
		if !slices.ContainsFunc(rows, func(row string) bool {
			return strings.HasPrefix(row, "| `"+prefix+"`") &&
				strings.HasSuffix(row, "| "+kubernetes+" and later | "+strings.TrimSuffix(golang, ".0")+" | `"+tag+version+"` |\n")
		}) {
			t.Errorf("docs/upgrading.md has no row of `%s` with %s and later | %s | `%s%s`", prefix, kubernetes, golang, tag, version)
		}
	}
}
