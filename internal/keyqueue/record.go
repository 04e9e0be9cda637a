package keyqueue

import (
	"math"
	"math/bits"
	"time"
)

// record is the state of a key that is not absent. Its size matters: a controller
// that requeues each of a million objects every hour has a million records.
type record[K comparable] struct {
	key K
	// at orders the heap that holds the record:
	//
	//   waiting        when it is due
	//   paced          when it was due
	//   queued, again  when it was enqueued, less its head start
	//   running        when it is due after the run; never if it was not added
	at int64
	// pos is the place in that heap.
	pos uint32
	// class is the index of the key's class.
	class uint32
	// since is when the key entered its state.
	since moment
	// took is how long the last run was.
	took  span
	state State
	// cause is the cause of the next run, or of the one under way.
	cause uint8
}

// State is the state of a key. A key without a state is absent and has no record.
type State uint8

const (
	// Waiting until a time: for a delayed Add, or to be tried again.
	Waiting State = iota + 1
	// Paced: its delay is over, but the limit on all retries together does not allow
	// the retry yet.
	Paced
	// Queued until a worker is free.
	Queued
	// Running: a worker has it.
	Running
	// Again: a worker has it, and it is to run once more.
	Again
)

func (s State) String() string {
	switch s {
	case Waiting:
		return "waiting"
	case Paced:
		return "paced"
	case Queued:
		return "queued"
	case Running:
		return "running"
	case Again:
		return "running, and again"
	}
	return "absent"
}

// running reports whether a worker has the key.
func (s State) running() bool { return s == Running || s == Again }

// Failure describes a key that has failed since it last succeeded.
type Failure struct {
	Count int
	Err   error
	// exact is set if the key waits for a time that its error asked for; such a retry
	// is not paced.
	exact bool
}

const never = math.MaxInt64

// A tick is the unit of times that are only displayed: 31 bits of ticks last for four
// years.
const tick = int64(time.Second / 16)

func ticks(ns int64) uint32 { return uint32(min(max(ns, 0)/tick, math.MaxInt32)) }

// moment is a time in ticks. Its upper bit is set if the record's at includes a head
// start, so that at is not the time when the run was asked for.
type moment uint32

const headed moment = 1 << 31

func since(ns int64, head time.Duration) moment {
	m := moment(ticks(ns))
	if head != 0 {
		m |= headed
	}
	return m
}

func (m moment) ticks() uint32 { return uint32(m &^ headed) }

// tick sets the time, and headed the upper bit.
func (m *moment) tick(ticks uint32) { *m = *m&headed | moment(ticks) }
func (m *moment) headed()           { *m |= headed }

// asked returns when the run of a queued key was asked for. With a head start that is
// not a multiple of a tick, the result is accurate to one tick.
func (r *record[K]) asked() int64 {
	if r.since&headed == 0 {
		return r.at
	}
	within := r.at % tick
	if within < 0 {
		within += tick
	}
	return int64(r.since.ticks())*tick + within
}

// span is a duration of microseconds up to a month, with 11 bits of precision: the
// upper 5 bits are how far the lower 11 are shifted.
type span uint16

const spanBits = 11

func spanOf(d time.Duration) span {
	us := uint64(max(d, 0) / time.Microsecond)
	shift := max(bits.Len64(us)-spanBits, 0)
	if shift > 31 {
		return math.MaxUint16
	}
	return span(shift<<spanBits | int(us>>shift))
}

func (s span) duration() time.Duration {
	return time.Duration(s%(1<<spanBits)) << (s >> spanBits) * time.Microsecond
}
