package machine

// EffectKind says what the driver is to do.
type EffectKind uint8

const (
	// List: send Request as a LIST. If nothing comes for as long as Timeout,
	// give it up, with TimedOut.
	List EffectKind = iota + 1
	// Watch: send Request as a WATCH, with a timeout drawn from [Min, Max).
	// Timeout, PastTimeout and IdleTimeout are as in SetTimeouts.
	Watch
	// Wait: for a span drawn from [Min, Max), then step with a Timer.
	Wait
	// Abandon: end the request under way and forget the rest of it.
	Abandon

	// SetTimeouts: give up the request under way, with TimedOut, when nothing
	// has come for Timeout; if PastTimeout is set, no sooner than Timeout
	// after the request's own timeout. If IdleTimeout is not 0, also whenever
	// nothing has come for IdleTimeout.
	SetTimeouts
	// RelistAfter: after a span drawn from [Min, Max), end the watch that is
	// under way or was just requested, and step with a RelistDue. If the watch
	// ends before, do nothing.
	RelistAfter

	// Stage: add this input's page, or event's object, to what is staged.
	Stage
	// Restage: this event's object takes the place of its earlier state in
	// what is staged.
	Restage
	// Unstage: this event's object is no longer in what is staged.
	Unstage
	// Discard: forget what is staged.
	Discard
	// Publish: replace the sink's state with what is staged, at Version, as a
	// new epoch if Epoch is set; nothing is staged from then on.
	Publish

	// Apply: hand this event to the sink; its version is then Version.
	Apply
	// Advance: tell the sink that its version is Version, with no change.
	Advance

	// Report: report Failure to the user.
	Report
	// End: there is nothing more to do.
	End
)

// Effect is one thing for the driver to do. Only the fields named for its kind
// mean anything.
type Effect struct {
	Kind        EffectKind
	Epoch       bool
	PastTimeout bool
	Min, Max    Nanos
	Timeout     Nanos
	IdleTimeout Nanos
	Version     string
	Request     Request
	Failure     Failure
}
