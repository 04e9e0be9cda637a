package machine

// ListCause is why a list, or the initial events of a watch-list, was asked for.
type ListCause uint8

// The causes; package reflector documents them.
const (
	CauseStart ListCause = iota
	CauseExpired
	CauseRestored
	CauseRepair
	CauseConsistency
	CauseNotFound
	CauseRefused
	CauseRequested
	causes
)

var causeNames = [causes]string{"start", "expired", "restored", "repair", "consistency", "not_found", "refused", "requested"}

// String returns the cause's name, as used in metrics.
func (c ListCause) String() string { return causeNames[c] }

// WatchEnd is how a watch ended.
type WatchEnd uint8

// How watches end; package reflector documents them.
const (
	EndTimeout WatchEnd = iota
	EndSilent
	EndError
	EndBroken
	EndExpired
	EndStopped
	watchEnds
)

var watchEndNames = [watchEnds]string{"timeout", "silent", "error", "broken", "expired", "stopped"}

// String returns the end's name, as used in metrics.
func (e WatchEnd) String() string { return watchEndNames[e] }

// Code is a kind of error.
type Code uint8

// The codes; package reflector documents them.
const (
	Code400 Code = iota
	Code401
	Code403
	Code404
	Code410
	Code429
	Code5xx
	CodeNetwork
	CodeDecode
	CodeLimit
	CodeProtocol
	CodeOther
	codes
)

var codeNames = [codes]string{"400", "401", "403", "404", "410", "429", "5xx", "network", "decode", "limit", "protocol", "other"}

// String returns the code's name, as used in metrics.
func (c Code) String() string { return codeNames[c] }

// verbs is the number of verbs, without NoRequest.
const verbs = 4

type (
	// ListCounts are counted by ListCause.
	ListCounts [causes]uint64
	// WatchEndCounts are counted by WatchEnd.
	WatchEndCounts [watchEnds]uint64
	// ErrorCounts are counted by Verb, which begins with VerbList here, and Code.
	ErrorCounts [verbs][codes]uint64
)

// Counts only ever grow. The Status of package reflector documents those without a comment.
type Counts struct {
	Lists, Streams, Watches, Probes, Published uint64
	// ListsByCause counts attempts at a list by cause.
	// Invariant: they add up to Streams and those of Lists that begin a list.
	ListsByCause ListCounts
	// WatchEnds counts the ends of requests that were of VerbWatch at the time.
	WatchEnds WatchEndCounts
	// Events are without bookmarks and errors.
	Events, Bookmarks         uint64
	Added, Modified, Deleted  uint64
	SilentWatches, Unreadable uint64
	// Failures counts reported failures; Errors counts them by verb and code.
	// Invariant: Errors add up to Failures.
	Failures uint64
	Errors   ErrorCounts
	Bytes    uint64
}

// because records the cause of the next list. If a list is already due, its first
// cause stands.
func (m *Machine) because(cause ListCause) {
	if m.Phase == Watching || m.Phase == Starting {
		m.Cause, m.Optional = cause, false
	}
}

// watchOver counts the end of the watch under way, if it is one.
func (m *Machine) watchOver(end WatchEnd) {
	if m.Request.Verb == VerbWatch {
		m.Counts.WatchEnds[end]++
	}
}

// end returns how a watch ended that failed with f.
func (f *Failure) end() WatchEnd {
	switch {
	case f.Class == NoFailure:
		return EndTimeout
	case f.Class == Expired:
		return EndExpired
	case f.Limit:
		return EndStopped
	case f.Class == Transport:
		return EndBroken
	}
	return EndError
}

// code returns the code of f.
func (f *Failure) code() Code {
	switch {
	case f.Limit:
		return CodeLimit
	case f.Malformed || f.Err == Unreadable:
		return CodeDecode
	case f.Err == Stalled || f.Err == Truncated:
		return CodeNetwork
	}
	switch f.Class {
	case Transport:
		return CodeNetwork
	case Server, StoreRead, TooLarge:
		return Code5xx
	case Throttled:
		return Code429
	case Expired:
		return Code410
	case Unauthorized:
		return Code401
	case Forbidden:
		return Code403
	case NotFound:
		return Code404
	case Invalid:
		return Code400
	case Protocol:
		return CodeProtocol
	}
	return CodeOther
}

// eventCame counts an event that is neither a bookmark nor an error.
func (m *Machine) eventCame() {
	m.Counts.Events++
	m.LastEvent = m.now
}

// countEvent counts an event of a watch, also by its type.
func (m *Machine) countEvent(t EventType) {
	m.eventCame()
	switch t {
	case Added:
		m.Counts.Added++
	case Modified:
		m.Counts.Modified++
	case Deleted:
		m.Counts.Deleted++
	}
}
