// Package testbubble lets time pass in bubbles of testing/synctest, where that costs
// nothing, and counts their goroutines. Only tests import it, and packages for tests.
package testbubble

import (
	"bytes"
	"regexp"
	"runtime"
	"testing/synctest"
	"time"
)

// bubbles begin at midnight UTC 2000-01-01: see testing/synctest.
var afterBubbles = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// Pass returns when d has passed on the clock of a synctest bubble. Timers that are
// due by then have fired. It may be called from any goroutine of the bubble, and
// panics outside of one: no test waits in real time.
func Pass(d time.Duration) {
	if time.Now().After(afterBubbles) {
		panic("testbubble: outside of a synctest bubble, where the test would really wait")
	}
	time.Sleep(d)
}

// Elapse is Pass, and returns when all other goroutines of the bubble wait. Only one
// goroutine at a time may call it.
func Elapse(d time.Duration) {
	Pass(d)
	synctest.Wait()
}

// Goroutines returns how many goroutines the caller's bubble has, the caller included. It
// panics outside a bubble. [runtime.NumGoroutine] counts those of the whole process, among
// them what other tests have left to end.
func Goroutines() int {
	stacks := make([]byte, 1<<16)
	n := runtime.Stack(stacks, true)
	for n == len(stacks) {
		stacks = make([]byte, 2*len(stacks))
		n = runtime.Stack(stacks, true)
	}
	all := header.FindAllSubmatch(stacks[:n], -1)
	own := all[0][1] // that of the caller is the first
	if len(own) == 0 {
		panic("testbubble: not in a bubble")
	}
	count := 0
	for _, h := range all {
		if bytes.Equal(h[1], own) {
			count++
		}
	}
	return count
}

// header is a goroutine's line in a traceback, with the number of its bubble.
var header = regexp.MustCompile(`(?m)^goroutine \d+ \[.*?(?:synctest bubble (\d+).*)?\]:$`)
