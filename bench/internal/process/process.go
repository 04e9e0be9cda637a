// Package process asks the system what this process takes: processor time, context
// switches, resident memory and its peak. What a system does not say is 0.
package process

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

// Resident returns VmRSS and VmHWM, in bytes: what is resident now, and the most since
// the start or the last Phase began.
func Resident() (now, peak uint64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if os.IsNotExist(err) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	if now, err = kib(status, "VmRSS:"); err != nil {
		return 0, 0, err
	}
	peak, err = kib(status, "VmHWM:")
	return now, peak, err
}

// Available returns what the whole machine can give to new processes without swapping,
// in bytes.
func Available() (uint64, error) {
	info, err := os.ReadFile("/proc/meminfo")
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return kib(info, "MemAvailable:")
}

// kib finds the line that begins with name and returns its number, which is in KiB, in
// bytes.
func kib(file []byte, name string) (uint64, error) {
	_, after, _ := bytes.Cut(file, []byte(name))
	var n uint64
	if _, err := fmt.Sscan(string(after), &n); err != nil {
		return 0, fmt.Errorf("%s %w", name, err)
	}
	return n << 10, nil
}

// Cost is what a phase took of the whole process.
type Cost struct {
	Wall, CPU float64 // seconds
	// Switches are voluntary context switches: how often a thread went to sleep.
	Switches float64
	Peak     float64 // bytes resident at most
	End      time.Time
}

// Phase measures what do costs, on all threads.
func Phase(do func() error) (c Cost, err error) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil && !os.IsNotExist(err) {
		return c, err
	}
	start := time.Now()
	cpu, switches, err := usage()
	if err != nil {
		return c, err
	}
	if err := do(); err != nil {
		return c, err
	}
	c.End = time.Now()
	cpuAfter, switchesAfter, err := usage()
	if err != nil {
		return c, err
	}
	_, peak, err := Resident()
	c.Wall, c.CPU, c.Peak = c.End.Sub(start).Seconds(), (cpuAfter - cpu).Seconds(), float64(peak)
	c.Switches = float64(switchesAfter - switches)
	return c, err
}

// CPU returns the processor time that this process has used on all of its threads.
func CPU() (time.Duration, error) {
	cpu, _, err := usage()
	return cpu, err
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
