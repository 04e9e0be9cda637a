package release

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// libraries are the modules that a program links in place of client-go's packages.
var libraries = []string{".", "workqueue", "cache"}

// TestALibraryLinksNothingThatClientGoDoesNot: a program that has client-go gets no code
// but kinglet's own, and no licence that it has not.
func TestALibraryLinksNothingThatClientGoDoesNot(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range Modules {
		if !slices.Contains(libraries, m.Dir) {
			continue
		}
		t.Run(m.String(), func(t *testing.T) {
			dependencies, err := m.Dependencies(repository)
			if err != nil {
				t.Fatal(err)
			}
			clientGo := linkedByClientGo(t, m.Kubernetes)
			for _, d := range dependencies {
				if !slices.Contains(clientGo, d) {
					t.Errorf("%s links %s, which client-go does not", m.Path(), d)
				}
			}
			if len(dependencies) < 3 {
				t.Errorf("%s links %v: too few to be true", m.Path(), dependencies)
			}
		})
	}
}

// linkedByClientGo are the modules that client-go's own packages link, and client-go.
func linkedByClientGo(t *testing.T, version string) []string {
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
	linked, err := linkedModules(dir, env, "k8s.io/client-go/...")
	if err != nil {
		t.Fatal(err)
	}
	return linked
}
