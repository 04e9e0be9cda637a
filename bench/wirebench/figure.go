package main

// figure names one thing that is measured.
type figure string

// The figures of one process.
const (
	syncWall      figure = "initial sync, wall"
	syncCPU       figure = "initial sync, CPU"
	syncPeak      figure = "peak RSS of the initial sync"
	settledRSS    figure = "settled RSS after the sync"
	peakSettled   figure = "peak of the sync over settled"
	heapObject    figure = "live heap an object"
	burstRate     figure = "events a second in a burst"
	burstCPU      figure = "CPU an event in a burst"
	burstTold     figure = "calls an event and handler"
	burstPeak     figure = "peak RSS of the burst"
	relistSame    figure = "peak of a relist over settled, nothing changed"
	relistSameCPU figure = "CPU of a relist, nothing changed"
	relistAll     figure = "peak of a relist over settled, everything changed"
	relistAllCPU  figure = "CPU of a relist, everything changed"
	serverCPU     figure = "server's CPU an event"
	checked       figure = "objects found equal"
)

// units of the figures, as they are printed.
var units = map[figure]string{
	syncWall: "s", syncCPU: "s", syncPeak: "MB", settledRSS: "MB", peakSettled: "×", heapObject: "B",
	burstRate: "/s", burstCPU: "µs", burstTold: "", burstPeak: "MB", relistSame: "×", relistSameCPU: "s",
	relistAll: "×", relistAllCPU: "s", serverCPU: "µs", checked: "",
}

// printed is the order of figures in a table.
var printed = []figure{
	syncWall, syncCPU, syncPeak, settledRSS, peakSettled, heapObject, burstRate, burstCPU, burstTold, serverCPU,
	burstPeak, relistSame, relistSameCPU, relistAll, relistAllCPU, checked,
}

// figures are one process's.
type figures map[figure]float64

const megabyte = 1e6
