package parity

import (
	"os"
	"strings"
	"testing"
)

// Documented fails the test if the list of differences in file, a doc.go, is not want.
// The list begins with "//   - When " and ends before next, the line that follows it.
// With rewrite, Documented writes the list instead.
func Documented(t *testing.T, file, want, next string, rewrite bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const begin = "//   - When "
	end := "//\n" + next + "\n"
	before, rest, found := strings.Cut(string(text), begin)
	list, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no list between %q and %q", file, begin, end)
	}
	if begin+list == want {
		return
	}
	if rewrite {
		if err := os.WriteFile(file, []byte(before+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s lists other differences; go test -run Differences -args -rewrite writes them. It should have:\n%s", file, want)
}
