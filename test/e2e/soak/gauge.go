package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

// gauge is a process's resources at one moment.
type gauge struct {
	goroutines int
	heap       uint64 // live
	files      int    // open; 0 where the system does not say
}

func (g gauge) String() string {
	return fmt.Sprintf("%d goroutines, %.1f MB, %d files", g.goroutines, float64(g.heap)/1e6, g.files)
}

// How much more there may be at the end than before. 20 minutes have 10,000 informers, so
// a leak of one goroutine, one file or 1 KiB for each exceeds this by far.
const (
	moreGoroutines = 4
	moreFiles      = 4
	// moreHeap is in bytes. Runs of 1 to 4 minutes ended 0.7 to 4 MB above,
	// no longer ones higher than shorter ones; in a profile, that was buffers of
	// TLS and HTTP/2 for answers larger than those of the warm-up.
	moreHeap = 8 << 20
	// moreHeapBrief is for a brief run, in which buffers and pools that were not
	// needed in the warm-up weigh too much.
	moreHeapBrief = 64 << 20
)

// read collects garbage and measures.
func read() (gauge, error) {
	// Twice, since what finalizers and cleanups let go of is collected next.
	runtime.GC()
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	g := gauge{goroutines: runtime.NumGoroutine(), heap: mem.HeapAlloc}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil && !os.IsNotExist(err) {
		return g, err
	}
	g.files = len(files)
	return g, nil
}

// exceeds returns an error that names the resources of which g has too much: more than
// before, or heap bytes more of the heap.
func (g gauge) exceeds(before gauge, heap uint64) error {
	var errs []error
	if g.goroutines > before.goroutines+moreGoroutines {
		errs = append(errs, fmt.Errorf("%d goroutines, %d before", g.goroutines, before.goroutines))
	}
	if g.files > before.files+moreFiles {
		errs = append(errs, fmt.Errorf("%d open files, %d before", g.files, before.files))
	}
	if g.heap > before.heap+heap {
		errs = append(errs, fmt.Errorf("%d bytes of live heap, %d before", g.heap, before.heap))
	}
	return errors.Join(errs...)
}

// settle reads until nothing exceeds before, since connections take a moment to close, and
// at most for patience. With a zero before it reads until two readings agree.
func settle(ctx context.Context, before gauge, heap uint64, patience time.Duration) (gauge, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	last, err := read()
	for err == nil {
		if before != (gauge{}) && last.exceeds(before, heap) == nil {
			return last, nil
		}
		pause(ctx, 250*time.Millisecond)
		if ctx.Err() != nil {
			break
		}
		var g gauge
		if g, err = read(); before == (gauge{}) && g.goroutines == last.goroutines && g.files == last.files {
			return g, err
		}
		last = g
	}
	return last, err
}

// goroutines returns the stacks of all goroutines.
func goroutines() string {
	var b strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1) // to memory
	return b.String()
}
