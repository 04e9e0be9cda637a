package queues_test

import (
	"flag"
	"testing"

	"github.com/kinglet-go/kinglet/internal/parity"
	"github.com/kinglet-go/kinglet/kinglettest/conformance/queues"
)

var rewrite = flag.Bool("rewrite", false, "write the differences into package workqueue's doc.go, in place of comparing them")

func TestTheDocumentedDifferencesAreThoseThatTheSuiteTests(t *testing.T) {
	parity.Documented(t, "../../../workqueue/doc.go", queues.DifferencesDoc(), "// # What stays", *rewrite)
}
