package main

import (
	"runtime"
	"runtime/metrics"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// memory measures the live heap that a store adds to the objects in it.
func memory[S any](s sizes, fill func([]*corev1.Pod) S) Measure {
	pods := newWorld(s.large).pods(0, 0)
	before := heap()
	c := fill(pods)
	after := heap()
	runtime.KeepAlive(c)
	runtime.KeepAlive(pods)
	return Measure{"bytes": (after - before) / float64(len(pods))}
}

func memoryClientGo(s sizes) Measure { return memory(s, newClientGo) }
func memoryKinglet(s sizes) Measure  { return memory(s, newKinglet) }

// marking measures the CPU that a collection spends on marking: with the
// objects alone alive, and then with a store that has them as well.
func marking[S any](s sizes, fill func([]*corev1.Pod) S) Measure {
	pods := newWorld(s.large).pods(0, 0)
	objects := markCost()
	c := fill(pods)
	all := markCost()
	runtime.KeepAlive(c)
	runtime.KeepAlive(pods)
	return Measure{"objects": objects, "store": all - objects}
}

func markingClientGo(s sizes) Measure { return marking(s, newClientGo) }
func markingKinglet(s sizes) Measure  { return marking(s, newKinglet) }

// markCost returns the milliseconds of CPU that marking takes, the least of
// some collections: the runtime counts by the clock, so that a busy machine
// makes it more, never less.
func markCost() float64 {
	settle()
	var costs []float64
	last := markCPU()
	for range 15 {
		runtime.GC()
		now := markCPU()
		costs = append(costs, (now-last)*1e3)
		last = now
	}
	return slices.Min(costs)
}

func markCPU() float64 {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(samples)
	sum := 0.0
	for _, s := range samples {
		sum += s.Value.Float64()
	}
	return sum
}
