package main

import (
	"strings"
	"testing"
)

func TestASuiteThatWouldRunOverClientGoIsRefused(t *testing.T) {
	tr := &tree{modfile: "go.mod", cache: kinglet} // nothing is swapped
	for pkg, want := range map[string]string{
		"k8s.io/client-go/tools/watch":           "package k8s.io/client-go/tools/watch still imports",
		"k8s.io/client-go/kubernetes_test":       "package k8s.io/client-go/informers/",
		"k8s.io/client-go/tools/cache/synctrack": "do not use kinglet's cache",
	} {
		err := tr.proveSwapped(t.Context(), suite{name: "s", packages: []string{pkg}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", pkg, err, want)
		}
	}
}

func TestOneImportIsSwapped(t *testing.T) {
	tr := &tree{cache: kinglet}
	for before, after := range map[string]string{
		"import \"k8s.io/client-go/tools/cache\"":                                              "import \"" + kinglet + "\"",
		"import c \"k8s.io/client-go/tools/cache\" // k8s.io/client-go/tools/cache":            "import c \"" + kinglet + "\" // k8s.io/client-go/tools/cache",
		"import \"k8s.io/client-go/tools/cache/synctrack\"":                                    "import \"k8s.io/client-go/tools/cache/synctrack\"",
		"import a \"k8s.io/client-go/tools/cache\"\nimport b \"k8s.io/client-go/tools/cache\"": "import a \"" + kinglet + "\"\nimport b \"" + kinglet + "\"",
	} {
		text, err := tr.swapImport("a.go", []byte("package p\n"+before+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "package p\n" + after + "\n"; string(text) != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
}
