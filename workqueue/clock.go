package workqueue

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
)

// engineClock returns a clock for the engine; nil, its own clock, for the system's
// time.
func engineClock(c clock.WithTicker) keyqueue.Clock {
	if c == nil || isReal(c) {
		return nil
	}
	return &givenClock{clock: c, began: c.Now()}
}

func isReal(c clock.WithTicker) bool {
	switch c.(type) {
	case clock.RealClock, *clock.RealClock:
		return true
	}
	return false
}

// noClock is for a queue that records no times. It has no delays, and so no timers.
type noClock struct{}

func (noClock) Now() int64                                     { return 0 }
func (noClock) Time(int64) time.Time                           { return time.Time{} }
func (noClock) AfterFunc(time.Duration, func()) keyqueue.Timer { panic("BUG: a timer without a clock") }

// givenClock adapts a program's clock to the engine. The clock need not have AfterFunc,
// and that of a fake clock would call its function under the clock's lock.
type givenClock struct {
	clock clock.WithTicker
	began time.Time
	// seen is the time that was read last.
	seen atomic.Int64
}

func (c *givenClock) Now() int64 {
	now := c.now()
	c.seen.Store(now)
	return now
}

func (c *givenClock) now() int64 { return int64(c.clock.Now().Sub(c.began)) }

func (c *givenClock) Time(ns int64) time.Time { return c.began.Add(time.Duration(ns)) }

func (c *givenClock) AfterFunc(d time.Duration, f func()) keyqueue.Timer {
	t := &givenTimer{clock: c, f: f}
	t.Reset(d)
	return t
}

// timerTo returns a timer for a time, and whether that time was over once the timer had
// been made. A timer counts from when it is made: if a fake clock was moved meanwhile,
// the timer would be late, and another one is made. A clock that runs always has moved
// a little, which does no harm.
func (c *givenClock) timerTo(due int64) (timer clock.Timer, late bool) {
	for range 3 {
		now := c.now()
		timer = c.clock.NewTimer(time.Duration(max(0, due-now)))
		after := c.now()
		if late = after >= due; late || after == now {
			break
		}
		timer.Stop()
		timer = nil
	}
	if timer == nil {
		timer = c.clock.NewTimer(time.Duration(max(0, due-c.now())))
	}
	return timer, late
}

// givenTimer has a goroutine while it runs. The engine calls its methods under the
// engine's lock.
type givenTimer struct {
	clock *givenClock
	f     func()
	stop  chan struct{} // nil if it was never set; closed if it does not run
}

func (t *givenTimer) Stop() bool {
	if t.stop == nil {
		return false
	}
	select {
	case <-t.stop:
		return false
	default:
		close(t.stop)
		return true
	}
}

// Reset makes f run after d, counted from when the engine last read the time: a fake
// clock may have been moved since.
func (t *givenTimer) Reset(d time.Duration) bool {
	running := t.Stop()
	stop := make(chan struct{})
	t.stop = stop
	due := t.clock.seen.Load() + int64(d)
	if due < 0 { // the sum overflowed
		due = 1<<63 - 1
	}
	timer, late := t.clock.timerTo(due)
	go func() {
		defer timer.Stop()
		if !late {
			select {
			case <-timer.C():
			case <-stop:
				return
			}
		}
		select {
		case <-stop:
		default:
			t.f()
		}
	}()
	return running
}
