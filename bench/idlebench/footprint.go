package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
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
	rss, peak, err := residentBytes()
	return Footprint{
		Goroutines: runtime.NumGoroutine(),
		Live:       m.HeapAlloc, Spans: m.HeapInuse,
		Stacks: m.StackInuse, StacksBefore: before.StackInuse,
		RSS: rss, Peak: peak,
	}, err
}

// residentBytes are VmRSS and VmHWM; 0 where the system has no such file.
func residentBytes() (now, peak uint64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if os.IsNotExist(err) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	for _, line := range []struct {
		name string
		to   *uint64
	}{{"VmRSS:", &now}, {"VmHWM:", &peak}} {
		_, after, _ := bytes.Cut(status, []byte(line.name))
		var kib uint64
		if _, err := fmt.Sscan(string(after), &kib); err != nil {
			return 0, 0, fmt.Errorf("%s %w", line.name, err)
		}
		*line.to = kib << 10
	}
	return now, peak, nil
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
