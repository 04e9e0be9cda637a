package workqueue

import (
	"iter"
	"time"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
)

// Observable is a queue that lists its items. Every queue that this package
// makes implements it; one over a queue of the program's lists what it knows.
type Observable[T comparable] interface {
	// Items returns the items that are queued, processed or waiting for a delay,
	// in no order. An item that is queued or processed and waits as well comes
	// once, with the time of its delay in Next. Items that change meanwhile may
	// be missing or come twice.
	Items() iter.Seq2[T, ItemStatus]
}

// Delays are what is to be added later to a queue. Every delaying and rate
// limiting queue that this package makes implements it, unless the delaying
// queue below it is the program's.
type Delays[T comparable] interface {
	// CancelDelay forgets the delay of an item, and reports whether it had one.
	// An item that is queued or processed already stays so.
	CancelDelay(item T) bool
	// Waiting returns how many items have a delay.
	Waiting() int
}

// ItemStatus is what an item does.
type ItemStatus struct {
	State State
	// Since is when it came into that state, to a sixteenth of a second. It is zero
	// for an item that is queued or processed in a queue without a name.
	Since time.Time
	// Next is when its delay is over, and zero if it has none.
	Next time.Time
}

// State is what an item does.
type State uint8

const (
	// Waiting for its delay to be over, and nothing else.
	Waiting State = iota + 1
	// Queued until a worker gets it.
	Queued
	// Processing: a worker has it.
	Processing
	// ProcessingAgain: a worker has it, and it is queued when that is done.
	ProcessingAgain
)

// String returns the state in words.
func (s State) String() string {
	switch s {
	case Waiting:
		return "waiting"
	case Queued:
		return "queued"
	case Processing:
		return "processing"
	case ProcessingAgain:
		return "processing, and again"
	}
	return "unknown"
}

// statusOf puts the engine's status into words of this package.
func statusOf(s keyqueue.KeyStatus) ItemStatus {
	status := ItemStatus{Since: s.Since, State: Queued}
	switch s.State {
	case keyqueue.Running:
		status.State = Processing
	case keyqueue.Again:
		status.State = ProcessingAgain
	}
	return status
}
