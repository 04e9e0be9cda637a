package machine

// Fault is a server's mistake that the machine itself detects.
type Fault uint8

const (
	// Truncated: a list, or streamed initial events, ended before the end.
	Truncated Fault = iota + 1
	// Stalled: nothing came for too long.
	Stalled
	// NoInitialEventsEnd: the server streams, but does not mark the end of the
	// initial events.
	NoInitialEventsEnd
	// ShortWatch: the server ended a watch at once, with nothing in it.
	ShortWatch
	// MixedVersions: two pages of one list are of different versions.
	MixedVersions
	// OlderThanStore: a list is older than what the store has.
	OlderThanStore
	// Restored: consistent lists stay older than the store, or the server has
	// restarted its numbering since a watch was resumed. Its state is not the
	// one that the store followed; the store follows it there.
	Restored
	// OutOfOrder: an event is older than the one before it, or than the version
	// that its watch began at.
	OutOfOrder
	// Unreadable: the identity of an object could not be read.
	Unreadable
)

// Error says what was found, as the end of a sentence.
func (f Fault) Error() string {
	if int(f) < len(faults) {
		return faults[f]
	}
	return faults[0]
}

var faults = [...]string{
	0:                  "unknown fault",
	Truncated:          "the answer ended before it was complete",
	Stalled:            "nothing came for too long",
	NoInitialEventsEnd: "the server streams events, but not the bookmark that ends the initial ones",
	ShortWatch:         "the server ended the watch at once, with nothing new in it",
	MixedVersions:      "pages of one list have different resource versions",
	OlderThanStore:     "the list is older than the store",
	Restored:           "the server went back to an earlier version, as after a restore or a restart in memory, and the store follows it",
	OutOfOrder:         "an event is older than the version that the watch had reached: the server numbers anew, or its versions have no order",
	Unreadable:         "the identity of an object could not be read",
}
