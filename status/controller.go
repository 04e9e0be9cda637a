package status

import (
	"time"

	"github.com/kinglet-go/kinglet/internal/histogram"
)

// Controller is the state of a controller at one moment. Keys are text, so that
// controllers of all types of keys are alike.
type Controller struct {
	Name string
	// Workers is 0 if it is not known.
	Workers int
	// GateOpen is whether runs may begin, GateReason why not, GateSince since when.
	// GateErr is why this replica cannot lead, if that is the reason.
	GateOpen   bool
	GateReason string
	GateSince  time.Time
	GateErr    error
	// Queued keys run as soon as a worker is free; Running ones run; Waiting ones
	// wait for a delay or for their next try. Failing keys failed in their last run;
	// FailedForGood are those of them that are not tried again.
	Queued, Running, Waiting, Failing, FailedForGood int
	// OldestQueued is when the key that has waited longest for a worker was queued;
	// zero if none is.
	OldestQueued time.Time
	// Succeeded and Failed count runs. Terminal, Panicked and TimedOut count failed
	// runs by reason.
	Succeeded, Failed, Terminal, Panicked, TimedOut uint64
	// LastPanic is when a run panicked last; zero if none has.
	LastPanic time.Time
	// Unmapped counts changes that could not be mapped to keys.
	Unmapped uint64
	// Adds counts requested keys, Retries those of them that had failed before.
	Adds, Retries uint64
	// Runs is how long runs took, Waits how long keys were queued.
	Runs, Waits Histogram
	// Hot are keys that run too often, the hottest first.
	Hot []HotKey
}

// HotKey is a key that ran more than ten times within a minute.
type HotKey struct {
	Key  string
	Runs int
	// Causes counts the runs by what caused them.
	Causes map[string]int
}

// ControllerDetails is what takes longer to find out about a controller.
type ControllerDetails struct {
	// Running are the keys that run, longest first; Failing are those with the most
	// failures in a row. At most 32 of each.
	Running, Failing []KeyStatus
}

// KeyStatus is the state of a key.
type KeyStatus struct {
	Key      string
	State    string
	Since    time.Time
	Next     time.Time
	Failures int
	Error    string
	Cause    string
}

// Histogram is a distribution of durations.
type Histogram = histogram.Snapshot
