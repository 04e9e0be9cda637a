package reflector

import "time"

// ListCause is why a list, or the initial events of a watch-list, was asked for.
type ListCause uint8

// The causes. Retries of an attempt that failed have the cause of the first.
const (
	// ListStart: the first one.
	ListStart ListCause = iota
	// ListExpired: the server no longer has the version to watch from (410).
	ListExpired
	// ListRestored: the server was found to be restored or to number anew.
	ListRestored
	// ListRepair: something came whose identity could not be read, or the watch
	// could not be gone on with.
	ListRepair
	// ListConsistency: a consistency check found a difference.
	ListConsistency
	// ListNotFound: the resource was gone (404) in between.
	ListNotFound
	// ListRefused: the server refused the watch at that version again and again.
	ListRefused
	// ListRequested: Relist was called.
	ListRequested
	listCauses
)

// String returns the cause's name, as it stands in metrics.
func (c ListCause) String() string {
	return [...]string{"start", "expired", "restored", "repair", "consistency", "not_found", "refused", "requested"}[c]
}

// WatchEnd is how a watch ended.
type WatchEnd uint8

// How watches end.
const (
	// WatchTimeout: the server ended it in good order.
	WatchTimeout WatchEnd = iota
	// WatchSilent: nothing came for too long.
	WatchSilent
	// WatchError: the server sent an error, but for an expired version.
	WatchError
	// WatchBroken: the connection broke.
	WatchBroken
	// WatchExpired: the version was too old (410).
	WatchExpired
	// WatchStopped: the informer ended it, to list or to stop.
	WatchStopped
	watchEnds
)

// String returns the end's name, as it stands in metrics.
func (e WatchEnd) String() string {
	return [...]string{"timeout", "silent", "error", "broken", "expired", "stopped"}[e]
}

// Verb is the kind of a request, in ErrorCounts.
type Verb uint8

// The verbs.
const (
	List Verb = iota
	WatchList
	Watch
	Probe
	verbs
)

// String returns the verb's name, as it stands in metrics.
func (v Verb) String() string { return [...]string{"list", "watch-list", "watch", "probe"}[v] }

// Code is what kind of error there was, in ErrorCounts.
type Code uint8

// The codes.
const (
	Code400 Code = iota // and other refusals of the request itself: 405, 406, 415, 422
	Code401
	Code403
	Code404
	Code410
	Code429
	Code5xx
	CodeNetwork  // no answer, or one that broke off
	CodeDecode   // an answer that could not be read
	CodeLimit    // more than a limit allows
	CodeProtocol // an answer that a server should not give: see Fault
	CodeOther
	codes
)

// String returns the code's name, as it stands in metrics.
func (c Code) String() string {
	return [...]string{"400", "401", "403", "404", "410", "429", "5xx", "network", "decode", "limit", "protocol", "other"}[c]
}

type (
	// ListCounts are counted by ListCause.
	ListCounts [listCauses]uint64
	// WatchEndCounts are counted by WatchEnd.
	WatchEndCounts [watchEnds]uint64
	// ErrorCounts are counted by Verb and Code.
	ErrorCounts [verbs][codes]uint64
	// EventCounts are counted by what an event says of its object.
	EventCounts struct{ Added, Modified, Deleted uint64 }
)

// Transition is a change of phase.
type Transition struct {
	At   time.Time
	From Phase
	To   Phase
	// Err is why, if something failed.
	Err error
}

// Request describes a request without credentials.
type Request struct {
	Verb            Verb
	ResourceVersion string
	Continued       bool
	Limit           int64
	// At is when it was sent; zero if none was.
	At time.Time
	// UnderWay is whether it goes on.
	UnderWay bool
	// Timeout is after which time the server was asked to end a watch.
	Timeout time.Duration
}
