package reflector

import (
	"time"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// ListCause is why a list, or the initial events of a watch-list, was asked for.
type ListCause = machine.ListCause

// The causes. Until a list is published, further attempts at it have the cause of
// the first.
const (
	// ListStart: the first one, and the one that RunAnew begins with.
	ListStart = machine.CauseStart
	// ListExpired: the server no longer has the version to watch from (410).
	ListExpired = machine.CauseExpired
	// ListRestored: the server was found to be restored, or to have new numbering.
	ListRestored = machine.CauseRestored
	// ListRepair: the identity of an object could not be read, or the watch could not
	// be continued.
	ListRepair = machine.CauseRepair
	// ListConsistency: a consistency check found a difference.
	ListConsistency = machine.CauseConsistency
	// ListNotFound: the resource was gone (404) in between.
	ListNotFound = machine.CauseNotFound
	// ListRefused: the server refused the watch at that version, or may not send on a watch
	// what happened before it.
	ListRefused = machine.CauseRefused
	// ListRequested: Relist was called.
	ListRequested = machine.CauseRequested
)

// WatchEnd is how a watch ended.
type WatchEnd = machine.WatchEnd

// How watches end.
const (
	// WatchTimeout: the server ended it normally.
	WatchTimeout = machine.EndTimeout
	// WatchSilent: nothing came for too long.
	WatchSilent = machine.EndSilent
	// WatchError: the server refused it, or sent an error on it, except for an expired
	// version.
	WatchError = machine.EndError
	// WatchBroken: the connection broke, or what came over it could not be read.
	WatchBroken = machine.EndBroken
	// WatchExpired: the version was too old (410).
	WatchExpired = machine.EndExpired
	// WatchStopped: the reflector ended it, to list, to stop, or because more came
	// than a limit allows.
	WatchStopped = machine.EndStopped
)

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

// String returns the verb's name, as used in metrics.
func (v Verb) String() string { return [...]string{"list", "watch-list", "watch", "probe"}[v] }

// Code is the kind of an error, in ErrorCounts.
type Code = machine.Code

// The codes.
const (
	Code400      = machine.Code400 // and other refusals of the request itself: 405, 406, 415, 422
	Code401      = machine.Code401
	Code403      = machine.Code403
	Code404      = machine.Code404
	Code410      = machine.Code410
	Code429      = machine.Code429
	Code5xx      = machine.Code5xx
	CodeNetwork  = machine.CodeNetwork  // no answer, or one that broke off
	CodeDecode   = machine.CodeDecode   // an answer, or the identity of an object, that could not be read
	CodeLimit    = machine.CodeLimit    // more than a limit allows
	CodeProtocol = machine.CodeProtocol // an answer that a server should not give: see Fault
	CodeOther    = machine.CodeOther
)

type (
	// ListCounts are counted by ListCause.
	ListCounts = machine.ListCounts
	// WatchEndCounts are counted by WatchEnd.
	WatchEndCounts = machine.WatchEndCounts
	// ErrorCounts are counted by Verb and Code.
	ErrorCounts = machine.ErrorCounts
	// EventCounts are counted by the type of the event.
	EventCounts struct{ Added, Modified, Deleted uint64 }
)

// Each verb has its row in ErrorCounts.
var _ = [1]struct{}{}[len(ErrorCounts{})-int(verbs)]

// Transition is a change of phase.
type Transition struct {
	At   time.Time
	From Phase
	To   Phase
	// Err is why, an *Error, if something failed.
	Err error
}

// maxTransitions is how many changes of phase are kept.
const maxTransitions = 32

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
	// Timeout is how long the server was asked to keep a watch open.
	Timeout time.Duration
}

// history is the recent activity of a reflector.
type history struct {
	// transitions is a ring of the last ones; once it is full, the oldest is at next.
	transitions []Transition
	next        int
	request     Request
}

// add notes a change of phase.
func (h *history) add(t Transition) {
	if len(h.transitions) < maxTransitions {
		h.transitions = append(h.transitions, t)
		return
	}
	h.transitions[h.next] = t
	h.next = (h.next + 1) % maxTransitions
}

// Transitions returns the last 32 changes of phase, oldest first.
func (r *Reflector[T]) Transitions() []Transition {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &r.history
	out := make([]Transition, 0, len(h.transitions))
	return append(append(out, h.transitions[h.next:]...), h.transitions[:h.next]...)
}

// Request returns the request under way, or else the last one. A watch-list keeps its
// verb after its initial events.
func (r *Reflector[T]) Request() Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history.request
}
