package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestASuiteThatWouldRunOverClientGoIsRefused(t *testing.T) {
	tr := &tree{dir: t.TempDir()}
	if _, err := tr.pin(); err != nil {
		t.Fatal(err)
	}
	tr.modfile = filepath.Join(tr.dir, "go.mod") // nothing is swapped
	for pkg, want := range map[string]string{
		"k8s.io/client-go/tools/watch":           "still imports k8s.io/client-go/",
		"k8s.io/client-go/kubernetes_test":       "still imports k8s.io/client-go/",
		"k8s.io/client-go/util/workqueue":        "package k8s.io/client-go/util/workqueue_test",
		"k8s.io/client-go/tools/cache/synctrack": "do not use kinglet's packages",
	} {
		err := tr.proveSwapped(t.Context(), suite{name: "s", packages: []string{pkg}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pkg, err, want)
		}
	}
}

func TestOneImportIsSwapped(t *testing.T) {
	tr := &tree{}
	for before, after := range map[string]string{
		"import \"k8s.io/client-go/tools/cache\"":                                              "import \"" + kingletCache + "\"",
		"import c \"k8s.io/client-go/tools/cache\" // k8s.io/client-go/tools/cache":            "import c \"" + kingletCache + "\" // k8s.io/client-go/tools/cache",
		"import \"k8s.io/client-go/util/workqueue\"":                                           "import \"" + kingletQueue + "\"",
		"import \"k8s.io/client-go/tools/cache/synctrack\"":                                    "import \"k8s.io/client-go/tools/cache/synctrack\"",
		"import a \"k8s.io/client-go/tools/cache\"\nimport b \"k8s.io/client-go/tools/cache\"": "import a \"" + kingletCache + "\"\nimport b \"" + kingletCache + "\"",
	} {
		text, err := tr.swapImports("a.go", "", []byte("package p\n"+before+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "package p\n" + after + "\n"; string(text) != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}

func TestWhatADropInNeedsKeepsItsImport(t *testing.T) {
	tr := &tree{needs: map[string]map[string]bool{clientGoQueue: {"a": true}}}
	const before = "package p\nimport \"" + clientGoQueue + "\"\nimport \"" + clientGoCache + "\"\n"
	for pkg, queue := range map[string]string{"a": clientGoQueue, "b": kingletQueue} {
		text, err := tr.swapImports("a.go", pkg, []byte(before))
		if err != nil {
			t.Fatal(err)
		}
		if want := "package p\nimport \"" + queue + "\"\nimport \"" + kingletCache + "\"\n"; string(text) != want {
			t.Errorf("package %s: got %q, want %q", pkg, text, want)
		}
	}
}
