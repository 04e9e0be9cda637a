package deliver

import (
	"time"

	"github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/store"
)

// Status is what is known of a handler at one moment.
type Status struct {
	Name string
	// Synced is whether it has handled its initial list.
	Synced bool
	// Pending records, and objects of the initial list, wait for it; the oldest of
	// them since OldestPending, which is zero if none waits.
	Pending       int
	OldestPending time.Time
	// InFlight records are what the call under way is about, CallKey the first of
	// their keys, and CallSince when the call began, zero if there is none.
	InFlight  int
	CallKey   store.Key
	CallSince time.Time
	// Calls is how long calls took.
	Calls histogram.Snapshot
	// Changes counts what was delivered, by reason. Folded counts changes that were
	// not delivered by themselves but in a later one.
	Changes ReasonCounts
	Folded  uint64
	// Panics that were recovered.
	Panics uint64
	// DeliveredThrough is as in Registration.
	DeliveredThrough string
	// Err is why the registration ended on its own.
	Err error
}

// ReasonCounts are counted by store.Reason.
type ReasonCounts [int(store.Resync) + 1]uint64
