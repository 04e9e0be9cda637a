package reflector

import (
	"errors"
	"fmt"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// ErrRunning is returned by a Run that is called before another has returned.
var ErrRunning = errors.New("reflector: it is running already")

// ErrInconsistent is wrapped by the cause of a Relist if a comparison with the
// source found the difference.
var ErrInconsistent = errors.New("store and server differ")

// Fault is a server's mistake that a reflector detects itself, in contrast to an
// error that the server or the network reported. Find it inside an *Error with
// errors.As or errors.Is.
type Fault = machine.Fault

// The faults.
const (
	// ErrTruncated: a list, or streamed initial events, ended before the end.
	ErrTruncated = machine.Truncated
	// ErrStalled: nothing came for too long.
	ErrStalled = machine.Stalled
	// ErrNoInitialEventsEnd: the server streams, but does not mark the end of
	// the initial events.
	ErrNoInitialEventsEnd = machine.NoInitialEventsEnd
	// ErrShortWatch: the server ended a watch at once, with nothing new in it.
	ErrShortWatch = machine.ShortWatch
	// ErrMixedVersions: pages of one list are of different versions.
	ErrMixedVersions = machine.MixedVersions
	// ErrOlderThanStore: a list is older than the sink's state; it was not
	// published.
	ErrOlderThanStore = machine.OlderThanStore
	// ErrRestored: the server was restored to an earlier state, or restarted with
	// new numbering, and the sink followed it into a new epoch.
	ErrRestored = machine.Restored
	// ErrOutOfOrder: an event is older than the one before it, or than the
	// version that its watch began at. It was applied. Reported once between
	// two lists, or twice if the server of a resumed watch had numbered anew.
	ErrOutOfOrder = machine.OutOfOrder
	// ErrUnreadable: the identity of an object could not be read.
	ErrUnreadable = machine.Unreadable
)

// LimitError reports that a list, or the events of a watch, would exceed a limit
// set in Options. It is found inside an *Error, which names the request. The sink
// keeps what it had.
type LimitError struct {
	// Option is the name of the limit: MaxObjects or MaxListBytes.
	Option string
	Limit  int64
	// Reached is how many objects or bytes there were when it was noticed.
	Reached int64
}

func (e *LimitError) Error() string {
	what := "objects"
	if e.Option == "MaxListBytes" {
		what = "bytes"
	}
	return fmt.Sprintf("at least %d %s, more than the limit of %d that the option %s sets", e.Reached, what, e.Limit, e.Option)
}

// Error says what went wrong, with which request, of which source.
type Error struct {
	// Name is the reflector's, as given in Options.
	Name string
	// Source describes the source.
	Source string
	// Verb is "list", "watch", "watch-list" or "probe".
	Verb string
	// ResourceVersion is the requested version: "" for the most recent, "0" for
	// any.
	ResourceVersion string
	// Continued is whether the request was for a later page of a list, which names
	// no version of its own.
	Continued bool
	// Answered is whether a watch had begun to be answered when it failed. Where a client
	// decodes, it is known of what comes as an event alone. It is not set for a watch-list.
	Answered bool
	// Err is what the source returned, or a Fault.
	Err error
}

func (e *Error) Error() string {
	name := ""
	if e.Name != "" && e.Name != e.Source {
		name = e.Name + ": "
	}
	from := fmt.Sprintf("resourceVersion %q", e.ResourceVersion)
	if e.Continued {
		from = "continued"
	}
	return fmt.Sprintf("%s%s %s (%s): %v", name, e.Verb, e.Source, from, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }
