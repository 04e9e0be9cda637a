package main

import (
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/bench/internal/target"
)

// merge returns all of some targets.
func merge(all ...map[figure]target.Target) map[figure]target.Target {
	out := map[figure]target.Target{}
	for _, m := range all {
		for f, t := range m {
			out[f] = t
		}
	}
	return out
}

// What must be shown, by encoding.
var (
	heapTargets = map[figure]target.Target{heapObject: {AtMost: 1.0 / 4, Aim: 1.0 / 5}}
	syncTargets = map[replay.Encoding]map[figure]target.Target{
		replay.Protobuf: {
			syncPeak: {AtMost: 1.0 / 5}, peakSettled: {Own: 1.15},
			syncCPU: {AtMost: 1.0 / 4}, syncWall: {AtMost: 1.0 / 3},
		},
		replay.JSON: {
			syncPeak: {AtMost: 1.0 / 5}, peakSettled: {Own: 1.15},
			syncCPU: {AtMost: 1.0 / 8}, syncWall: {AtMost: 1.0 / 8},
		},
	}
	relistTargets = map[figure]target.Target{relistSame: {Own: 1.3}, relistAll: {Own: 2.2}}
	eventTargets  = map[replay.Encoding]map[transport]map[figure]target.Target{
		replay.Protobuf: {
			http1: {burstCPU: {AtMost: 1.0 / 7, Aim: 1.0 / 10}},
			http2: {burstCPU: {AtMost: 1.0 / 5}},
		},
		replay.JSON: {
			http1: {burstCPU: {AtMost: 1.0 / 15, Aim: 1.0 / 20}},
			http2: {burstCPU: {AtMost: 1.0 / 12}},
		},
	}
	rateTargets = map[replay.Encoding]map[figure]target.Target{
		replay.Protobuf: {burstRate: {AtLeast: 5}},
		replay.JSON:     {burstRate: {AtLeast: 12}},
	}
	droppedTargets = map[figure]target.Target{heapObject: {AtMost: 1.0 / 5}}
	ownTargets     = map[figure]target.Target{heapObject: {AtMost: 1 / 1.6}}
	uniqueTargets  = map[figure]target.Target{heapObject: {AtMost: 1}, syncCPU: {AtMost: 1}, burstCPU: {AtMost: 1}}
	untypedTargets = map[figure]target.Target{
		heapObject: {AtMost: 1.0 / 6}, syncPeak: {AtMost: 1.0 / 6}, syncCPU: {AtMost: 1.0 / 8}, burstCPU: {AtMost: 1.0 / 12},
	}
)
