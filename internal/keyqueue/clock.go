package keyqueue

import "time"

// Clock is the queue's source of time.
type Clock interface {
	// Now returns nanoseconds since a fixed moment. It never goes back.
	Now() int64
	// Time returns the wall-clock time of a value that Now returned.
	Time(ns int64) time.Time
	// AfterFunc calls f after d, in a new goroutine or in one that does not hold
	// the queue's lock.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a pending call of AfterFunc.
type Timer interface {
	Stop() bool
	Reset(time.Duration) bool
}

type systemClock struct{ began time.Time }

func (c systemClock) Now() int64                                { return int64(time.Since(c.began)) }
func (c systemClock) Time(ns int64) time.Time                   { return c.began.Add(time.Duration(ns)) }
func (c systemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }
