package release

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// libraries are the modules that a program links in place of client-go's packages.
var libraries = []string{".", "workqueue", "cache"}

// TestALibraryLinksNothingThatClientGoDoesNotAndUnderKnownLicences: a program that
// has client-go gets no code but kinglet's own.
func TestALibraryLinksNothingThatClientGoDoesNotAndUnderKnownLicences(t *testing.T) {
	repository := filepath.Dir(mustAbs(t))
	for _, m := range Modules {
		if !slices.Contains(libraries, m.Dir) {
			continue
		}
		t.Run(m.String(), func(t *testing.T) {
			dependencies, objections, err := m.Review(repository)
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objections {
				t.Error(o)
			}
			clientGo := linkedByClientGo(t, m.Kubernetes)
			for _, d := range dependencies {
				if !ours(d.Path) && !slices.ContainsFunc(clientGo, func(c Dependency) bool { return c.Path == d.Path }) {
					t.Errorf("%s links %s, which client-go does not", m.Path(), d.Path)
				}
			}
			if len(dependencies) < 5 {
				t.Errorf("%s links %d modules: too few to be true", m.Path(), len(dependencies))
			}
		})
	}
}

func mustAbs(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// linkedByClientGo are the modules that client-go's own packages link.
func linkedByClientGo(t *testing.T, version string) []Dependency {
	t.Helper()
	dir := t.TempDir()
	mod := "module stranger\n\ngo 1.25\n\nrequire k8s.io/client-go " + version + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	// The first request fills go.sum.
	if err := run(dir, env, "list", "-deps", "k8s.io/client-go/..."); err != nil {
		t.Fatal(err)
	}
	linked, err := Linked(dir, env, "k8s.io/client-go/...")
	if err != nil {
		t.Fatal(err)
	}
	return append(linked, Dependency{Path: "k8s.io/client-go"})
}

func TestALicenceIsReadFromItsText(t *testing.T) {
	names, err := Licenses("..")
	if err != nil || !slices.Equal(names, []string{"Apache-2.0"}) {
		t.Errorf("kinglet's own licence is %v, %v", names, err)
	}
	dir := t.TempDir()
	if names, err := Licenses(dir); err != nil || len(names) > 0 {
		t.Errorf("a module without one has %v, %v", names, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "LICENSE"), []byte("You may look at this, and nothing else."), 0o644); err != nil {
		t.Fatal(err)
	}
	if names, err := Licenses(dir); err != nil || len(names) > 0 {
		t.Errorf("an unknown licence is taken for %v, %v", names, err)
	}
}
