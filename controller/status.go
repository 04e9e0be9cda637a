package controller

import (
	"fmt"
	"iter"
	"time"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
	"github.com/kinglet-go/kinglet/store"
)

// Status is what is known of a controller at one moment.
type Status[K comparable] struct {
	Name    string
	Workers int
	// Gate is whether runs may begin, and if not, why.
	Gate Gate
	// Queued keys may run as soon as a worker is free; Running ones run; Waiting
	// ones wait for a delay or for their next try.
	Queued, Running, Waiting int
	// Failing keys failed when they last ran: they wait for their next try, or the
	// error was a Terminal one, as it was for FailedForGood of them. At most the last
	// 1024 of the latter are remembered, until they succeed or are cancelled.
	Failing, FailedForGood int
	// Succeeded and Failed count runs. Of the failed ones, Terminal counts those with a
	// Terminal error, Panicked those that panicked, and TimedOut those that took longer
	// than Options.Timeout.
	Succeeded, Failed, Terminal, Panicked, TimedOut uint64
	// LastPanic is when a run panicked last; zero if none has.
	LastPanic time.Time
	// Unmapped counts changes of informers that could not be mapped to keys; each
	// was reported as a *MapError.
	Unmapped uint64
	// Hot are keys that ran more than ten times within a minute, retries of failures
	// not counted, the hottest first: often two controllers that undo each other's work, or one that acts
	// on its own writes.
	Hot []HotKey[K]
}

// Status returns the state of the controller. Its cost does not grow with the number of
// keys.
func (c *Controller[K]) Status() Status[K] {
	return c.status(c.queue.Counts())
}

func (c *Controller[K]) status(n keyqueue.Counts) Status[K] {
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate.Reason == notLeading {
		if gate.Err = c.opts.Elector.Err(); gate.Err != nil {
			gate.Reason += ": " + errorText(gate.Err)
		}
	}
	s := Status[K]{
		Name:          c.opts.Name,
		Workers:       c.opts.Workers,
		Gate:          gate,
		Queued:        n.Queued,
		Running:       n.Running,
		Waiting:       n.Waiting,
		Failing:       n.Failing,
		FailedForGood: n.Failed,
		Succeeded:     c.counts.succeeded.Load(),
		Failed:        c.counts.failed.Load(),
		Terminal:      c.counts.terminal.Load(),
		Panicked:      c.counts.panicked.Load(),
		TimedOut:      c.counts.timedOut.Load(),
		Unmapped:      c.mapFailures.Load(),
		Hot:           c.hot.list(time.Now(), c.causeName),
	}
	if at := c.counts.lastPanic.Load(); at != nil {
		s.LastPanic = *at
	}
	return s
}

// State is what a key is doing.
type State = keyqueue.State

// The states. A key without a state is absent: nothing is kept of it.
const (
	// Waiting for a delay, or for its next try.
	Waiting = keyqueue.Waiting
	// Queued until a worker is free.
	Queued = keyqueue.Queued
	// Running.
	Running = keyqueue.Running
	// RunningAgain means that it runs, and will once more, because it was added
	// meanwhile.
	RunningAgain = keyqueue.Again
	// FailedForGood means that its last run ended with a Terminal error. It runs when it
	// is added again.
	FailedForGood = keyqueue.Failed
)

// KeyStatus is what is known of a key.
type KeyStatus struct {
	State State
	// Since is when it came into that state.
	Since time.Time
	// Next is when it runs, if it waits for a time.
	Next time.Time
	// Failures is how often it failed since it last succeeded, and LastError the
	// last of their errors.
	Failures  int
	LastError error
	// Cause is what requested the run that it waits for, or the one under way: "add",
	// "retry", "after", or an informer and the reason of the change.
	Cause string
}

// Keys iterates over all keys that are not absent, in no particular order. It locks the
// queue for some hundreds of them at a time: a key that changes state meanwhile may be
// missing or come twice.
func (c *Controller[K]) Keys() iter.Seq2[K, KeyStatus] {
	return func(yield func(K, KeyStatus) bool) {
		for key, s := range c.queue.All() {
			if !yield(key, c.keyStatus(s)) {
				return
			}
		}
	}
}

// Key returns what is known of a key, and false if it is absent.
func (c *Controller[K]) Key(key K) (KeyStatus, bool) {
	s, ok := c.queue.Get(key)
	if !ok {
		return KeyStatus{}, false
	}
	return c.keyStatus(s), true
}

func (c *Controller[K]) keyStatus(s keyqueue.KeyStatus) KeyStatus {
	return KeyStatus{
		State:     s.State,
		Since:     s.Since,
		Next:      s.Next,
		Failures:  s.Failure.Count,
		LastError: s.Failure.Err,
		Cause:     c.causeName(s.Cause),
	}
}

// A cause is one byte of a key's record: what requested a run.
const (
	causeAdd = iota
	causeRetry
	causeAfter
	// causeInput and the following values are the reasons of the first input's changes,
	// then of the second's, and so on.
	causeInput
	// reasons is how many reasons there are.
	reasons = uint8(store.Resync) + 1
	// causeOther stands for the inputs that do not fit.
	causeOther = 255
)

// causeOf returns the cause of a change of an input.
func causeOf(index int, reason store.Reason) uint8 {
	cause := causeInput + index*int(reasons) + int(reason)
	return uint8(min(cause, causeOther))
}

func (c *Controller[K]) causeName(cause uint8) string {
	switch cause {
	case causeAdd:
		return "add"
	case causeRetry:
		return "retry"
	case causeAfter:
		return "after"
	case causeOther:
		return "another informer"
	}
	cause -= causeInput
	c.mu.Lock()
	defer c.mu.Unlock()
	name := "an informer"
	if i := int(cause / reasons); i < len(c.inputs) {
		name = c.inputs[i].name
	}
	return fmt.Sprintf("%s: %s", name, store.Reason(cause%reasons))
}
