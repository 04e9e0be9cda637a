package workqueue

import (
	"iter"
	"time"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
)

// Observable is a queue that lists its items. Every queue that this package makes
// implements it; one over a queue of the program lists what it knows.
type Observable[T comparable] interface {
	// Items returns the items that are queued, processed or waiting for a delay, in no
	// particular order. An item that is queued or processed and also waits for a delay
	// comes once, with the end of its delay in Next. Items that change meanwhile may be
	// missing or come twice.
	Items() iter.Seq2[T, ItemStatus]
}

// Delays is a queue to which items are to be added later. Every delaying and rate
// limiting queue that this package makes implements it, unless the delaying queue below
// it is the program's.
type Delays[T comparable] interface {
	// CancelDelay forgets the delay of an item, and reports whether it had one. An item
	// that is already queued or processed stays so.
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
	// Processing by a worker.
	Processing
	// ProcessingAgain by a worker, and queued again when that is done.
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

// statusOf translates the engine's status.
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
