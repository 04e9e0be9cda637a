package main

import (
	"os"
	"path/filepath"
	"slices"
)

// bar says which figure of which row becomes a pair of bars.
type bar struct {
	label, row string
	figure     figure
}

const lessIsBetter, moreIsBetter = "less is better", "more is better"

// charts are those that a report has figures for. A pair of which a figure is
// missing is left out, and a chart without pairs.
func (r *Report) charts() []barChart {
	byForm := func(f figure) []bar {
		return []bar{
			{"protobuf", "protobuf", f}, {"protobuf, TLS+HTTP/2", http2.row("protobuf"), f},
			{"JSON", "json", f}, {"JSON, TLS+HTTP/2", http2.row("json"), f},
			{"JSON, unstructured", unstructuredRow, f},
		}
	}
	list := []struct {
		chart barChart
		bars  []bar
	}{
		{barChart{File: "event-cpu", Title: "CPU of one watch event, wire to handler", Unit: "µs", Better: lessIsBetter}, byForm(burstCPU)},
		{barChart{File: "event-rate", Title: "Events handled in a burst", Unit: "events a second", Better: moreIsBetter}, []bar{
			{"protobuf", "protobuf" + gatheredRow, burstRate}, {"protobuf, TLS+HTTP/2", http2.row("protobuf" + gatheredRow), burstRate},
			{"JSON", "json" + gatheredRow, burstRate}, {"JSON, TLS+HTTP/2", http2.row("json" + gatheredRow), burstRate},
			{"JSON, unstructured", unstructuredRow, burstRate},
		}},
		{barChart{File: "sync-cpu", Title: "CPU of the initial sync", Unit: "s", Better: lessIsBetter}, byForm(syncCPU)},
		{barChart{File: "heap", Title: "Live heap for one pod, store and two indexes included", Unit: "bytes", Better: lessIsBetter}, []bar{
			{"100 pods a template", "protobuf", heapObject},
			{"no managedFields", "protobuf" + droppedRow, heapObject},
			{"1 pod a template", "protobuf" + ownRow, heapObject},
			{"nothing in common", "protobuf" + uniqueRow, heapObject},
			{"unstructured", unstructuredRow, heapObject},
		}},
		{barChart{File: "rss", Title: "Resident memory", Unit: "MB", Better: lessIsBetter}, []bar{
			{"settled", "protobuf", settledRSS}, {"initial sync, peak", "protobuf", syncPeak}, {"burst, peak", "protobuf", burstPeak},
			{"JSON: initial sync, peak", "json", syncPeak}, {"JSON: burst, peak", "json", burstPeak},
		}},
	}
	var out []barChart
	for _, x := range list {
		for _, want := range x.bars {
			x.chart.Pairs = append(x.chart.Pairs, r.pair(want)...)
		}
		if len(x.chart.Pairs) > 0 {
			out = append(out, x.chart)
		}
	}
	for _, g := range []struct {
		figure            figure
		file, title, unit string
	}{
		{syncPeak, "growth-rss", "Peak resident memory of the initial sync, as pods grow", "MB"},
		{syncCPU, "growth-cpu", "CPU of the initial sync, as pods grow", "s"},
	} {
		c := barChart{File: g.file, Title: g.title, Unit: g.unit, Better: lessIsBetter, Pairs: r.growth(g.figure)}
		if len(c.Pairs) > 1 {
			out = append(out, c)
		}
	}
	return out
}

// pair is one pair, or none.
func (r *Report) pair(want bar) []pair {
	for _, x := range r.Results {
		if x.Row == want.row && x.Figure == want.figure && x.ClientGo > 0 && x.Kinglet > 0 {
			return []pair{{want.label, x.ClientGo, x.Kinglet}}
		}
	}
	return nil
}

// growth is a figure by number of pods, of those rows that differ in nothing
// else.
func (r *Report) growth(f figure) []pair {
	var found []Result
	for _, x := range r.Results {
		if x.Figure == f && x.ClientGo > 0 && x.Kinglet > 0 && (x.Row == "protobuf" || x.Row == growthRow(x.Pods)) {
			found = append(found, x)
		}
	}
	slices.SortFunc(found, func(a, b Result) int { return a.Pods - b.Pods })
	var out []pair
	for _, x := range found {
		out = append(out, pair{thousands(float64(x.Pods)) + " pods", x.ClientGo, x.Kinglet})
	}
	return out
}

// draw writes all charts into a folder.
func (r *Report) draw(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, c := range r.charts() {
		if err := os.WriteFile(filepath.Join(dir, c.File+".svg"), c.svg(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
