package main

import "runtime"

// row is one line, or several, of the table.
type row struct {
	name    string
	metrics []metric
	engines map[string]func(sizes) Measure
}

func perOp(what string, target float64) metric {
	return metric{key: "ns", what: what, unit: "ns", atMost: target}
}

var (
	anyAllocs = metric{key: "allocs", what: "allocations", unit: "allocs"}
	noAllocs  = metric{key: "allocs", what: "allocations", unit: "allocs", hasLimit: true}
)

var rows = []row{
	{"get-hot", []metric{perOp("Get, 500 hot keys", 1), noAllocs}, both(getHotClientGo, getHotKinglet)},
	{"get-all", []metric{perOp("Get, all in random order", 1.3), noAllocs}, both(getAllClientGo, getAllKinglet)},
	{"update-same", []metric{
		perOp("Update, indexes unchanged", 0.8), anyAllocs,
		{key: "own-allocs", what: "without the index functions' own", unit: "allocs", hasLimit: true},
	}, both(updateClientGo(0), updateKinglet(0, false))},
	{"update-move", []metric{perOp("Update, an index moves", 0.75), anyAllocs}, both(updateClientGo(1), updateKinglet(1, false))},
	{"update-snapshot", []metric{perOp("Update, fresh snapshot before each", 2), anyAllocs}, both(updateClientGo(0), updateKinglet(0, true))},
	{"update-read", []metric{perOp("Update, a Get before each", 0), anyAllocs}, both(updateReadClientGo, updateReadKinglet)},
	{"insert", []metric{perOp("insert, random order", 1), anyAllocs}, both(comeAndGoClientGo(true), comeAndGoKinglet(true))},
	{"delete", []metric{perOp("delete, random order", 1), anyAllocs}, both(comeAndGoClientGo(false), comeAndGoKinglet(false))},
	{"index-100", []metric{perOp("ByIndex, 100 results, a result", 0.25), noAllocsPerResult}, both(indexClientGo("node"), indexKinglet("node"))},
	{"index-2000", []metric{perOp("ByIndex, 2,000 results, a result", 0.125), noAllocsPerResult}, both(indexClientGo("namespace"), indexKinglet("namespace"))},
	{"all", []metric{perOp("all objects, a result", 0.6), noAllocsPerResult}, both(allClientGo, allKinglet)},
	{"replace-first", []metric{{key: "ms", what: "Replace of nothing", unit: "ms"}, anyAllocs}, both(replaceFirstClientGo, replaceFirstKinglet)},
	{"replace-same", []metric{{key: "ms", what: "Replace, nothing changed", unit: "ms", atMost: 0.5}, anyAllocs}, both(replaceClientGo(0), replaceKinglet(0))},
	{"replace-moved", []metric{{key: "ms", what: "Replace, every object changed", unit: "ms", atMost: 0.5}, anyAllocs}, both(replaceClientGo(1), replaceKinglet(1))},
	{"replace-keys", []metric{{key: "ms", what: "Replace, every key replaced", unit: "ms", atMost: 1}, anyAllocs}, both(replaceKeysClientGo, replaceKeysKinglet)},
	{"contention", []metric{
		{key: "p50", what: "a write, 16 readers listing: p50", unit: "µs"},
		{key: "p99", what: "p99", unit: "µs", atMost: 0.001},
		{key: "max", what: "max", unit: "µs"},
		{key: "lists", what: "readers' lists", unit: "/s", atLeast: 1.5},
		{key: "writes", what: "writes", unit: "/s"},
	}, both(contentionClientGo, contentionKinglet)},
	{"snapshot-wait", []metric{
		{key: "p50", what: "taking a snapshot amid batches: p50", unit: "µs"},
		{key: "p99", what: "p99", unit: "µs"},
		{key: "p9999", what: "p99.99", unit: "µs"},
		{key: "max", what: "max", unit: "µs"},
		{key: "ns", what: "an operation of these batches", unit: "ns"},
	}, map[string]func(sizes) Measure{"kinglet": snapshotWait}},
	{"memory", []metric{{key: "bytes", what: "store memory an object", unit: "B", atMost: 0.5}}, both(memoryClientGo, memoryKinglet)},
	{"marking", []metric{
		{key: "objects", what: "marking the objects alone", unit: "ms"},
		{key: "store", what: "marking the store beyond them", unit: "ms", atMost: 0.5},
	}, both(markingClientGo, markingKinglet)},
}

// A loop costs a constant number of allocations, which over its results comes
// to less than this.
var noAllocsPerResult = metric{key: "allocs", what: "allocations a result", unit: "allocs", ceiling: 0.05, hasLimit: true}

func both(clientGo, kinglet func(sizes) Measure) map[string]func(sizes) Measure {
	return map[string]func(sizes) Measure{"client-go": clientGo, "kinglet": kinglet}
}

// timed runs fn, which does n operations on this goroutine, and measures one
// of them: the CPU time of the thread, which includes what the runtime makes
// it do for the collector.
func timed(n int, fn func()) Measure {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	settle()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := threadTime()
	fn()
	took := threadTime() - start
	runtime.ReadMemStats(&after)
	return Measure{
		"ns":     float64(took.Nanoseconds()) / float64(n),
		"ms":     float64(took.Nanoseconds()) / float64(n) / 1e6,
		"allocs": float64(after.Mallocs-before.Mallocs) / float64(n),
	}
}

// best runs a measurement a few times in this process and keeps the fastest:
// what is slower was disturbed.
func best(times int, fn func() Measure) Measure {
	var b Measure
	for range times {
		if m := fn(); b == nil || m["ns"] < b["ns"] {
			b = m
		}
	}
	return b
}
