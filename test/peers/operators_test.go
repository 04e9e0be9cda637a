package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAnOperatorsGoModCanBeRequired(t *testing.T) {
	got := string(requirable([]byte("module m\n\ngo 1.26.9\n\nreplace m/api => ./api\n\nreplace a => b v1.0.0\n\nrequire (\n\tm/api v0.0.0-00010101000000-000000000000\n)\n"), "v1.2.3"))
	want := "module m go 1.26.0 replace a => b v1.0.0 require ( m/api v1.2.3 )"
	if got = strings.Join(strings.Fields(got), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAnOperatorsPackagesAreThoseWithTestsBelowItsFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/a_test.go", "a/b_test.go", "a/b/b_test.go", "a/testdata/c_test.go", "a/venafi/d_test.go", "a/none/e.go", "f/f_test.go"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := operator{module: "m", folders: []string{"a"}, without: operators[0].without}
	if got, err := o.packages(dir); err != nil || !slices.Equal(got, []string{"m/a", "m/a/b"}) {
		t.Errorf("%v, %v", got, err)
	}
}
