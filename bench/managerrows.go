package main

import (
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// managerNamespaces that the pods of the manager's rows are in.
const managerNamespaces = 300

// managerRows measure a manager of controller-runtime with its own cache and client, and
// the same with ctrlruntime's. Objects come in protobuf, controller-runtime's default.
func managerRows(s size) []row {
	n := max(2*s.Pods, managerNamespaces)
	of := &testpods.Options{Pods: n, Templates: max(managerNamespaces, n/100), Namespaces: managerNamespaces}
	start := []figure{
		{key: "heap", what: "live heap a pod", unit: "B", targets: below(4, 0)},
		{key: "peak", what: "peak RSS of the start", unit: "MB", targets: below(4, 0)},
		{key: "cpu", what: "CPU of the start", unit: "s"},
		{key: "wall", what: "start, wall", unit: "s"},
		{key: "event", what: "CPU an event of a burst", unit: "µs", targets: below(4, 0)},
	}
	rows := []row{
		// Get and List through the manager's client, on one goroutine, in random order.
		// CPU is the process's, with what the collector does for the copies.
		{name: "reads", do: managing(measureReads), figures: []figure{
			{key: "get", what: "Get with a copy", unit: "ns", targets: below(2, 0)},
			{key: "get allocs", what: "allocations", targets: below(4, 0)},
			{key: "get bytes", what: "allocated", unit: "B"},
			{key: "view", what: "Get of a view, beside a Get", unit: "ns", targets: below(50, 0), against: "get"},
			{key: "view allocs", what: "allocations", targets: map[string]target{kinglets: {none: true}}},
			{key: "list", what: "List of a hundredth by index, copied", unit: "ns", targets: below(2, 0)},
			{key: "list allocs", what: "allocations"},
			{key: "list bytes", what: "allocated", unit: "B", targets: below(1.25, 0)},
			{key: "fields", what: "List by two fields, of a tenth each, that meet in a thousandth", unit: "ns", targets: below(20, 0)},
			{key: "fields allocs", what: "allocations"},
		}},
		// 16 workers list all pods without copies, one writer updates the informer's store.
		{name: "contention", do: managing(measureContention), figures: []figure{
			{key: "p50", what: "a write, 16 workers listing all: p50", unit: "µs"},
			{key: "p99", what: "p99", unit: "µs", targets: map[string]target{kinglets: {own: 1000}}},
			{key: "max", what: "max", unit: "µs"},
			{key: "lists", what: "the workers' lists", unit: "/s"},
			{key: "writes", what: "writes", unit: "/s"},
		}},
		// From NewManager until a handler has had all pods, then two events of each.
		{name: "start", do: managing(measureManager(false, cache.Options{})), figures: start},
		{name: "start TLS+HTTP/2", do: managing(measureManager(true, cache.Options{})), figures: start},
		{name: "start managedFields dropped", do: managing(measureStripped), figures: start},
		{name: "forms", do: managing(measureForms), figures: []figure{
			{key: "watches", what: "watches of a typed and a metadata informer", targets: map[string]target{kinglets: {own: 1}}},
			{key: "typed", what: "heap a pod, the typed one alone", unit: "B"},
			{key: "metadata", what: "heap a pod that the metadata one adds", unit: "B"},
			{key: "more", what: "in percent of the typed", unit: "%", targets: map[string]target{kinglets: {own: 5}}},
		}},
		// Each namespace is named in cache.Options; over TLS and HTTP/2.
		{name: "namespaces", do: managing(measureNamespaces), figures: []figure{
			{key: "wall", what: "start with 300 namespaces, wall", unit: "s", targets: below(3, 0)},
			{key: "cpu", what: "CPU", unit: "s"},
			{key: "peak", what: "peak RSS", unit: "MB"},
			{key: "goroutines", what: "goroutines, without net/http's", targets: below(7, 0)},
			{key: "streams", what: "net/http's"},
			{key: "watches", what: "watches"},
		}},
		// A reconciler writes a pod and reads it, on a server whose watches are 200 ms
		// late. controller-runtime's client has EnableReadYourWritesConsistency here.
		{name: "own writes", do: managing(measureLag), figures: []figure{
			{key: "p50", what: "a read after an own write: p50", unit: "µs", targets: map[string]target{kinglets: {own: 1000}}},
			{key: "p99", what: "p99", unit: "µs"},
			{key: "max", what: "max", unit: "µs"},
		}},
	}
	for i := range rows {
		r := &rows[i]
		r.name, r.engines = "manager/"+r.name, []string{runtimes, kinglets}
		r.server, r.encoding, r.rounds = of, replay.Protobuf, burstRounds
	}
	return rows
}
