package main

import (
	"fmt"
	"slices"
	"time"
)

// checkpoint is a checkpoint that was passed.
type checkpoint struct {
	took time.Duration
	last string // the informer that was the last to be equal
	// What the process had then, and how much of the heap was in the residents' tables of
	// shared values. Tables also keep values that no object has any more, up to their
	// MaxBytes.
	gauge  gauge
	shared uint64
}

// heap returns what the live heap has beyond tables of shared values, which fill up
// over hours and are bounded.
func (c checkpoint) heap() int { return int(c.gauge.heap - min(c.shared, c.gauge.heap)) }

// flatFrom is the least number of checkpoints that show a trend.
const flatFrom = 6

// flat returns an error if the residents took more in the last third of the checkpoints
// than in the first, by their medians. It allows a quarter more and a constant, since
// checkpoints vary.
func flat(checkpoints []checkpoint) error {
	third := len(checkpoints) / 3
	if len(checkpoints) < flatFrom {
		return nil
	}
	first, last := checkpoints[:third], checkpoints[len(checkpoints)-third:]
	for _, m := range []struct {
		name string
		of   func(checkpoint) int
		more int
	}{
		{"goroutines", func(c checkpoint) int { return c.gauge.goroutines }, 10},
		{"bytes of live heap beyond tables of shared values", checkpoint.heap, moreHeap},
		{"open files", func(c checkpoint) int { return c.gauge.files }, 10},
	} {
		was, is := median(first, m.of), median(last, m.of)
		if is > was+was/4+m.more {
			return fmt.Errorf("%d %s at the last checkpoints, %d at the first", is, m.name, was)
		}
	}
	return nil
}

func median(of []checkpoint, by func(checkpoint) int) int {
	values := make([]int, len(of))
	for i, c := range of {
		values[i] = by(c)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// report prints what happened in a run, which an error may have ended.
func (s *soak) report() {
	s.printf("%d ConfigMaps written (%d writes failed)", s.churn.writes.Load(), s.churn.failures.Load())
	for _, t := range s.deck.all {
		s.printf("%s: %d times", t.name, t.times.Load())
	}
	s.printf("API server down for %v in all", time.Duration(s.plane.down.Load()).Round(time.Second))
	s.printf("%d handlers stalled through a cycle, at most %d records pending", s.stalls.Load(), s.mostPending.Load())
	s.printf("%d informers started and stopped (%d synced before they were stopped)", s.visitors.started.Load(), s.visitors.synced.Load())
	s.printf("residents received %d events, by %d lists and %d watches", s.events, s.lists, s.watches)
	s.printf("informers reported %d failures", s.failures.Load())
	if n := len(s.checkpoints); n > 0 {
		milliseconds := func(c checkpoint) int { return int(c.took.Milliseconds()) }
		longest := slices.MaxFunc(s.checkpoints, func(a, b checkpoint) int { return milliseconds(a) - milliseconds(b) })
		s.printf("%d checkpoints passed; equal after %d ms (median), %d ms (longest: %s)",
			n, median(s.checkpoints, milliseconds), milliseconds(longest), longest.last)
	}
}
