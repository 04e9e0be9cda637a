package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// readers list in a loop.
	readers = 16
	// pace of the writer.
	pace = time.Millisecond
)

// contention is one writer of Ps, at a thousand writes a second, beside goroutines that
// list in a loop.
type contention[P any] struct {
	// duration is what is measured, after a tenth of it for warming up.
	duration time.Duration
	// fresh makes version n of some object. It is called before the run begins.
	fresh func(n int) P
	// list lists everything; it fails the run by a panic.
	list func()
	// write writes a version, and shown reports whether a new read shows it.
	write func(P)
	shown func(P) bool
}

// run measures each write from its call until shown returns true, in microseconds; how
// late the scheduler wakes the writer does not count. A late writer goes on at once, so
// that the rate holds if it can. Lists and writes are a second's.
func (c *contention[P]) run(listing int) measure {
	fresh := make([]P, int(c.duration/pace)*2)
	for i := range fresh {
		fresh[i] = c.fresh(i + 1)
	}
	settled()
	var stop atomic.Bool
	var lists atomic.Int64
	var all sync.WaitGroup
	for range listing {
		all.Go(func() {
			for !stop.Load() {
				c.list()
				lists.Add(1)
			}
		})
	}
	var took []float64
	begin := time.Now()
	warm := begin.Add(c.duration / 10)
	var listsBefore int64
	measuring := false
	next := begin
	for i := 0; ; i++ {
		now := time.Now()
		if !measuring && now.After(warm) {
			measuring, begin, listsBefore = true, now, lists.Load()
		}
		if measuring && now.Sub(begin) >= c.duration {
			break
		}
		time.Sleep(next.Sub(now))
		next = next.Add(pace)
		p := fresh[i%len(fresh)]
		start := time.Now()
		c.write(p)
		for !c.shown(p) {
		}
		if measuring {
			took = append(took, micros(time.Since(start)))
		}
	}
	seconds := time.Since(begin).Seconds()
	n := lists.Load() - listsBefore
	stop.Store(true)
	all.Wait()
	m := percentiles(took)
	m["lists"], m["writes"] = float64(n)/seconds, float64(len(took))/seconds
	return m
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// percentiles returns p50, p99 and max of some figures, which it sorts.
func percentiles(xs []float64) measure {
	if len(xs) == 0 {
		return measure{}
	}
	slices.Sort(xs)
	at := func(q float64) float64 { return xs[min(len(xs)-1, int(q*float64(len(xs))))] }
	return measure{"p50": at(.5), "p99": at(.99), "max": xs[len(xs)-1]}
}
