package main

import (
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"github.com/kinglet-go/kinglet/bench/internal/stats"
)

// Report is what -json writes.
type Report struct {
	Go        string
	CPUs      int
	Informers int
	Objects   int
	Runs      int
	Rows      []Row
	// All holds the whole processes' figures, run by run.
	All map[string][]Footprint
}

// Row is one side, for one informer or stream: medians over the runs.
type Row struct {
	Side string
	// Beyond says what was subtracted.
	Beyond     string
	Goroutines float64
	// Memory is Live + Stacks, in bytes as all that follow.
	Memory, Live, Spans, Stacks, StacksBefore, RSS, Peak float64
	// Connections of the whole process.
	Connections int
	// Met is "pass" or "SHORT", and empty where there is no target.
	Met string
}

func newReport(o *options, got map[string][]Footprint) *Report {
	r := &Report{Go: runtime.Version(), CPUs: runtime.NumCPU(), Informers: o.n, Objects: o.objects, Runs: o.runs, All: got}
	objects := r.row("objects", "nothing")
	kinglet, clientGo := r.row("kinglet", "streams"), r.row("client-go", "streams")
	own := kinglet.less(&objects)
	own.Met = "pass"
	if own.Goroutines > targetGoroutines || own.Memory > targetMemory {
		own.Met = "SHORT"
	}
	r.Rows = append(r.Rows, r.row("streams", ""), objects, kinglet, own, clientGo, clientGo.less(&objects))
	return r
}

// less is what is left of x without the objects, which any program that has
// them pays for.
func (x Row) less(objects *Row) Row {
	x.Beyond = "streams and objects"
	x.Goroutines -= objects.Goroutines
	x.Memory -= objects.Memory
	x.Live -= objects.Live
	x.Spans -= objects.Spans
	x.Stacks -= objects.Stacks
	x.StacksBefore -= objects.StacksBefore
	x.RSS -= objects.RSS
	x.Peak -= objects.Peak
	return x
}

// row is a side's share of one informer, beyond another side's.
func (r *Report) row(side, beyond string) Row {
	each := func(figure func(*Footprint) float64) float64 {
		return (median(r.All[side], figure) - median(r.All[beyond], figure)) / float64(r.Informers)
	}
	return Row{
		Side: side, Beyond: beyond,
		Goroutines:   each(func(f *Footprint) float64 { return float64(f.Goroutines) }),
		Memory:       each(func(f *Footprint) float64 { return float64(f.Memory()) }),
		Live:         each(func(f *Footprint) float64 { return float64(f.Live) }),
		Spans:        each(func(f *Footprint) float64 { return float64(f.Spans) }),
		Stacks:       each(func(f *Footprint) float64 { return float64(f.Stacks) }),
		StacksBefore: each(func(f *Footprint) float64 { return float64(f.StacksBefore) }),
		RSS:          each(func(f *Footprint) float64 { return float64(f.RSS) }),
		Peak:         each(func(f *Footprint) float64 { return float64(f.Peak) }),
		Connections:  int(median(r.All[side], func(f *Footprint) float64 { return float64(f.Streams.Connections) })),
	}
}

func median(all []Footprint, figure func(*Footprint) float64) float64 {
	var xs []float64
	for i := range all {
		xs = append(xs, figure(&all[i]))
	}
	return stats.Median(xs)
}

func (r *Report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d CPUs; %d informers of %d objects each, over TLS and HTTP/2; median of %d\n\n",
		r.Go, r.CPUs, r.Informers, r.Objects, r.Runs)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "each\tgoroutines\tmemory KiB\tlive heap\tstacks\theap spans\tRSS\tpeak RSS\tstacks before GC\tconnections\t\t")
	names := map[string]string{
		"": "bare stream, and 1/n of the process", "nothing": "objects alone",
		"streams": "beyond a bare stream", "streams and objects": "beyond a bare stream and the objects",
	}
	for _, x := range r.Rows {
		kib := func(b float64) string { return fmt.Sprintf("%.1f", b/1024) }
		name := names[x.Beyond]
		if x.Side == "kinglet" || x.Side == "client-go" {
			name = x.Side + " " + name
		}
		fmt.Fprintf(t, "%s\t%.2f\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t\n", name, x.Goroutines,
			kib(x.Memory), kib(x.Live), kib(x.Stacks), kib(x.Spans), kib(x.RSS), kib(x.Peak), kib(x.StacksBefore), x.Connections, x.Met)
	}
	t.Flush()
	status := median(r.All["kinglet"], func(f *Footprint) float64 { return float64(f.Status) })
	fmt.Fprintf(w, "\nStatus of all %d kinglet informers, with a handler each: %.2f ms.\n", r.Informers, status/1e6)
	fmt.Fprintf(w, "\nMemory is live heap + stacks in use. Target of a kinglet informer, beyond its stream and its objects:\nat most %d goroutines and %d KiB.\n",
		targetGoroutines, targetMemory>>10)
}
