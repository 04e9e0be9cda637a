package faults_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	clientgolang "github.com/prometheus/client_golang/prometheus"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/prometheus"
	"github.com/kinglet-go/kinglet/status"
)

// shownBy are the metrics beside the problem's own that a cause changes, of which one is
// enough: as regular expressions for a line of the exposition, with L for the informer's
// labels.
var shownBy = map[status.Cause]string{
	status.CauseForbidden:      `kinglet_informer_errors_total{L,code="403",verb=".*"} [1-9]`,
	status.CauseUnauthorized:   `kinglet_informer_errors_total{L,code="401",verb=".*"} [1-9]`,
	status.CauseNotFound:       `kinglet_informer_errors_total{L,code="404",verb=".*"} [1-9]`,
	status.CauseInvalidRequest: `kinglet_informer_errors_total{L,code="400",verb=".*"} [1-9]`,
	status.CauseUnreachable:    `kinglet_informer_errors_total{L,code="network",verb=".*"} [1-9]`,
	status.CauseExpired:        `kinglet_informer_errors_total{L,code="410",verb=".*"} [1-9]`,
	status.CauseThrottled:      `kinglet_informer_errors_total{L,code="429",verb=".*"} [1-9]`,
	status.CauseServerError:    `kinglet_informer_errors_total{L,code="5xx",verb=".*"} [1-9]`,
	status.CauseShortWatch:     `kinglet_informer_watches_total{L,end=".*"} [1-9]`,
	status.CauseStalled:        `kinglet_informer_errors_total{L,code=".*",verb="watch-list"} [1-9]`,
	status.CauseNotSynced:      `kinglet_informer_synced{L} 0`,
	status.CauseSilent:         `kinglet_informer_last_contact_timestamp_seconds{L} [1-9]`,
	status.CauseQuarantine:     `kinglet_informer_quarantined{L} 1`,
	status.CauseDegraded:       `kinglet_informer_degraded{L} 1`,
	status.CauseRelisting:      `kinglet_informer_phase_start_timestamp_seconds{L,phase="(Listing|Streaming)"} [1-9]`,
	status.CauseProtocol:       `kinglet_informer_errors_total{L,code="protocol",verb=".*"} [1-9]`,
	status.CauseRestored:       `kinglet_informer_lists_total{L,cause="restored"} [1-9]`,
	status.CauseHandlerStalled: `kinglet_handler_call_start_timestamp_seconds{L,handler=".*"} [1-9]`,
}

// matches reports whether an expression, as those of shownBy, has a line in an exposition.
func matches(exposition, expression string) bool {
	expression = strings.ReplaceAll(strings.ReplaceAll(expression, "{", `\{`), "}", `\}`)
	expression = strings.ReplaceAll(expression, `\{L`, `\{informer="[^"]*",group="[^"]*",version="[^"]*",resource="[^"]*"`)
	return regexp.MustCompile("(?m)^" + expression).MatchString(exposition)
}

// scrape returns the gauges and counters of a collector, a line each. The labels of
// informers come first, and the others in the order of their names.
func scrape(t *testing.T, c clientgolang.Collector) string {
	t.Helper()
	registry := clientgolang.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.Metric {
			first := []string{"", "", "", ""}
			var more []string
			for _, l := range m.Label {
				text := fmt.Sprintf("%s=%q", l.GetName(), l.GetValue())
				if i := slices.Index([]string{"informer", "group", "version", "resource"}, l.GetName()); i >= 0 {
					first[i] = text
				} else {
					more = append(more, text)
				}
			}
			fmt.Fprintf(&b, "%s{%s} %v\n", f.GetName(), strings.Join(append(first, more...), ","), m.GetGauge().GetValue()+m.GetCounter().GetValue())
		}
	}
	return b.String()
}

func TestTheMetricsNameEachFaultWithinFiveSecondsOfWhenItCanBeKnown(t *testing.T) {
	eachFaultIsNamed(t, func(r *rig, f *named, set *kinglet.Set) view {
		if shownBy[f.cause] == "" || f.or != "" && shownBy[f.or] == "" {
			r.t.Fatalf("no metric is known to show %s or %s", f.cause, f.or)
		}
		cause, shown := string(f.cause), shownBy[f.cause]
		if f.or != "" {
			cause, shown = "(?:"+cause+"|"+string(f.or)+")", "(?:"+shown+"|"+shownBy[f.or]+")"
		}
		problem := `kinglet_informer_problem_start_timestamp_seconds{L,cause="` + cause + `",severity=".*"} `
		missing, text := []string{problem, shown}, ""
		collector := prometheus.NewCollector(set, prometheus.Options{})
		return view{
			wrong: func() string {
				if text := scrape(r.t, collector); matches(text, problem) {
					return text
				}
				return ""
			},
			named: func() bool {
				text = scrape(r.t, collector)
				missing = slices.DeleteFunc(missing, func(expression string) bool { return matches(text, expression) })
				return len(missing) == 0
			},
			seen: func() string { return fmt.Sprintf("%q are missing of\n%s", missing, text) },
		}
	})
}
