package status

import "time"

// Severity is how bad a Problem is.
type Severity uint8

// The severities, from good to bad.
const (
	// OK is no problem: the informer follows the server.
	OK Severity = iota
	// Note is worth knowing, but loses nothing.
	Note
	// Warning costs something, or will: objects in quarantine, a handler that
	// lags.
	Warning
	// Broken: reads are older than they should be, or there are none.
	Broken
)

// String returns the severity's name, as used in metrics.
func (s Severity) String() string {
	return [...]string{"ok", "note", "warning", "broken"}[s]
}

// Problem is one thing that is wrong with an informer or a controller.
type Problem struct {
	Severity Severity
	// Cause is one of a fixed set of short names, for metrics and alerts.
	Cause Cause
	// Since is when it began; zero where that is not known.
	Since time.Time
	// What says in one line what is wrong. It has names of resources and handlers,
	// and the error's own text, but never a key or an object's content, except
	// what a server itself put into an error. For Secrets it has no text from a
	// decoder.
	What string
	// Do says what to do about it, in one line.
	Do string
	// Over is whether the problem has passed. Since is then when it was last seen.
	Over bool
}
