package main

import (
	"fmt"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

// row is one setup at which both engines are measured, and what must come out.
type row struct {
	name  string
	setup setup
	// drain says that a client that only reads is measured too.
	drain   bool
	targets map[figure]target
}

// target is what a figure has to be: a ratio to client-go's in the same run,
// or kinglet's own figure.
type target struct {
	// atMost and atLeast are kinglet's figure over client-go's; own is
	// kinglet's figure. Exactly one is not 0.
	atMost, atLeast, own float64
	// aim is the ratio hoped for.
	aim float64
}

func (t target) String() string {
	switch {
	case t.atLeast > 0:
		return fmt.Sprintf("≥ %.4g ×", t.atLeast)
	case t.own > 0:
		return fmt.Sprintf("own ≤ %.4g", t.own)
	case t.aim > 0:
		return fmt.Sprintf("≤ %s, aim %s", part(t.atMost), part(t.aim))
	}
	return "≤ " + part(t.atMost)
}

// part writes a ratio as the part of client-go's that it is.
func part(x float64) string {
	if x >= 1 {
		return fmt.Sprintf("%.3g ×", x)
	}
	return fmt.Sprintf("1/%.3g", 1/x)
}

// met reports whether kinglet's figure k is what it has to be, client-go's
// being c.
func (t target) met(k, c float64) bool {
	switch {
	case t.own > 0:
		return k > 0 && k <= t.own
	case k == 0 || c == 0:
		return false
	case t.atLeast > 0:
		return k/c >= t.atLeast
	}
	return k/c <= t.atMost
}

// merge returns all of some targets.
func merge(all ...map[figure]target) map[figure]target {
	out := map[figure]target{}
	for _, m := range all {
		for f, t := range m {
			out[f] = t
		}
	}
	return out
}

// What must be shown, by encoding.
var (
	heapTargets = map[figure]target{heapObject: {atMost: 1.0 / 4, aim: 1.0 / 5}}
	syncTargets = map[replay.Encoding]map[figure]target{
		replay.Protobuf: {
			syncPeak: {atMost: 1.0 / 5}, peakSettled: {own: 1.15},
			syncCPU: {atMost: 1.0 / 4}, syncWall: {atMost: 1.0 / 3},
		},
		replay.JSON: {
			syncPeak: {atMost: 1.0 / 5}, peakSettled: {own: 1.15},
			syncCPU: {atMost: 1.0 / 8}, syncWall: {atMost: 1.0 / 8},
		},
	}
	relistTargets = map[figure]target{relistSame: {own: 1.3}, relistAll: {own: 2.2}}
	burstTargets  = map[replay.Encoding]map[transport]map[figure]target{
		replay.Protobuf: {
			http1: {burstCPU: {atMost: 1.0 / 7, aim: 1.0 / 10}, burstRate: {atLeast: 5}},
			http2: {burstCPU: {atMost: 1.0 / 5}},
		},
		replay.JSON: {
			http1: {burstCPU: {atMost: 1.0 / 15, aim: 1.0 / 20}, burstRate: {atLeast: 12}},
			http2: {burstCPU: {atMost: 1.0 / 12}},
		},
	}
	droppedTargets = map[figure]target{heapObject: {atMost: 1.0 / 5}}
	ownTargets     = map[figure]target{heapObject: {atMost: 1 / 1.6}}
	uniqueTargets  = map[figure]target{heapObject: {atMost: 1}, syncCPU: {atMost: 1}, burstCPU: {atMost: 1}}
	untypedTargets = map[figure]target{
		heapObject: {atMost: 1.0 / 6}, syncPeak: {atMost: 1.0 / 6}, syncCPU: {atMost: 1.0 / 8}, burstCPU: {atMost: 1.0 / 12},
	}
)

// sizes are the numbers of pods that the rows are made for.
type sizes struct {
	main, middle, small, large int
}

// sizesOf are in proportion to that of the main rows.
func sizesOf(main int) sizes {
	return sizes{main: main, middle: main * 2 / 5, small: main / 5, large: main * 4}
}

// growthRow names the row that differs from the first in its number of pods.
func growthRow(pods int) string { return fmt.Sprintf("protobuf %d pods", pods) }

// rows are all that there are, in the order in which they are measured: those
// of one server and encoding together.
func rows(n sizes) []row {
	base := func(e replay.Encoding, t transport, count int) setup {
		return setup{
			Pods: pods.Options{Pods: count}, Encoding: e, Transport: t, Form: typed, Shape: whole, Handlers: 1, Rounds: 2,
		}
	}
	var out []row
	add := func(name string, s setup, drain bool, targets ...map[figure]target) {
		out = append(out, row{name: name, setup: s, drain: drain, targets: merge(targets...)})
	}
	for _, e := range replay.Encodings {
		s := base(e, http1, n.main)
		s.Relist = true
		add(string(e), s, true, heapTargets, syncTargets[e], burstTargets[e][http1], relistTargets)

		s = base(e, http2, n.main)
		if e == replay.JSON {
			s.Pods.Pods = n.middle
		}
		add(string(e)+" "+string(http2), s, true, burstTargets[e][http2])

		s = base(e, http1, n.main)
		s.Shape, s.Rounds = dropped, 0
		add(string(e)+" managedFields dropped", s, false, droppedTargets)

		s = base(e, http1, n.middle)
		s.Pods.Templates, s.Rounds = n.middle, 0
		add(string(e)+" own templates", s, false, ownTargets)

		s = base(e, http1, n.small)
		s.Pods.Unique = true
		add(string(e)+" unique", s, false, uniqueTargets)

		s = base(e, http1, n.middle)
		s.Handlers = 10
		add(string(e)+" 10 handlers", s, false)

		s = base(e, http1, n.middle)
		s.Shape = transformed
		add(string(e)+" transform", s, false)
	}
	s := base(replay.JSON, http1, n.middle)
	s.Form = unstructured
	add("unstructured", s, false, untypedTargets)

	s = base(replay.Protobuf, http1, n.main)
	s.Lists, s.Rounds = true, 0
	add("protobuf LIST", s, false, syncTargets[replay.Protobuf])

	s = base(replay.Protobuf, http1, n.middle)
	s.Folding = true
	add("protobuf folding", s, false)

	for _, t := range []transport{http1, http2} {
		s := base(replay.Protobuf, t, n.middle)
		s.Gathered = true
		add("protobuf gathered "+string(t), s, true)
	}
	for _, count := range []int{n.small, n.large} {
		s := base(replay.Protobuf, http1, count)
		s.Rounds = 0
		add(growthRow(count), s, false)
	}
	return out
}
