package deliver

import (
	"slices"
	"time"

	"github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/internal/wallclock"
	"github.com/kinglet-go/kinglet/store"
)

// Status is what is known of a handler at one moment.
type Status struct {
	Name string
	// Synced is whether it has handled its initial list.
	Synced bool
	// Pending is how many records, and objects of the initial list, wait for it.
	// OldestPending is when the oldest of them began to wait; zero if none waits.
	Pending       int
	OldestPending time.Time
	// InFlight is how many records the call under way delivers, CallKey the first of
	// their keys, and CallSince when the call began; zero if there is none.
	InFlight  int
	CallKey   store.Key
	CallSince time.Time
	// Calls is how long calls took.
	Calls histogram.Snapshot
	// Changes counts delivered changes, by reason. Folded counts changes that are
	// delivered as part of another one, or not at all, such as those of an object
	// that was added and deleted before the handler received it.
	Changes ReasonCounts
	Folded  uint64
	// Panics counts recovered panics; LastPanic is when the last one happened.
	Panics    uint64
	LastPanic time.Time
	// DeliveredThrough is as in Registration.
	DeliveredThrough string
	// Err is why the registration ended on its own.
	Err error
}

// ReasonCounts are counted by store.Reason.
type ReasonCounts [int(store.Resync) + 1]uint64

// counts are what a registration counts; guarded by its mu.
type counts struct {
	calls   histogram.Snapshot
	changes ReasonCounts
	panics  uint64
	// lastPanic is zero if there was none.
	lastPanic time.Time
}

// stamp is a time in milliseconds, modulo 50 days, which nothing waits for; 0 is none.
// It takes no room in a slot.
type stamp uint32

func stampOf(now time.Duration) stamp { return max(1, stamp(now/time.Millisecond)) }

// age is how long before now the stamp was.
func (s stamp) age(now time.Duration) time.Duration {
	return time.Duration(stampOf(now)-s) * time.Millisecond
}

// stamper reads the clock at most once: a reading takes 50 ns, and handing on a
// change 200 ns.
type stamper struct {
	origin time.Time
	at     stamp
}

func (s *stamper) read() stamp {
	if s.at == 0 {
		s.at = stampOf(time.Since(s.origin))
	}
	return s.at
}

// now is the time since origin: never 0, which stands for none.
func (h *Hub[T]) now() time.Duration { return time.Since(h.origin) }

// showLocked publishes the present handlers to Statuses.
func (h *Hub[T]) showLocked() {
	shown := slices.Clone(h.regs)
	h.shown.Store(&shown)
}

// Statuses returns the status of each handler that may still be called or is being
// called, in the order in which they were added. It waits for no Commit, allocates only
// the slice, and costs about 100 ns a handler.
func (h *Hub[T]) Statuses() []Status {
	shown := h.shown.Load()
	if shown == nil || len(*shown) == 0 {
		return nil
	}
	out := make([]Status, len(*shown))
	for i, r := range *shown {
		r.report(&out[i])
	}
	return out
}

func (r *Registration[T]) report(s *Status) {
	synced := r.HasSynced()
	r.mu.Lock()
	defer r.mu.Unlock()
	*s = Status{
		Name:             r.opts.Name,
		Synced:           synced,
		Pending:          r.queue.len() + r.replay.left,
		InFlight:         r.flight.records,
		Calls:            r.counts.calls,
		Changes:          r.counts.changes,
		Folded:           r.queue.folded,
		Panics:           r.counts.panics,
		LastPanic:        r.counts.lastPanic,
		DeliveredThrough: r.throughLocked(),
		Err:              r.err,
	}
	if r.flight.since > 0 {
		s.CallKey, s.CallSince = r.flight.key, wallclock.At(r.hub.origin, r.flight.since)
	}
	switch {
	case r.replay.left > 0:
		s.OldestPending = wallclock.At(r.hub.origin, r.replay.since)
	case r.queue.n > 0:
		// A record pushed while the goroutine waits has no time, since the push wakes
		// the goroutine. If the goroutine is late for want of CPU, the record's time
		// is that of the first report.
		now, oldest := r.hub.now(), &r.queue.slots[r.queue.head].at
		if *oldest == 0 {
			*oldest = stampOf(now)
		}
		s.OldestPending = wallclock.At(r.hub.origin, now.Truncate(time.Millisecond)-oldest.age(now))
	}
}
