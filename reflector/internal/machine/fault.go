package machine

// Fault is a server's mistake that the machine itself detects.
type Fault uint8

// The faults; package reflector documents them.
const (
	Truncated Fault = iota + 1
	Stalled
	NoInitialEventsEnd
	ShortWatch
	MixedVersions
	OlderThanStore
	Restored
	OutOfOrder
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
