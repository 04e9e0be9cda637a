package main

import (
	"math/bits"
	"time"
)

// delays is a histogram with 16 steps to each power of two, so that a
// percentile is at most 6 % too large. The zero value is empty.
type delays struct {
	n     int
	steps [64 * 16]int
	max   time.Duration
}

func (d *delays) add(took time.Duration) {
	took = max(took, 0)
	d.n++
	d.max = max(d.max, took)
	d.steps[step(uint64(took))]++
}

func step(v uint64) int {
	if v < 16 {
		return int(v)
	}
	e := bits.Len64(v) - 5
	return e*16 + int(v>>e)
}

// upper is the largest value of a step.
func upper(i int) uint64 {
	if i < 32 {
		return uint64(i)
	}
	e := i/16 - 1
	return uint64(i-e*16+1)<<e - 1
}

// percentile is at least what p percent took.
func (d *delays) percentile(p float64) time.Duration {
	left := int(float64(d.n)*p/100 + 0.5)
	for i, n := range d.steps {
		if left -= n; left <= 0 && n > 0 {
			return min(time.Duration(upper(i)), d.max)
		}
	}
	return d.max
}

// merge adds what another has.
func (d *delays) merge(o *delays) {
	d.n += o.n
	d.max = max(d.max, o.max)
	for i, n := range o.steps {
		d.steps[i] += n
	}
}
