package prometheus

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata")

// table is all metrics, as docs/observability.md has them: a test of module release
// compares that with this file.
func table() string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | what it says, and what to do |\n| --- | --- | --- | --- |\n")
	for _, f := range NewCollector(nil, everything).served {
		name := "`" + f.name + "`"
		if f.detailed {
			name += " (detailed)"
		}
		labels := strings.Join(f.labels, ", ")
		if all := strings.Join(ofInformer, ", "); strings.HasPrefix(labels, all) {
			labels = "of informers" + strings.TrimPrefix(labels, all)
		}
		fmt.Fprintf(&b, "| %s | %v | %s | %s |\n", name, f.kind, labels, f.help)
	}
	return b.String()
}

func TestTheTableOfMetricsIsUpToDate(t *testing.T) {
	const path = "testdata/metrics.md"
	if *rewrite {
		if err := os.WriteFile(path, []byte(table()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != table() {
		t.Error("testdata/metrics.md is not what is served: go test -C prometheus -run Table -rewrite")
	}
}
