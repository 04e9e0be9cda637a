package conformance_test

import (
	"flag"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/parity"
	"github.com/kinglet-go/kinglet/kinglettest/conformance"
)

var rewrite = flag.Bool("rewrite", false, "write the differences into package cache's doc.go, in place of comparing them")

func TestTheDocumentedDifferencesAreThoseThatTheSuiteTests(t *testing.T) {
	parity.Documented(t, "../../cache/doc.go", conformance.DifferencesDoc(), "// # Keys", *rewrite)
}
