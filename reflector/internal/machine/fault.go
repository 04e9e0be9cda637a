package machine

// Fault is what the machine itself finds wrong with what a server does.
type Fault uint8

const (
	// Truncated: a list, or streamed initial events, ended before the end.
	Truncated Fault = iota + 1
	// Stalled: nothing came for too long.
	Stalled
	// NoInitialEventsEnd: the server streams, but not the end of the initial
	// events.
	NoInitialEventsEnd
	// ShortWatch: the server ended a watch at once, with nothing in it.
	ShortWatch
	// MixedVersions: two pages of one list are of different versions.
	MixedVersions
	// OlderThanStore: a list is older than what the store has.
	OlderThanStore
	// Restored: consistent lists stay older than what the store has, so the
	// server was restored to an earlier state, and the store followed it.
	Restored
	// Doubtful: an event is older than the state that the store has of the
	// whole collection, and concerns an object that is not in that state.
	Doubtful
	// Unreadable: the identity of an object could not be read.
	Unreadable
)

// Error says what was found, as the end of a sentence.
func (f Fault) Error() string {
	switch f {
	case Truncated:
		return "the answer ended before it was complete"
	case Stalled:
		return "nothing came for too long"
	case NoInitialEventsEnd:
		return "the server streams events, but not the bookmark that ends the initial ones"
	case ShortWatch:
		return "the server ended the watch at once, with nothing new in it"
	case MixedVersions:
		return "pages of one list have different resource versions"
	case OlderThanStore:
		return "the list is older than the store"
	case Restored:
		return "consistent lists stay older than the store: the server was restored, and the store follows it"
	case Doubtful:
		return "an event is older than the store, about an object that the store does not have"
	case Unreadable:
		return "the identity of an object could not be read"
	}
	return "unknown fault"
}
