package machine

// InputKind says what happened.
type InputKind uint8

const (
	// Start is the first input. After a Stop the machine continues where it
	// stopped, without the rest of a wait.
	Start InputKind = iota + 1
	// Page is a piece of the list under way.
	Page
	// Event is one event of the watch under way.
	Event
	// Ended says that the request under way is over. Failure is zero if it
	// ended in good order.
	Ended
	// TimedOut: the driver ended the request, because nothing came for as long
	// as the last SetTimeouts, or the request's own effect, allowed.
	TimedOut
	// RelistDue: the driver ended the request because a RelistAfter was due.
	RelistDue
	// Timer says that a wait is over.
	Timer
	// Stop ends everything; only a Start may follow.
	Stop
	// Differs says that the driver ended the watch under way, because the store
	// was found to differ from the server at the store's version. Failure.Err
	// says what was found.
	Differs
)

// Input is one thing that happened. Only the fields named for its kind mean
// anything.
type Input struct {
	Kind InputKind
	// At is when it happened; never less than At of an earlier input.
	At Nanos

	// Items, of a Page: how many objects it holds.
	Items int64
	// Unreadable is, on a Page, the number of objects whose identity could not be
	// read; on an Event, 1 if it could not. Failure.Err says what was wrong.
	Unreadable int64
	// Version is the list's on a Page, the object's or the bookmark's on an
	// Event.
	Version string
	// Continue, More and Remaining, of a Page: as in source.Page.
	Continue  string
	More      bool
	Remaining int64
	// Bytes is the size on the wire of a Page or an Event.
	Bytes int64

	// Event is the type of an Event.
	Event EventType
	// InitialEventsEnd, of a Bookmark event.
	InitialEventsEnd bool
	// OtherKind, of an Unknown event: the object is of another kind, and so says
	// nothing about this collection.
	OtherKind bool
	// Fake, of an Ended and of an Error event: the source reads by a client that was given to
	// it. That may be a fake, whose watches do not send what happened before them.
	Fake bool
	// Failure is of an Ended, a Differs, an Error event and an Unknown event.
	Failure Failure
	// Cause, of a Differs, is the cause of the list that follows.
	Cause ListCause
}

// EventType is the type of a watch event.
type EventType uint8

// The types of events; they mean what they mean in package source.
const (
	Added EventType = iota + 1
	Modified
	Deleted
	Bookmark
	Error
	Unknown
)

// Class is the kind of a failure, as far as it matters for what to do next.
type Class uint8

const (
	// NoFailure: in good order.
	NoFailure Class = iota
	// Transport: the connection was refused, reset, cut off, or timed out, or
	// what came over it could not be understood.
	Transport
	// Server: 5xx.
	Server
	// Throttled: 429.
	Throttled
	// Expired: 410, Gone or Expired.
	Expired
	// StoreRead: the server could not read an object that it was to send from its
	// storage, for example because a corrupt object was deleted. Only a list can
	// tell what became of the object.
	StoreRead
	// TooLarge: the server has not reached the requested version.
	TooLarge
	// Unauthorized: 401.
	Unauthorized
	// Forbidden: 403.
	Forbidden
	// NotFound: 404, the resource does not exist, or no longer.
	NotFound
	// Invalid: the server does not understand or support the request: 400, 405,
	// 406, 415, 422.
	Invalid
	// Foreign: neither a server nor a network returns such an error, so it comes
	// from a source that is not a client, such as a fake.
	Foreign
	// Other: a refusal of any other kind.
	Other
	// Protocol: the server broke a rule of the protocol; Err is a Fault.
	Protocol
)

var classNames = [...]string{"ended", "transport", "server", "throttled", "expired", "store-read", "too-large",
	"unauthorized", "forbidden", "not-found", "invalid", "foreign", "other", "protocol"}

// String returns a short name.
func (c Class) String() string { return classNames[c] }

// Failure is what went wrong, with which request, and when.
type Failure struct {
	Class Class
	Err   error
	// RetryAfter is what the server asked for; 0 if nothing.
	RetryAfter Nanos
	// Malformed: the response could not be understood. Limit: it exceeded a
	// limit.
	Malformed, Limit bool
	// Unanswered, of Transport: the request got no answer at all. Unreachable: the
	// connection was refused.
	Unanswered, Unreachable bool

	// The machine fills in the fields below.

	// Answered, of a watch: it had begun to be answered. An event says so, and of a client's
	// watch, whatever comes from its connection other than Unanswered.
	Answered bool
	// Request is what was asked for.
	Request Request
	At      Nanos
}
