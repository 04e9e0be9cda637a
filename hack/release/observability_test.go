package release

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the table in docs/observability.md")

// TestObservabilityHasTheTableOfMetrics: that of prometheus/testdata, which a test of
// module prometheus compares with what is served.
func TestObservabilityHasTheTableOfMetrics(t *testing.T) {
	const (
		docs  = "../../docs/observability.md"
		begin = "<!-- table of metrics: go test -C prometheus -run Table . -rewrite && go test -C hack -run Table ./release -rewrite -->\n\n"
		end   = "\n<!-- end of the table of metrics -->\n"
	)
	table, text := read(t, "../../prometheus/testdata/metrics.md"), read(t, docs)
	before, rest, ok := strings.Cut(text, begin)
	got, after, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		t.Fatal("the marks around the table are gone")
	case got == table:
	case !*rewrite:
		t.Fatal("the table is not that of prometheus/testdata/metrics.md; -rewrite")
	default:
		if err := os.WriteFile(docs, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAlertsAndDashboardAskForMetricsThatAreServed: promtool tests the alerts with
// samples that a person wrote, so it does not notice a metric that was renamed.
func TestAlertsAndDashboardAskForMetricsThatAreServed(t *testing.T) {
	served := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(kinglet_\\w+)`.*?\\| (\\w+) \\|").FindAllStringSubmatch(read(t, "../../prometheus/testdata/metrics.md"), -1) {
		served[m[1]] = true
		if m[2] == "histogram" {
			served[m[1]+"_bucket"] = true
		}
	}
	for _, file := range []string{"../../docs/alerts.yaml", "../../docs/alerts_test.yaml", "../../docs/grafana/kinglet.json"} {
		asked := regexp.MustCompile(`kinglet_\w+`).FindAllString(read(t, file), -1)
		if len(asked) < 8 {
			t.Errorf("%s asks for %d metrics", file, len(asked))
		}
		for _, name := range asked {
			if !served[name] {
				t.Errorf("%s asks for %s, which is not served", file, name)
			}
		}
	}
}

// TestEachAlertHasAParagraphAndATest: somebody who is woken by an alert looks for its
// name.
func TestEachAlertHasAParagraphAndATest(t *testing.T) {
	docs, tests := read(t, "../../docs/observability.md"), read(t, "../../docs/alerts_test.yaml")
	alerts := regexp.MustCompile(`(?m)^  - alert: (\w+)$`).FindAllStringSubmatch(read(t, "../../docs/alerts.yaml"), -1)
	if len(alerts) == 0 {
		t.Fatal("no alert was found")
	}
	for _, m := range alerts {
		if !strings.Contains(docs, "**"+m[1]+".**") {
			t.Errorf("docs/observability.md has no paragraph about %s", m[1])
		}
		if !strings.Contains(tests, "alertname: "+m[1]+"\n") {
			t.Errorf("docs/alerts_test.yaml does not test %s", m[1])
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
