// Package testclock lets time pass in tests, where that costs nothing. Only tests
// import it.
package testclock

import (
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
		panic("testclock: outside of a synctest bubble, where the test would really wait")
	}
	time.Sleep(d)
}

// Elapse is Pass, and returns when all other goroutines of the bubble wait. Only one
// goroutine at a time may call it.
func Elapse(d time.Duration) {
	Pass(d)
	synctest.Wait()
}
