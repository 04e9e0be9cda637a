package rules

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the table in docs/observability.md")

const (
	docs  = "../../docs/observability.md"
	begin = "<!-- table of metrics: go test -C prometheus -run Table -rewrite, then GOWORK=off go test -C prometheus/rules -run Docs -rewrite -->\n"
	end   = "<!-- end of the table of metrics -->\n"
)

func TestTheDocsHaveAllMetrics(t *testing.T) {
	table, err := os.ReadFile("../testdata/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	got, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the marks around the table are gone")
	}
	want := "\n" + string(table) + "\n"
	if got == want {
		return
	}
	if !*rewrite {
		t.Fatal("the table is not that of prometheus/testdata/metrics.md; -rewrite")
	}
	if err := os.WriteFile(docs, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Somebody who is woken by an alert looks for its name.
func TestTheDocsHaveAParagraphForEachAlert(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range readRules(t) {
		if !strings.Contains(string(text), "**"+r.Alert+".**") {
			t.Errorf("%s has no paragraph", r.Alert)
		}
		for _, name := range []string{"summary", "description", "action"} {
			if r.Annotations[name] == "" {
				t.Errorf("%s has no %s", r.Alert, name)
			}
		}
	}
}
