package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/bench/internal/target"
)

// promise is one line of what kinglet promises of its wire path, and where its
// figure comes from.
type promise struct {
	words  string
	row    string
	figure figure
}

// promisesOf is the table that holds for both encodings of whole pods.
func promisesOf(e replay.Encoding) []promise {
	name := string(e)
	return []promise{
		{"live heap an object, store and two indexes included", name, heapObject},
		{"live heap an object, managedFields dropped; client-go as it is", name + droppedRow, heapObject},
		{"live heap an object, every pod from a template of its own", name + ownRow, heapObject},
		{"peak RSS of the initial sync", name, syncPeak},
		{"peak RSS of the initial sync over settled", name, peakSettled},
		{"peak RSS of a forced relist over settled, nothing changed", name, relistSame},
		{"peak RSS of a forced relist over settled, everything changed", name, relistAll},
		{"initial sync, CPU", name, syncCPU},
		{"initial sync, wall", name, syncWall},
		{"CPU an event in a burst, HTTP/1.1", name + gatheredRow, burstCPU},
		{"CPU an event in a burst, HTTP/1.1, sent one by one", name, burstCPU},
		{"CPU an event in a burst, TLS and HTTP/2", http2.row(name + gatheredRow), burstCPU},
		{"CPU an event in a burst, TLS and HTTP/2, sent one by one", http2.row(name), burstCPU},
		{"events a second in a burst, where the server can send them", name + gatheredRow, burstRate},
		{"nothing in common: live heap an object", name + uniqueRow, heapObject},
		{"nothing in common: initial sync, CPU", name + uniqueRow, syncCPU},
		{"nothing in common: CPU an event", name + uniqueRow, burstCPU},
	}
}

// promisesOfUnstructured is the list that holds for objects of no Go type.
var promisesOfUnstructured = []promise{
	{"live heap an object, store and two indexes included", unstructuredRow, heapObject},
	{"peak RSS of the initial sync", unstructuredRow, syncPeak},
	{"initial sync, CPU", unstructuredRow, syncCPU},
	{"CPU an event in a burst", unstructuredRow, burstCPU},
}

// promisesOfDropIn are those lines that its rows can show, with their targets.
func promisesOfDropIn() []promise {
	protobuf, json := dropInRow+string(replay.Protobuf), dropInRow+string(replay.JSON)
	var out []promise
	for _, name := range []string{protobuf, json} {
		out = append(out,
			promise{"live heap an object, store and two indexes included", name, heapObject},
			promise{"peak RSS of the initial sync", name, syncPeak},
			promise{"peak RSS of the initial sync over settled", name, peakSettled},
			promise{"peak RSS of a forced relist over settled, nothing changed", name, relistSame},
			promise{"peak RSS of a forced relist over settled, everything changed", name, relistAll},
			promise{"initial sync, CPU", name, syncCPU},
			promise{"initial sync, wall", name, syncWall},
			promise{"CPU an event in a burst, HTTP/1.1, sent one by one", name, burstCPU},
		)
	}
	out = append(out,
		promise{"CPU an event in a burst, HTTP/1.1", protobuf + gatheredRow, burstCPU},
		promise{"events a second in a burst, where the server can send them", protobuf + gatheredRow, burstRate},
	)
	for _, p := range promisesOfUnstructured {
		out = append(out, promise{p.words, dropInRow + p.row, p.figure})
	}
	return out
}

// notPromised is looked at beside.
func notPromised() []promise {
	var out []promise
	for _, name := range []string{string(replay.Protobuf), string(replay.JSON)} {
		out = append(out,
			promise{name + ", transform: live heap an object", name + transformRow, heapObject},
			promise{name + ", transform: initial sync, CPU", name + transformRow, syncCPU},
			promise{name + ", transform: CPU an event", name + transformRow, burstCPU},
			promise{name + ", 10 handlers: CPU an event", name + handlersRow, burstCPU},
		)
	}
	return append(out,
		promise{"protobuf, no connection of its own: CPU an event", sharedRow, burstCPU},
		promise{"metadata only: live heap an object", metadataRow, heapObject},
		promise{"metadata only: initial sync, CPU", metadataRow, syncCPU},
		promise{"metadata only: CPU an event", metadataRow, burstCPU},
	)
}

// summary prints what became of each promise, in the order in which they are
// made; of those that were not measured it says so, unless some rows alone were
// asked for.
func (r *Report) summary(w io.Writer) {
	for _, block := range []struct {
		title    string
		promises []promise
	}{
		{"protobuf", promisesOf(replay.Protobuf)},
		{"JSON", promisesOf(replay.JSON)},
		{"unstructured, JSON", promisesOfUnstructured},
		{"package cache, in client-go's place", promisesOfDropIn()},
		{"beside", notPromised()},
	} {
		promises := block.promises
		if r.Partial {
			promises = slices.DeleteFunc(slices.Clone(promises), func(p promise) bool { return r.find(p.row, p.figure) == nil })
		}
		if len(promises) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n\n", block.title)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "what\trow\tpods\tclient-go\tkinglet\tunit\tkinglet is\ttarget\t\t")
		for _, p := range promises {
			r.line(t, p)
		}
		t.Flush()
	}
}

// line prints what became of one promise, and for what was held against
// another row what it is to its own.
func (r *Report) line(w io.Writer, p promise) {
	x := r.find(p.row, p.figure)
	if x == nil {
		fmt.Fprintf(w, "%s\t%s\t\t\t\t\t\t\tnot measured\t\n", p.words, p.row)
		return
	}
	met := x.Met
	if x.Target != "" && met == "" {
		met = "not measured"
	}
	fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", p.words, p.row, x.Pods, number(x.Base), number(x.Kinglet), x.Unit,
		share(x.Kinglet, x.Base), x.Target, met)
	if x.Against != "" {
		fmt.Fprintf(w, "client-go with a SetTransform beside it\t%s\t%d\t%s\t%s\t%s\t%s\t\t\t\n", p.row, x.Pods, number(x.ClientGo),
			number(x.Kinglet), x.Unit, share(x.Kinglet, x.ClientGo))
	}
}

func (r *Report) find(row string, f figure) *Result {
	for i := range r.Results {
		if x := &r.Results[i]; x.Row == row && x.Figure == f {
			return x
		}
	}
	return nil
}

// share writes what k is of c; nothing if either is missing.
func share(k, c float64) string {
	if k == 0 || c == 0 {
		return ""
	}
	return target.Part(k / c)
}
