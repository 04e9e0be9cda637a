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
