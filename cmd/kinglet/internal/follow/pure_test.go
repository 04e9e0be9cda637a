package follow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-runewidth"
	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/golden"
	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/trouble"
	libtrouble "github.com/kinglet-go/kinglet/internal/trouble"
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

func TestARateFollowsWhatHappens(t *testing.T) {
	var r rate
	start := time.Unix(1000, 0)
	got := r.add(start, 0)
	if got != 0 {
		t.Error("one sample, yet a rate")
	}
	for i := range 100 { // 10 a second
		got = r.add(start.Add(time.Duration(i)*100*time.Millisecond), int64(i))
	}
	if got < 9.8 || got > 10.1 {
		t.Errorf("got %v, want 10", got)
	}
	for i := range 100 { // then nothing for 10 s
		got = r.add(start.Add(10*time.Second+time.Duration(i)*100*time.Millisecond), 99)
	}
	if got > 0.1 {
		t.Errorf("got %v after a long pause", got)
	}
}

func situations() map[string]vitals {
	memory := memory{heap: 25 << 20, rss: 61 << 20}
	fine := []view{
		{name: "pods", synced: true, objects: 1234},
		{name: "deployments", synced: true, objects: 20},
		{name: "nodes", synced: true, objects: 20},
	}
	with := func(change func([]view)) []view {
		views := append([]view(nil), fine...)
		change(views)
		return views
	}
	return map[string]vitals{
		"1 fine":                        {views: fine, perSecond: 41.3, memory: memory},
		"2 syncing":                     {took: time.Second, views: with(func(v []view) { v[0] = view{name: "pods", received: 1200, total: 50000} }), memory: memory},
		"3 syncing without an estimate": {views: with(func(v []view) { v[0] = view{name: "pods", received: 1200} }), memory: memory},
		"5 one forbidden":               {views: with(func(v []view) { v[2] = view{name: "nodes", trouble: "forbidden"} }), perSecond: 5, memory: memory},
		"6 server gone": {views: with(func(v []view) {
			for i := range v {
				v[i].trouble = "unreachable"
			}
		}), memory: memory},
		"7 one resource, no RSS": {views: fine[:1], perSecond: 1234.5, memory: struct{ heap, rss uint64 }{25 << 20, 0}},
	}
}

func TestStatusLinesLookAsReviewed(t *testing.T) {
	var b strings.Builder
	all := situations()
	for _, name := range []string{"1 fine", "2 syncing", "3 syncing without an estimate", "5 one forbidden", "6 server gone", "7 one resource, no RSS"} {
		fmt.Fprintf(&b, "# %s\n", name)
		last := ""
		v := all[name]
		for _, width := range []int{0, 100, 80, 60, 40, 20} {
			line := v.status(0)
			if width > 0 {
				line = strings.Join(v.rows(width), "\n     ")
			}
			if line != last {
				fmt.Fprintf(&b, "%3d: %s\n", width, line)
				last = line
			}
		}
	}
	golden.Check(t, *rewrite, "statuslines.txt", b.String())
}

func TestAStatusLineTakesTheLongestFormThatFits(t *testing.T) {
	for name, v := range situations() {
		long := v.status(0)
		if got := v.status(runewidth.StringWidth(long) + 1); got != long {
			t.Errorf("%s: there is room for %q, got %q", name, long, got)
		}
		if got := v.status(runewidth.StringWidth(long)); got == long {
			t.Errorf("%s: %q does not leave the last column free", name, got)
		}
	}
}

func TestSummariesLookAsReviewed(t *testing.T) {
	v := vitals{
		took: 30123 * time.Millisecond, memory: memory{heap: 25 << 20, rss: 61 << 20},
		views: []view{
			{name: "pods", synced: true, objects: 1234, added: 40, modified: 12345, deleted: 38, bytes: 12 << 20},
			{name: "deployments.apps", synced: true, objects: 20, bytes: 1 << 10},
			{name: "secrets", trouble: "forbidden", errors: 17},
		},
	}
	golden.Check(t, *rewrite, "summary.txt", v.summary("as long as --for said")+"\n")
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
