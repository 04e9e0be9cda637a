package keyqueue

import (
	"math"
	"time"
)

// record is the state of a key that is not absent. Its size matters: a controller
// that requeues each of a million objects every hour has a million records.
type record[K comparable] struct {
	key K
	// at orders the collection that holds the record:
	//
	//   waiting        when it is due
	//   queued, again  when it was enqueued, less its head start
	//   running        when it is due after the run; never if it was not added
	//   failed         when it failed
	at int64
	// since is when the key entered its state; for a queued key, when its run was asked
	// for, which may have been during the run before.
	since int64
	// rank is the head start of a delayed run, as a time.Duration; in a queue with
	// Options.HeadStart it is the priority of the next run.
	rank int64
	// index is the place in that heap; inLine if it is in none.
	index int32
	state State
	// cause is the cause of the next run, or of the one under way.
	cause uint8
	// arrived counts how often the record entered the queue.
	arrived uint16
}

// State is the state of a key. A key without a state is absent and has no record.
type State uint8

const (
	// Waiting until a time: for a delayed Add, or to be tried again.
	Waiting State = iota + 1
	// Queued until a worker is free.
	Queued
	// Running: a worker has it.
	Running
	// Again: a worker has it, and it is to run once more.
	Again
	// Failed for good: its last run ended with a terminal error. It runs when it is
	// added again.
	Failed
)

func (s State) String() string {
	return [...]string{"absent", Waiting: "waiting", Queued: "queued", Running: "running", Again: "running, and again", Failed: "failed for good"}[s]
}

// running reports whether a worker has the key.
func (s State) running() bool { return s == Running || s == Again }

// Failure describes a key that has failed since it last succeeded.
type Failure struct {
	Count int
	Err   error
}

const never = math.MaxInt64

// AddOptions say when a key runs, and with what precedence.
type AddOptions struct {
	// After delays the run. If the key waits already, the earlier time counts;
	// a run that begins ends the delay.
	After time.Duration
	// Head is a head start: the key is served as if it had been enqueued that
	// much earlier, or later if it is negative.
	Head time.Duration
	// Priority is the argument of [Options.HeadStart].
	Priority int
	// Cause is shown for the run; see [Run.Cause].
	Cause uint8
}

// Result is how a run ended. After the zero Result, a success, the key is absent
// unless it was added during the run.
type Result struct {
	// After, if not 0, is the delay after which the key runs once more. If delays
	// were asked for during the run as well, the earliest time wins.
	After time.Duration
	// Head is the head start of that run.
	Head time.Duration
	// Err is why the run failed. The key is counted as failed until it succeeds.
	Err error
	// Terminal is set when the key is not retried, whatever After is. It runs when it
	// is added again.
	Terminal bool
	// Cause is the cause of the run that After asks for.
	Cause uint8
}
