// Package golden compares a test's output with a file in testdata, which is reviewed as
// text. Run the tests with -rewrite to write the files anew.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Rewrite registers the flag; call it once in a test package, as a variable's
// value.
func Rewrite() *bool {
	return flag.Bool("rewrite", false, "write the golden files anew")
}

// Check fails the test if got differs from the file of that name in testdata. With rewrite
// set, it writes the file.
func Check(t *testing.T, rewrite bool, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if diff := cmp.Diff(string(want), got); err != nil || diff != "" {
		t.Errorf("%s differs (-file +got), %v; review, then run with -rewrite:\n%s", path, err, diff)
	}
}
