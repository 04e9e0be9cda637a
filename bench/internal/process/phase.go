package process

import (
	"runtime"
	"runtime/debug"
	"time"
)

// Cost is what a phase took.
type Cost struct {
	Wall, CPU float64 // seconds
	Peak      float64 // bytes resident at most
	End       time.Time
}

// Phase measures what do does to the whole process: wall time, CPU on all threads,
// and the peak of resident memory.
func Phase(do func() error) (c Cost, err error) {
	if err := ClearPeak(); err != nil {
		return c, err
	}
	start := time.Now()
	before, err := CPU()
	if err != nil {
		return c, err
	}
	if err := do(); err != nil {
		return c, err
	}
	c.End = time.Now()
	after, err := CPU()
	if err != nil {
		return c, err
	}
	_, peak, err := Resident()
	c.Wall, c.CPU, c.Peak = c.End.Sub(start).Seconds(), (after - before).Seconds(), float64(peak)
	return c, err
}

// Settle returns live heap and resident memory after two collections.
func Settle() (live, resident float64, err error) {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	now, _, err := Resident()
	return float64(ms.HeapAlloc), float64(now), err
}
