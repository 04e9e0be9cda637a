package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// linked is what "go list -json" says of a package.
type linked struct {
	ImportPath, Dir, Name string
	GoFiles, CgoFiles     []string
	SFiles, SysoFiles     []string
	Imports               []string
}

// TestUnsafeIsLinkedFromOneFolder of ours, whatever of it a program imports: nothing
// else has a package that imports unsafe, one with cgo, assembly or object files, or one
// that opens fields by reflection. docs/security.md names it.
func TestUnsafeIsLinkedFromOneFolder(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Modules {
		if seen[m.Dir] || m.Dir == "cluster" { // nobody links it, and it is outside go.work
			continue
		}
		seen[m.Dir] = true
		for _, p := range linkedBy(t, m) {
			in := func(dir string) bool { return strings.HasPrefix(p.ImportPath+"/", Path+"/"+dir+"/") }
			if why := unsafety(t, p); why != "" && !in("internal/wire") {
				t.Errorf("%s links %s, which %s", m.Path(), p.ImportPath, why)
			}
		}
	}
}

// TestTheFolderHasUnsafe, or the test above looks at nothing.
func TestTheFolderHasUnsafe(t *testing.T) {
	got := "is not linked"
	for _, p := range linkedBy(t, Modules[0]) {
		if p.ImportPath == Path+"/internal/wire" {
			got = unsafety(t, p)
		}
	}
	if got != "imports unsafe" {
		t.Errorf("internal/wire %q", got)
	}
}

// linkedBy returns the packages of this repository that a program links which
// imports all that it can of a module: those that are not internal, and what they
// import.
func linkedBy(t *testing.T, m Module) []linked {
	t.Helper()
	dir := filepath.Join("..", "..", m.Dir)
	var public []string
	for path := range strings.FieldsSeq(string(list(t, dir, "./..."))) {
		if !slices.Contains(strings.Split(path, "/"), "internal") {
			public = append(public, path)
		}
	}
	var all []linked
	d := json.NewDecoder(bytes.NewReader(list(t, dir, append([]string{"-deps", "-json"}, public...)...)))
	for {
		var p linked
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if strings.HasPrefix(p.ImportPath+"/", Path+"/") {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		t.Errorf("%s links nothing of %s", m.Path(), Path)
	}
	return all
}

// list is "go list" in a folder.
func list(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v\n%s", dir, err, &stderr)
	}
	return out
}

// unsafety is what of a package the compiler does not check; "" for nothing.
func unsafety(t *testing.T, p linked) string {
	t.Helper()
	switch {
	case slices.Contains(p.Imports, "unsafe"):
		return "imports unsafe"
	case len(p.CgoFiles)+len(p.SFiles)+len(p.SysoFiles) > 0:
		return "has files that are not Go"
	}
	for _, file := range p.GoFiles {
		b, err := os.ReadFile(filepath.Join(p.Dir, file))
		must(t, err)
		if bytes.Contains(b, []byte("reflect.NewAt(")) {
			return "calls reflect.NewAt"
		}
	}
	return ""
}
