package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/bench/internal/target"
)

// TestAReportIsRatiosOfMediansAgainstTargets checks the arithmetic.
func TestAReportIsRatiosOfMediansAgainstTargets(t *testing.T) {
	m := &measured{
		row: row{name: "some", targets: map[figure]target.Target{
			syncCPU: {AtMost: 1.0 / 4}, burstRate: {AtLeast: 5}, peakSettled: {Own: 1.15}, heapObject: {AtMost: 1.0 / 4, Aim: 1.0 / 5},
		}},
		engines: map[string][]figures{
			clientGo: {{syncCPU: 8, burstRate: 100, peakSettled: 2, heapObject: 100}, {syncCPU: 4, burstRate: 100, heapObject: 100}, {syncCPU: 9, burstRate: 10, heapObject: 100}},
			kinglets: {{syncCPU: 2, burstRate: 499, peakSettled: 1.1, heapObject: 26}, {syncCPU: 1, burstRate: 600, peakSettled: 1.2, heapObject: 26}, {syncCPU: 7, burstRate: 499, peakSettled: 1.1, heapObject: 26}},
			drain:    {{burstRate: 9000}},
		},
	}
	r := newReport(&options{runs: 3}, []*measured{m, {row: row{name: "large"}, skipped: "no memory"}}, time.Minute)
	got := map[figure]Result{}
	for _, x := range r.Results {
		got[x.Figure] = x
	}
	for f, want := range map[figure]struct {
		clientGo, kinglet, ratio float64
		met                      string
	}{
		syncCPU:     {8, 2, 0.25, "pass"},
		burstRate:   {100, 499, 4.99, "SHORT"},
		peakSettled: {2, 1.1, 0.55, "pass"},
		heapObject:  {100, 26, 0.26, "SHORT"},
	} {
		x := got[f]
		if x.ClientGo != want.clientGo || x.Kinglet != want.kinglet || x.Ratio != want.ratio || x.Met != want.met {
			t.Errorf("%s: %+v", f, x)
		}
	}
	if got[burstRate].Drain != 9000 || len(r.Results) != 4 {
		t.Errorf("%+v", r.Results)
	}
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{"2 targets short", "large was not measured: no memory", "≤ 1/4, aim 1/5", "≥ 5 ×", "own ≤ 1.15"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report does not say %q:\n%s", want, out.String())
		}
	}
}

// TestDroppedFieldsAreHeldAgainstClientGoAsItIs has a row that is held against
// another, with the other measured and without.
func TestDroppedFieldsAreHeldAgainstClientGoAsItIs(t *testing.T) {
	of := func(clients, kinglet float64) map[string][]figures {
		return map[string][]figures{clientGo: {{heapObject: clients}}, kinglets: {{heapObject: kinglet}}}
	}
	name := "protobuf" + droppedRow
	whole := &measured{row: row{name: "protobuf"}, engines: of(1000, 250)}
	without := &measured{row: row{name: name, against: "protobuf", targets: droppedTargets}, engines: of(600, 190)}
	for _, c := range []struct {
		all       []*measured
		base      float64
		met, line string
	}{
		{[]*measured{whole, without}, 1000, "pass", "1/5.26"},
		{[]*measured{without}, 0, "", "not measured"},
	} {
		r := newReport(&options{}, c.all, time.Minute)
		x := r.find(name, heapObject)
		if x.Base != c.base || x.Met != c.met || x.ClientGo != 600 {
			t.Errorf("%+v", x)
		}
		var out bytes.Buffer
		r.summary(&out)
		for line := range strings.Lines(out.String()) {
			if strings.Contains(line, "client-go as it is  "+name) && !strings.Contains(line, c.line) {
				t.Errorf("%q does not say %q", line, c.line)
			}
		}
		if !strings.Contains(out.String(), "with a SetTransform beside it") || !strings.Contains(out.String(), "1/3.16") {
			t.Errorf("the summary does not tell of client-go's transform:\n%s", out.String())
		}
	}
}

// TestASummaryTellsOfEveryTarget finds the row of each line, with a target, in
// the rows that there are, and names those that were not measured.
func TestASummaryTellsOfEveryTarget(t *testing.T) {
	all := map[string]row{}
	for _, r := range rows(sizesOf(1000)) {
		all[r.name] = r
	}
	told := map[promise]bool{}
	for _, p := range slices.Concat(promisesOf(replay.Protobuf), promisesOf(replay.JSON), promisesOfUnstructured, promisesOfDropIn()) {
		if _, ok := all[p.row].targets[p.figure]; !ok {
			t.Errorf("%q: row %q has no target for %s", p.words, p.row, p.figure)
		}
		told[promise{row: p.row, figure: p.figure}] = true
	}
	for _, p := range notPromised() {
		if _, ok := all[p.row]; !ok {
			t.Errorf("%q: there is no row %q", p.words, p.row)
		}
	}
	for name, r := range all {
		if r.setup.Lists {
			continue // a second way to what is told of the first
		}
		for f := range r.targets {
			if !told[promise{row: name, figure: f}] {
				t.Errorf("the summary leaves out %s of row %q", f, name)
			}
		}
	}
	var none, out bytes.Buffer
	if (&Report{Partial: true}).summary(&none); none.Len() > 0 {
		t.Errorf("%q is told of nothing", none.String())
	}
	(&Report{}).summary(&out)
	lines := 2*len(promisesOf(replay.JSON)) + len(promisesOfUnstructured) + len(promisesOfDropIn()) + len(notPromised())
	if got := strings.Count(out.String(), "not measured"); got != lines {
		t.Errorf("%d of %d lines say that nothing was measured:\n%s", got, lines, out.String())
	}
}

// TestRowsAskForEveryFigureOfTheIssue holds the rows to the table that they
// are there to fill.
func TestRowsAskForEveryFigureOfTheIssue(t *testing.T) {
	all := map[string]row{}
	for _, r := range rows(sizesOf(1000)) {
		if _, twice := all[r.name]; twice {
			t.Errorf("two rows are named %q", r.name)
		}
		all[r.name] = r
		if err := r.setup.check(); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		for f := range r.targets {
			if units[f] == "" {
				t.Errorf("%s: %s has no unit", r.name, f)
			}
		}
	}
	for _, e := range []string{"protobuf", "json"} {
		for name, want := range map[string][]figure{
			e:                            {heapObject, syncPeak, peakSettled, relistSame, relistAll, syncCPU, syncWall, burstCPU},
			e + " gathered":              {burstCPU, burstRate},
			e + " managedFields dropped": {heapObject},
			e + " own templates":         {heapObject},
			e + " " + string(http2):      {burstCPU},
			e + " unique":                {heapObject, syncCPU, burstCPU},
			"unstructured":               {heapObject, syncPeak, syncCPU, burstCPU},
		} {
			for _, f := range want {
				if _, ok := all[name].targets[f]; !ok {
					t.Errorf("row %q has no target for %s", name, f)
				}
			}
		}
	}
}
