package machine

// Nanos is a span of time in nanoseconds, or a point in time as the span since
// a moment that the driver chose.
type Nanos int64

// Units of time.
const (
	Millisecond Nanos = 1_000_000
	Second            = 1000 * Millisecond
	Minute            = 60 * Second
	Hour              = 60 * Minute
)

// Config is what a driver may choose. Every field must be set, except for Held and
// RefusalPatience. The Options of package reflector document those without a comment.
type Config struct {
	Held string
	// WatchList is whether initial events are asked for at all.
	WatchList bool
	// PageSize is the limit of a list request that is paged.
	PageSize int64
	// AlwaysPage pages even where the server would answer an unpaged request
	// from its cache (a relist at a known version).
	AlwaysPage bool

	// Invariant: 0 < BackoffMin <= BackoffMax.
	BackoffMin, BackoffMax Nanos
	// HealthAfter is Options.BackoffReset.
	HealthAfter Nanos

	InitialEventsProgress, ListProgress, RefusalPatience Nanos

	// Invariant: 0 < WatchTimeoutMin <= WatchTimeoutMax.
	WatchTimeoutMin, WatchTimeoutMax Nanos
}

const (
	// shortWatch: a watch that ends sooner and brought nothing new counts as
	// a failure, although the server ended it in good order.
	shortWatch = Second
	// watchGrace is how long after its timeout the server may still end a silent
	// watch; then the watch is considered dead.
	watchGrace = 30 * Second
	// consistentRetries is how many more consistent lists must also be older
	// than the store before the server is considered restored. For a
	// kube-apiserver one would do, since it reads them from a quorum of etcd.
	consistentRetries = 3
	// listAttempts is how many waits in a row lead to a list that is needed, before a watch is
	// tried: a role may have lost the verb list and kept watch. None is tried from a version that
	// has expired. Another list follows the watch, of missedWatch at most.
	listAttempts = 6
	missedWatch  = Minute
	// askedRetries is how many waits are as long as the server asks for, before one doubles the
	// next.
	askedRetries = 10
	// busyPatience is how long a server may refuse watches because it is busy before a
	// list follows.
	busyPatience = Minute
	// unreachablePatience is the same for connections that are refused: a server that is
	// upgraded is back by then.
	unreachablePatience = 5 * Minute
	// streamRetryAfter is when streaming is tried again after it made no
	// progress once. A refusal stands longer; see Refused.
	streamRetryAfter = Hour
	// maxDoubts bounds how often it is asked whether a server restarted between a list
	// and the watch after it, since a source that numbers each object separately looks
	// the same after each list.
	maxDoubts = 3
	// maxRetryAfter bounds what a server can ask for with Retry-After.
	maxRetryAfter = 5 * Minute
	// healMax bounds the wait between relists that do not heal.
	healMax = 10 * Minute
	// maxListStalls bounds the doublings of Config.ListProgress.
	maxListStalls = 4
)
