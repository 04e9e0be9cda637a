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
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var rewrite = golden.Rewrite()

func TestASessionGivesUpOnlyIfNothingEverWorkedAndNothingIsGoingTo(t *testing.T) {
	good := prospect{synced: true}
	was := prospect{synced: true, failing: true, kind: trouble.Unreachable, since: time.Hour}
	starting := prospect{}
	forbidden := prospect{failing: true, kind: trouble.Forbidden}
	refused := prospect{failing: true, kind: trouble.Unreachable, since: unreachablePatience}
	young := prospect{failing: true, kind: trouble.Unreachable, since: unreachablePatience - 1}
	busy := prospect{failing: true, kind: trouble.Throttled, since: time.Hour}
	for _, c := range []struct {
		name string
		all  []prospect
		want bool
	}{
		{"one forbidden", []prospect{forbidden}, true},
		{"all forbidden", []prospect{forbidden, forbidden}, true},
		{"one of two forbidden, the other fine", []prospect{forbidden, good}, false},
		{"one of two forbidden, the other starting", []prospect{forbidden, starting}, false},
		{"refused for a while", []prospect{refused}, true},
		{"refused a moment ago", []prospect{young}, false},
		{"forbidden and refused for a while", []prospect{forbidden, refused}, true},
		{"worked before", []prospect{was, forbidden}, false},
		{"the server says later", []prospect{busy}, false},
		{"starting", []prospect{starting}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := hopeless(c.all); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestARateIsTheAverageOfTheWindow(t *testing.T) {
	var r rate
	start := time.Unix(1000, 0)
	if r.perSecond() != 0 {
		t.Error("no samples, yet a rate")
	}
	for i := range 100 { // 10 a second
		r.add(start.Add(time.Duration(i)*100*time.Millisecond), int64(i))
	}
	if got := r.perSecond(); got < 9.9 || got > 10.1 {
		t.Errorf("got %v, want 10", got)
	}
	for i := range 100 { // then nothing for 10 s
		r.add(start.Add(10*time.Second+time.Duration(i)*100*time.Millisecond), 99)
	}
	if got := r.perSecond(); got != 0 {
		t.Errorf("got %v after a pause longer than the window", got)
	}
	if len(r.samples) > 60 {
		t.Errorf("%d samples are kept", len(r.samples))
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
		"2 syncing":                     {views: with(func(v []view) { v[0] = view{name: "pods", received: 1200, total: 50000} }), memory: memory},
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
		for _, width := range []int{0, 100, 80, 60, 40, 20} {
			if line := statusLine(all[name], width); line != last {
				fmt.Fprintf(&b, "%3d: %s\n", width, line)
				last = line
			}
		}
	}
	golden.Check(t, *rewrite, "statuslines.txt", b.String())
}

func TestAStatusLineTakesTheLongestFormThatFits(t *testing.T) {
	for name, v := range situations() {
		long := statusLine(v, 0)
		if got := statusLine(v, runewidth.StringWidth(long)+1); got != long {
			t.Errorf("%s: there is room for %q, got %q", name, long, got)
		}
		if got := statusLine(v, runewidth.StringWidth(long)); got == long {
			t.Errorf("%s: %q does not leave the last column free", name, got)
		}
	}
}

func TestSummariesLookAsReviewed(t *testing.T) {
	s := Summary{
		Took: 30123 * time.Millisecond, Ended: "as long as --for said", Memory: memory{heap: 25 << 20, rss: 61 << 20},
		Collections: []CollectionSummary{
			{Name: "pods", Synced: true, Objects: 1234, Added: 40, Modified: 12345, Deleted: 38, Bytes: 12 << 20},
			{Name: "deployments.apps", Synced: true, Objects: 20, Bytes: 1 << 10},
			{Name: "secrets", Trouble: "forbidden", Errors: 17},
		},
	}
	golden.Check(t, *rewrite, "summary.txt", s.String()+"\n")
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
