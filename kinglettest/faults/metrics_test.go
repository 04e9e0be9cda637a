package faults_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest/internal/pipes"
	"github.com/kinglet-go/kinglet/prometheus"
	"github.com/kinglet-go/kinglet/status"
)

// shownBy are the metrics beside the problem's own that a cause changes, of which one is
// enough: as regular expressions for a line of the exposition, with L for the informer's
// labels.
var shownBy = map[status.Cause]string{
	status.CauseForbidden:      `kinglet_informer_errors_total{L,verb=".*",code="403"} [1-9]`,
	status.CauseUnauthorized:   `kinglet_informer_errors_total{L,verb=".*",code="401"} [1-9]`,
	status.CauseNotFound:       `kinglet_informer_errors_total{L,verb=".*",code="404"} [1-9]`,
	status.CauseInvalidRequest: `kinglet_informer_errors_total{L,verb=".*",code="400"} [1-9]`,
	status.CauseUnreachable:    `kinglet_informer_errors_total{L,verb=".*",code="network"} [1-9]`,
	status.CauseExpired:        `kinglet_informer_errors_total{L,verb=".*",code="410"} [1-9]`,
	status.CauseThrottled:      `kinglet_informer_errors_total{L,verb=".*",code="429"} [1-9]`,
	status.CauseServerError:    `kinglet_informer_errors_total{L,verb=".*",code="5xx"} [1-9]`,
	status.CauseShortWatch:     `kinglet_informer_watches_total{L,end=".*"} [1-9]`,
	status.CauseStalled:        `kinglet_informer_errors_total{L,verb="watch-list",code=".*"} [1-9]`,
	status.CauseNotSynced:      `kinglet_informer_synced{L} 0`,
	status.CauseSilent:         `kinglet_informer_last_contact_timestamp_seconds{L} [1-9]`,
	status.CauseQuarantine:     `kinglet_informer_quarantined{L} 1`,
	status.CauseDegraded:       `kinglet_informer_degraded{L} 1`,
	status.CauseRelisting:      `kinglet_informer_phase_start_timestamp_seconds{L,phase="(Listing|Streaming)"} [1-9]`,
	status.CauseProtocol:       `kinglet_informer_errors_total{L,verb=".*",code="protocol"} [1-9]`,
	status.CauseRestored:       `kinglet_informer_lists_total{L,cause="restored"} [1-9]`,
	status.CauseHandlerStalled: `kinglet_handler_call_start_timestamp_seconds{L,handler=".*"} [1-9]`,
}

// matches reports whether an expression, as those of shownBy, has a line in an exposition.
func matches(exposition, expression string) bool {
	expression = strings.ReplaceAll(strings.ReplaceAll(expression, "{", `\{`), "}", `\}`)
	expression = strings.ReplaceAll(expression, `\{L`, `\{informer="[^"]*",group="[^"]*",version="[^"]*",resource="[^"]*"`)
	return regexp.MustCompile("(?m)^" + expression).MatchString(exposition)
}

// scraped is a server of metrics that exists in memory, and a client of it.
type scraped struct {
	t      *testing.T
	server *http.Server
	client *http.Client
	done   chan struct{}
}

func newScraped(t *testing.T, h http.Handler) *scraped {
	conns := pipes.Listen()
	s := &scraped{t: t, server: &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}, done: make(chan struct{})}
	s.client = &http.Client{Transport: &http.Transport{DialContext: conns.Dial}}
	go func() { defer close(s.done); _ = s.server.Serve(conns) }()
	return s
}

func (s *scraped) close() {
	s.client.CloseIdleConnections()
	_ = s.server.Close()
	<-s.done
}

func (s *scraped) get() string {
	s.t.Helper()
	res, err := s.client.Get("http://metrics.test/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		s.t.Fatal(res.Status, err)
	}
	return string(body)
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
		metrics := newScraped(r.t, prometheus.NewCollector(set, prometheus.Options{}))
		return view{
			wrong: func() string {
				if text := metrics.get(); matches(text, problem) {
					return text
				}
				return ""
			},
			named: func() bool {
				text = metrics.get()
				missing = slices.DeleteFunc(missing, func(expression string) bool { return matches(text, expression) })
				return len(missing) == 0
			},
			seen:  func() string { return fmt.Sprintf("%q are missing of\n%s", missing, text) },
			close: metrics.close,
		}
	})
}
