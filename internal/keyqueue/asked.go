package keyqueue

import "time"

// AddOptions say when a key runs, and with what precedence.
type AddOptions struct {
	// After delays the run. If the key waits already, the earlier time counts;
	// a run that begins ends the delay.
	After time.Duration
	// Head is a head start: the key is served as if it had been enqueued that
	// much earlier, or later if it is negative.
	Head time.Duration
	// Priority is what [Options.HeadStart] makes the head start of.
	Priority int
	// Class is the name of the key's class. It counts when the key is absent.
	Class string
	// Cause is shown for the run; see [Run.Cause].
	Cause uint8
}

// Result is how a run ended. The zero Result is a success after which nothing is
// left of the key.
type Result struct {
	// After has the key run once more then. It counts beside delays that were
	// asked for during the run; the earliest wins.
	After time.Duration
	// Head is the head start of that run.
	Head time.Duration
	// Err is why the run failed. The key is counted as failed until it succeeds.
	Err error
	// Exact is set when After was asked for by the error, so that the limit of all
	// retries together does not hold it up.
	Exact bool
	// Terminal is set when the key is not tried again, whatever After is. It runs
	// when it is added again.
	Terminal bool
	// Cause is that of the run after After.
	Cause uint8
}
