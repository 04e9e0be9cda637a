package follow

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/golden"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
	libtrouble "github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rewrite = golden.Rewrite()

var (
	forbidden = &trouble.Trouble{Kind: libtrouble.Forbidden, Text: "forbidden: list"}
	reset     = &trouble.Trouble{Kind: trouble.Unreachable, Text: "no connection: reset"}
	refused   = &trouble.Trouble{Kind: trouble.Unreachable, Text: "no connection: refused"}
	busy      = &trouble.Trouble{Kind: trouble.Throttled, Text: "busy"}
)

func TestASessionGivesUpOnlyIfNothingEverWorkedAndNothingIsGoingTo(t *testing.T) {
	start := time.Unix(1000, 0)
	of := func(synced bool, failing *trouble.Trouble, since time.Duration) *collection {
		return &collection{synced: synced, failures: failures{failing: failing, since: start.Add(-since)}}
	}
	good, was, starting := of(true, nil, 0), of(true, refused, time.Hour), of(false, nil, 0)
	denied, away, young, later := of(false, forbidden, 0), of(false, refused, patience), of(false, refused, patience-1), of(false, busy, time.Hour)
	for name, c := range map[string]struct {
		all  []*collection
		want bool
	}{
		"one forbidden":                            {[]*collection{denied}, true},
		"all forbidden":                            {[]*collection{denied, denied}, true},
		"one of two forbidden, the other fine":     {[]*collection{denied, good}, false},
		"one of two forbidden, the other starting": {[]*collection{denied, starting}, false},
		"refused for a while":                      {[]*collection{away}, true},
		"refused a moment ago":                     {[]*collection{young}, false},
		"forbidden and refused for a while":        {[]*collection{denied, away}, true},
		"worked before":                            {[]*collection{was, denied}, false},
		"the server says later":                    {[]*collection{later}, false},
		"starting":                                 {[]*collection{starting}, false},
	} {
		if s := (&session{collections: c.all}); s.hopeless(start) != c.want {
			t.Errorf("%s: got %v", name, !c.want)
		}
	}
}

func TestAFailureIsToldOnceUntilItChangesAndWhenItIsOver(t *testing.T) {
	start := time.Unix(1000, 0)
	var f failures
	for _, step := range []struct {
		at      time.Duration
		failing *trouble.Trouble
		want    string
	}{
		{0, nil, ""},
		{1 * time.Second, forbidden, "error: forbidden: list"},
		{2 * time.Second, forbidden, ""},
		{3 * time.Second, &trouble.Trouble{Kind: libtrouble.Forbidden, Text: "forbidden: watch"}, "error: forbidden: watch"},
		{5 * time.Second, nil, "works again after 4.0s"},
		{6 * time.Second, nil, ""},
		// What passes at once is not told, and words that change from try to try are no other error.
		{7 * time.Second, reset, ""},
		{7*time.Second + passing/2, nil, ""},
		{10 * time.Second, reset, ""},
		{10*time.Second + passing, refused, "error: no connection: refused"},
		{12 * time.Second, reset, ""},
		{13 * time.Second, busy, "error: busy"},
		{14 * time.Second, nil, "works again after 4.0s"},
	} {
		if got := strings.Join(f.observe(start.Add(step.at), step.failing), "\n"); got != step.want {
			t.Fatalf("at %v: %q, want %q", step.at, got, step.want)
		}
	}
}

func TestTheSameErrorOfSeveralResourcesIsOneLine(t *testing.T) {
	got := strings.Join(grouped([]note{{"pods", "error: no connection"}, {"nodes", "works again"}, {"jobs", "error: no connection"}}), "\n")
	if got != "error: pods, jobs: no connection\nnodes: works again" {
		t.Error(got)
	}
}

func TestSummariesLookAsReviewed(t *testing.T) {
	views := []view{
		{name: "pods", synced: true, objects: 1234, added: 40, modified: 12345, deleted: 38, bytes: 12 << 20},
		{name: "deployments.apps", synced: true, objects: 20, bytes: 1 << 10},
		{name: "secrets", trouble: "forbidden", errors: 17},
	}
	text := summary(views, 30123*time.Millisecond, memory{heap: 25 << 20, rss: 61 << 20}, "as long as --for said")
	golden.Check(t, *rewrite, "summary.txt", text+"\n")
}

func TestMemoryOfThisProcessIsPlausible(t *testing.T) {
	m := readMemory()
	if m.heap < 10_000 || m.heap > 1<<34 {
		t.Errorf("heap is %d", m.heap)
	}
	if m.rss != 0 && m.rss < m.heap {
		t.Errorf("RSS is %d, heap %d", m.rss, m.heap)
	}
}

func TestEventsAndNotesAreWrittenAsTheyAreAndNotesCannotSteerATerminal(t *testing.T) {
	var out, err bytes.Buffer
	o := NewOutput(&out, &err)
	if e := o.Event([]byte("event\n")); e != nil {
		t.Fatal(e)
	}
	o.Note("note\x1b[2J")
	if out.String() != "event\n" || err.String() != "note\uFFFD[2J\n" {
		t.Errorf("stdout %q, stderr %q", out.String(), err.String())
	}
}

func TestAStatusLineTellsObjectsProblemsRateAndMemory(t *testing.T) {
	m := memory{heap: 25 << 20, rss: 61 << 20}
	fine := []view{{name: "pods", synced: true, objects: 1234}, {name: "nodes", synced: true, objects: 20}}
	for want, got := range map[string]string{
		"pods 1,234 · nodes 20 │ 41 ev/s │ heap 25 MiB, RSS 61 MiB":              status(fine, 41.3, m),
		"pods syncing · nodes ✗ forbidden │ 5.0 ev/s │ heap 25 MiB, RSS 61 MiB":  status([]view{{name: "pods"}, {name: "nodes", trouble: "forbidden"}}, 5, m),
		"✗ unreachable: pods 7 · nodes 8 │ 0 ev/s │ heap 25 MiB":                 status([]view{{name: "pods", synced: true, objects: 7, trouble: "unreachable"}, {name: "nodes", synced: true, objects: 8, trouble: "unreachable"}}, 0, memory{heap: 25 << 20}),
		"pods 7 ✗ unreachable · nodes 20 │ 1,235 ev/s │ heap 25 MiB, RSS 61 MiB": status([]view{{name: "pods", synced: true, objects: 7, trouble: "unreachable"}, fine[1]}, 1234.5, m),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestProgressTellsHowFarAListHasCome(t *testing.T) {
	for want, v := range map[string]view{
		"1,200 of 50,000 objects, 1,200/s": {received: 1200, total: 50000, took: time.Second},
		"1,200 objects":                    {received: 1200},
		"0 objects":                        {},
	} {
		if got := v.progress(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
