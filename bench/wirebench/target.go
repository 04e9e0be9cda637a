package main

import (
	"fmt"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
)

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

// verdict is "pass" or "SHORT", or nothing if there is nothing to hold k
// against.
func (t target) verdict(k, c float64) string {
	switch {
	case t.met(k, c):
		return "pass"
	case c == 0 && t.own == 0:
		return ""
	}
	return "SHORT"
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
	eventTargets  = map[replay.Encoding]map[transport]map[figure]target{
		replay.Protobuf: {
			http1: {burstCPU: {atMost: 1.0 / 7, aim: 1.0 / 10}},
			http2: {burstCPU: {atMost: 1.0 / 5}},
		},
		replay.JSON: {
			http1: {burstCPU: {atMost: 1.0 / 15, aim: 1.0 / 20}},
			http2: {burstCPU: {atMost: 1.0 / 12}},
		},
	}
	rateTargets = map[replay.Encoding]map[figure]target{
		replay.Protobuf: {burstRate: {atLeast: 5}},
		replay.JSON:     {burstRate: {atLeast: 12}},
	}
	droppedTargets = map[figure]target{heapObject: {atMost: 1.0 / 5}}
	ownTargets     = map[figure]target{heapObject: {atMost: 1 / 1.6}}
	uniqueTargets  = map[figure]target{heapObject: {atMost: 1}, syncCPU: {atMost: 1}, burstCPU: {atMost: 1}}
	untypedTargets = map[figure]target{
		heapObject: {atMost: 1.0 / 6}, syncPeak: {atMost: 1.0 / 6}, syncCPU: {atMost: 1.0 / 8}, burstCPU: {atMost: 1.0 / 12},
	}
)
