package cache_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/kinglettest/conformance"
)

var rewrite = flag.Bool("rewrite", false, "write the differences into doc.go, in place of comparing them")

func TestTheDocumentedDifferencesAreThoseThatTheSuiteTests(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "//   - When ", "//\n// # Keys\n"
	before, rest, found := strings.Cut(string(text), begin)
	list, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("doc.go has no list between %q and %q", begin, end)
	}
	want := conformance.DifferencesDoc()
	if begin+list == want {
		return
	}
	if *rewrite {
		if err := os.WriteFile("doc.go", []byte(before+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("doc.go lists other differences; go test ./cache -run Differences -args -rewrite writes them. It should have:\n%s", want)
}
