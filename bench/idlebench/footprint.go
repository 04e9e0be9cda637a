package main

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/process"
)

// Footprint is what a whole process takes, in bytes.
type Footprint struct {
	Goroutines int
	// Live is the heap's live objects, Spans what their spans take.
	Live, Spans uint64
	// Stacks are in use; StacksBefore is the same before any collection was
	// asked for.
	Stacks, StacksBefore uint64
	// RSS is resident now, Peak what was at most.
	RSS, Peak uint64
	// Streams is what the server says.
	Streams Streams
	// Status is how long it takes to read the status of all informers, where they
	// have one.
	Status time.Duration
}

// Memory is what the target is about.
func (f *Footprint) Memory() uint64 { return f.Live + f.Stacks }

// takeFootprint measures this process, settled.
func takeFootprint() (Footprint, error) {
	var before, m runtime.MemStats
	runtime.ReadMemStats(&before)
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
	runtime.ReadMemStats(&m)
	rss, peak, err := process.Resident()
	return Footprint{
		Goroutines: runtime.NumGoroutine(),
		Live:       m.HeapAlloc, Spans: m.HeapInuse,
		Stacks: m.StackInuse, StacksBefore: before.StackInuse,
		RSS: rss, Peak: peak,
	}, err
}

// writeProfiles says where the memory and the goroutines are.
func writeProfiles(dir string) error {
	for name, debug := range map[string]int{"heap": 0, "goroutine": 1} {
		f, err := os.Create(filepath.Join(dir, "idle-"+name+".prof"))
		if err != nil {
			return err
		}
		err = pprof.Lookup(name).WriteTo(f, debug)
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}
