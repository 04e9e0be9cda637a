package main

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet/bench/internal/target"
)

const (
	// namespaces that the pods are in.
	namespaces = 300
	// rounds of events, each of one version of every pod.
	rounds = 2
)

// row is what one process measures of each side.
type row struct {
	name    string
	measure func(context.Context, *world) error
	figures []figure
}

// figure is one line of the table.
type figure struct {
	key, what, unit string
	target          *target.Target
	// against is the figure of controller-runtime that the target is about, if it is
	// another.
	against string
}

func atMost(part float64) *target.Target { return &target.Target{AtMost: 1 / part} }
func own(most float64) *target.Target    { return &target.Target{Own: most} }

var rows = []row{
	{"reads", measureReads, []figure{
		{key: "get", what: "Get with a copy", unit: "ns", target: atMost(2)},
		{key: "get allocs", what: "allocations", target: atMost(4)},
		{key: "get bytes", what: "allocated", unit: "B"},
		{key: "view", what: "Get of a view, beside a Get", unit: "ns", target: atMost(50), against: "get"},
		{key: "view allocs", what: "allocations", target: &target.Target{None: true}},
		{key: "list", what: "List of a hundredth by index, copied", unit: "ns", target: atMost(2)},
		{key: "list allocs", what: "allocations"},
		{key: "list bytes", what: "allocated", unit: "B", target: &target.Target{AtMost: 0.8}},
		{key: "fields", what: "List by two fields, of a tenth each, that meet in a thousandth", unit: "ns", target: atMost(20)},
		{key: "fields allocs", what: "allocations"},
	}},
	{"contention", measureContention, []figure{
		{key: "p50", what: "a write, 16 workers listing all: p50", unit: "µs"},
		{key: "p99", what: "p99", unit: "µs", target: own(1000)},
		{key: "max", what: "max", unit: "µs"},
		{key: "lists", what: "the workers' lists", unit: "/s"},
		{key: "writes", what: "writes", unit: "/s"},
	}},
	{"manager", measureManager(false, cache.Options{}), managerFigures},
	{"manager-http2", measureManager(true, cache.Options{}), managerFigures},
	{"manager-stripped", measureStripped, managerFigures},
	{"forms", measureForms, []figure{
		{key: "watches", what: "watches of a typed and a metadata informer", target: own(1)},
		{key: "typed", what: "heap a pod, the typed one alone", unit: "B"},
		{key: "metadata", what: "heap a pod that the metadata one adds", unit: "B"},
		{key: "more", what: "in percent of the typed", unit: "%", target: own(5)},
	}},
	{"namespaces", measureNamespaces, []figure{
		{key: "wall", what: "start with 300 namespaces, wall", unit: "s", target: atMost(3)},
		{key: "cpu", what: "CPU", unit: "s"},
		{key: "peak", what: "peak RSS", unit: "MB"},
		{key: "goroutines", what: "goroutines, without net/http's", target: atMost(7)},
		{key: "streams", what: "net/http's"},
		{key: "watches", what: "watches"},
	}},
	{"lag", measureLag, []figure{
		{key: "p50", what: "a read after an own write, watches 200 ms late: p50", unit: "µs", target: own(1000)},
		{key: "p99", what: "p99", unit: "µs"},
		{key: "max", what: "max", unit: "µs"},
	}},
}

var managerFigures = []figure{
	{key: "heap", what: "live heap a pod", unit: "B", target: atMost(4)},
	{key: "peak", what: "peak RSS of the start", unit: "MB", target: atMost(4)},
	{key: "cpu", what: "CPU of the start", unit: "s"},
	{key: "wall", what: "start, wall", unit: "s"},
	{key: "event", what: "CPU an event", unit: "µs", target: atMost(4)},
}
