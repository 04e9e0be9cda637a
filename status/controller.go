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
	// GateOpen is whether runs may begin, GateReason why not, GateSince since when, and
	// Gate what can open it. GateErr is why this replica cannot lead, if that is the reason,
	// and GateErrSince when that was first looked at.
	GateOpen   bool
	GateReason string
	GateSince  time.Time
	Gate       Gate
	GateErr    error
	// GateErrSince is zero if GateErr is nil.
	GateErrSince time.Time
	// Queued keys run as soon as a worker is free; Running ones run; Waiting ones
	// wait for a delay or for their next try. Failing keys failed in their last run;
	// FailedForGood are those of them that are not tried again, of which the last 1024
	// are remembered until they succeed or are cancelled.
	Queued, Running, Waiting, Failing, FailedForGood int
	// Again counts the running keys that changed meanwhile and run once more.
	Again int
	// OldestQueued is when the key that has waited longest for a worker was queued;
	// zero if none is.
	OldestQueued time.Time
	// OldestRun is when the run under way that has lasted longest began; zero if there is
	// none. Unfinished is how long all of them have lasted, added up.
	OldestRun  time.Time
	Unfinished time.Duration
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

// Gate is what can open the gate of a controller's runs.
type Gate uint8

const (
	// GateWaits for Run, or for informers that are watched.
	GateWaits Gate = iota
	// GateElection: it opens when this replica leads.
	GateElection
	// GateEnded: an informer that is watched has stopped, or is not listened to any more.
	// It opens only if the program removes that Watch.
	GateEnded
)

// HotKey is a key that ran more than ten times within a minute: often two controllers that
// undo each other's work, or one that acts on its own writes.
type HotKey struct {
	Key string
	// Runs is how often it ran in a minute, at least. Runs that its own Result.After
	// requested do not count, nor do retries of failures.
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
	Key string
	// State is what it does, Since since when, and Next when it runs if it waits.
	State string
	Since time.Time
	Next  time.Time
	// Failures is how often it failed since it last succeeded, Error the last of them.
	Failures int
	Error    string
	// Cause is what requested the run that it waits for, or the one under way: "add",
	// "retry", "after", or an informer and the reason of the change.
	Cause string
}

// Histogram is a distribution of durations.
type Histogram = histogram.Snapshot
