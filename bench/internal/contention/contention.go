// Package contention measures writes while readers list in a loop.
package contention

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Readers list in a loop.
	Readers = 16
	pace    = time.Millisecond
)

// Options of a run.
type Options[P any] struct {
	// Duration is the time that is measured, after a second of warming up.
	Duration time.Duration
	// Fresh makes version n of some object. It is called before the run begins.
	Fresh func(n int) P
	// List lists everything; it fails the run by a panic.
	List func()
	// Write writes a version, and Shown reports whether a new read shows it.
	Write func(P)
	Shown func(P) bool
	// Settle is called before the clock starts.
	Settle func()
}

// Run runs one writer, at a thousand writes a second, beside Readers that list. A write is
// measured from the call of Write until Shown returns true; that the writer was woken late
// does not count. A late writer continues at once, so that the rate holds if it can. The
// figures are p50, p99, p9999 and max, in microseconds, and lists and writes a second.
func Run[P any](o Options[P]) map[string]float64 {
	fresh := make([]P, int(o.Duration/pace)*2)
	for i := range fresh {
		fresh[i] = o.Fresh(i + 1)
	}
	o.Settle()
	var stop atomic.Bool
	var lists atomic.Int64
	var all sync.WaitGroup
	for range Readers {
		all.Go(func() {
			for !stop.Load() {
				o.List()
				lists.Add(1)
			}
		})
	}
	var took []float64
	begin := time.Now()
	warm := begin.Add(time.Second)
	var listsBefore int64
	measuring := false
	next := begin
	for i := 0; ; i++ {
		now := time.Now()
		if !measuring && now.After(warm) {
			measuring, begin, listsBefore = true, now, lists.Load()
		}
		if measuring && now.Sub(begin) >= o.Duration {
			break
		}
		if wait := next.Sub(now); wait > 0 {
			time.Sleep(wait)
		}
		next = next.Add(pace)
		p := fresh[i%len(fresh)]
		start := time.Now()
		o.Write(p)
		for !o.Shown(p) {
		}
		if measuring {
			took = append(took, float64(time.Since(start).Nanoseconds())/1e3)
		}
	}
	seconds := time.Since(begin).Seconds()
	n := lists.Load() - listsBefore
	stop.Store(true)
	all.Wait()
	m := Percentiles(took)
	m["lists"] = float64(n) / seconds
	m["writes"] = float64(len(took)) / seconds
	return m
}

// Percentiles returns p50, p99, p9999 and max of some figures, which it sorts.
func Percentiles(xs []float64) map[string]float64 {
	slices.Sort(xs)
	at := func(q float64) float64 { return xs[min(len(xs)-1, int(q*float64(len(xs))))] }
	return map[string]float64{"p50": at(.5), "p99": at(.99), "p9999": at(.9999), "max": xs[len(xs)-1]}
}
