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
	// Priority is the argument of [Options.HeadStart].
	Priority int
	// Class is the name of the key's class. It counts when the key is absent.
	Class string
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
	// Exact is set when the error asked for After; the limit on all retries together
	// then does not delay the run.
	Exact bool
	// Terminal is set when the key is not retried, whatever After is. It runs when it
	// is added again.
	Terminal bool
	// Cause is the cause of the run that After asks for.
	Cause uint8
}
