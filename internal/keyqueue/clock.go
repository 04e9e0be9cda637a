package keyqueue

import "time"

// Clock is where the queue has the time from.
type Clock interface {
	// Now returns nanoseconds since some moment. They never go back.
	Now() int64
	// Time returns what the clock on the wall shows at such a moment.
	Time(ns int64) time.Time
	// AfterFunc calls f after d, in a goroutine of its own or in one
	// that does not hold the queue's lock.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a call that is to come.
type Timer interface {
	Stop() bool
	Reset(time.Duration) bool
}

type systemClock struct{ began time.Time }

func (c systemClock) Now() int64                                { return int64(time.Since(c.began)) }
func (c systemClock) Time(ns int64) time.Time                   { return c.began.Add(time.Duration(ns)) }
func (c systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
