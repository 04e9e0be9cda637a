package main

import (
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// wireRows measure whole informers, with two indexes and one handler unless a row says
// otherwise. See phases.
func wireRows(s size) []row {
	var rows []row
	three := []string{clientGo, kinglets, dropIn}
	add := func(name string, engines []string, p phases, of testpods.Options, targets map[string]map[string]target, change ...func(*row)) {
		if of.Pods == 0 {
			of.Pods = s.Pods
		}
		r := row{name: "wire/" + name, engines: engines, figures: wireFigures(targets), server: &of,
			encoding: p.encoding, rounds: p.rounds, do: measureWire(p)}
		if p.relist {
			r.rounds++
		}
		for _, c := range change {
			c(&r)
		}
		rows = append(rows, r)
	}
	once := func(r *row) { r.once = true }
	middle := testpods.Options{Pods: s.Pods * 2 / 5}
	for _, e := range []replay.Encoding{replay.Protobuf, replay.JSON} {
		name, at := string(e), setup{encoding: e}
		secure := at
		secure.secure = true
		t := wireTargets[e]
		add(name, append(three, drain), phases{setup: at, rounds: burstRounds, relist: true}, testpods.Options{}, t.merge(t.http1, relistTargets))
		add(name+" TLS+HTTP/2", append(three, drain), phases{setup: secure, rounds: burstRounds}, testpods.Options{}, t.merge(t.http2))
		add(name+" gathered", append(three, drain), phases{setup: at, rounds: burstRounds, gathered: true}, testpods.Options{}, t.merge(t.http1, t.rate))
		add(name+" gathered TLS+HTTP/2", append(three, drain), phases{setup: secure, rounds: burstRounds, gathered: true}, testpods.Options{}, t.merge(t.http2, t.rate), once)
		dropped, emptying, slimming, ten := at, at, at, at
		dropped.transform, emptying.transform, slimming.transform, ten.handlers = managedFieldsDropped, emptied, lean, 10
		add(name+" managedFields dropped", three[:2], phases{setup: dropped}, testpods.Options{}, t.base)
		add(name+" lean", three[:2], phases{setup: slimming, rounds: burstRounds}, testpods.Options{}, t.lean)
		add(name+" transform", three[:2], phases{setup: emptying, rounds: burstRounds}, middle, nil, once)
		add(name+" 10 handlers", three[:2], phases{setup: ten, rounds: burstRounds}, middle, nil, once)
		add(name+" own templates", three[:2], phases{setup: at, rounds: burstRounds}, testpods.Options{Templates: s.Pods},
			map[string]map[string]target{"heap": below(1.6, 0)})
		add(name+" unique", three[:2], phases{setup: at, rounds: burstRounds}, testpods.Options{Unique: true},
			map[string]map[string]target{"heap": below(1, 0), "sync cpu": below(1, 0), "event cpu": below(1, 0)})
	}
	add("unstructured", three, phases{setup: setup{encoding: replay.JSON, untyped: true}, rounds: burstRounds}, middle,
		map[string]map[string]target{"heap": below(6, 6), "sync peak": below(6, 6), "sync cpu": below(8, 8), "event cpu": below(12, 12)})
	add("protobuf fourfold", three[:2], phases{setup: setup{encoding: replay.Protobuf}}, testpods.Options{Pods: 4 * s.Pods}, nil, once)
	return rows
}

// targetsOf an encoding of whole pods.
type targetsOf struct{ base, http1, http2, rate, lean map[string]map[string]target }

func (t targetsOf) merge(more ...map[string]map[string]target) map[string]map[string]target {
	all := map[string]map[string]target{}
	for _, m := range append(more, t.base) {
		for key, of := range m {
			all[key] = of
		}
	}
	return all
}

var wireTargets = map[replay.Encoding]targetsOf{
	replay.Protobuf: {
		base: map[string]map[string]target{
			"heap": below(4, 4), "sync peak": below(5, 5), "sync cpu": below(4, 4), "sync wall": below(3, 3),
		},
		http1: map[string]map[string]target{"event cpu": below(7, 6.5)},
		http2: map[string]map[string]target{"event cpu": below(6.5, 6.5)},
		rate:  map[string]map[string]target{"rate": ours(target{atLeast: 5})},
		lean:  map[string]map[string]target{"heap": below(3, 0), "sync peak": below(8, 0), "sync cpu": below(8, 0), "event cpu": below(8, 0)},
	},
	replay.JSON: {
		base: map[string]map[string]target{
			"heap": below(4, 4), "sync peak": below(5, 5), "sync cpu": below(8, 8), "sync wall": below(8, 8),
		},
		http1: map[string]map[string]target{"event cpu": below(15, 15)},
		http2: map[string]map[string]target{"event cpu": below(12, 12)},
		rate:  map[string]map[string]target{"rate": ours(target{atLeast: 12})},
		lean:  map[string]map[string]target{"heap": below(3, 0), "sync peak": below(8, 0), "sync cpu": below(8, 0), "event cpu": below(30, 0)},
	},
}

var relistTargets = map[string]map[string]target{"relist same": ours(target{own: 1.3}), "relist all": ours(target{own: 2.2})}

// wireFigures are those of every row; what an engine does not measure is left out.
func wireFigures(targets map[string]map[string]target) []figure {
	figures := []figure{
		{key: "sync wall", what: "initial sync, wall", unit: "s"},
		{key: "sync cpu", what: "initial sync, CPU", unit: "s"},
		{key: "sync peak", what: "peak RSS of the sync", unit: "MB"},
		{key: "settled", what: "settled RSS", unit: "MB"},
		{key: "peak settled", what: "peak over settled", unit: "×"},
		{key: "heap", what: "live heap a pod", unit: "B"},
		{key: "event cpu", what: "CPU an event of a burst", unit: "µs"},
		{key: "rate", what: "events a second", unit: "/s"},
		{key: "server cpu", what: "the server's CPU an event", unit: "µs"},
		{key: "burst peak", what: "peak RSS of the burst", unit: "MB"},
		{key: "relist same", what: "peak of a relist over settled, nothing changed", unit: "×"},
		{key: "relist same cpu", what: "CPU of it", unit: "s"},
		{key: "relist all", what: "peak of a relist over settled, everything changed", unit: "×"},
		{key: "relist all cpu", what: "CPU of it", unit: "s"},
		{key: "pending", what: "heap that a stalled handler's events take", unit: "MB"},
	}
	for i := range figures {
		figures[i].targets = targets[figures[i].key]
	}
	return figures
}
