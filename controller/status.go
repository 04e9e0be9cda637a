package controller

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/keyqueue"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// mostShown bounds the keys of a status.
const mostShown = 32

// Status returns the state of the controller. Its cost does not grow with the number of
// keys. A kinglet.Set shows it on its page and in its metrics.
func (c *Controller[K]) Status() status.Controller {
	q := c.queue.Report(0)
	c.mu.Lock()
	gate := c.gate
	if gate.kind == status.GateElection { // else checkGate has seen it
		why := c.endedLocked()
		since := c.cannotRun.since(why != "")
		if why != "" {
			gate.reason, gate.kind, gate.since = why, status.GateEnded, since
		}
	}
	c.mu.Unlock()
	if gate.kind == status.GateElection {
		if gate.err = errtype.Sound(c.opts.Elector.Err()); gate.err != nil {
			gate.reason += ": " + errorText(gate.err)
		}
	}
	errSince := c.cannotLead.since(gate.err != nil)
	s := status.Controller{
		Name:          c.opts.Name,
		Workers:       c.opts.Workers,
		GateOpen:      gate.reason == "",
		GateReason:    gate.reason,
		GateErr:       gate.err,
		GateSince:     gate.since,
		GateErrSince:  errSince,
		Gate:          gate.kind,
		Queued:        q.Counts.Queued,
		Running:       q.Counts.Running,
		Again:         q.Counts.Again,
		Waiting:       q.Counts.Waiting,
		Failing:       q.Counts.Failing,
		FailedForGood: q.Counts.Failed,
		OldestQueued:  q.Oldest,
		Succeeded:     c.counts.succeeded.Load(),
		Failed:        c.counts.failed.Load(),
		Terminal:      c.counts.terminal.Load(),
		Panicked:      c.counts.panicked.Load(),
		TimedOut:      c.counts.timedOut.Load(),
		Unmapped:      c.mapFailures.Load(),
		Adds:          q.Adds,
		Retries:       q.Retries,
		Runs:          c.counts.took.Snapshot(),
		Waits:         c.counts.waited.Snapshot(),
		Hot:           c.hot.list(time.Now(), c.causeName),
	}
	if at := c.counts.lastPanic.Load(); at != nil {
		s.LastPanic = *at
	}
	for i := range c.workers {
		if _, began, running := c.workers[i].look(); running {
			s.Unfinished += time.Since(began)
			if s.OldestRun.IsZero() || began.Before(s.OldestRun) {
				s.OldestRun = began
			}
		}
	}
	return s
}

// outage remembers since when something is wrong.
type outage struct {
	mu    sync.Mutex
	began time.Time // guarded by mu; zero while nothing is
}

// since returns when a look first found something wrong, without one in between that did not.
func (o *outage) since(wrong bool) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !wrong:
		o.began = time.Time{}
	case o.began.IsZero():
		o.began = time.Now()
	}
	return o.began
}

// Inspect returns the keys that run and those that fail. It looks at the key of each
// worker, and at no more than 1024 of the keys that fail, in no particular order. The
// queue is locked for some tens of microseconds at most.
func (c *Controller[K]) Inspect() status.ControllerDetails {
	var d status.ControllerDetails
	for i := range c.workers {
		key, began, running := c.workers[i].look()
		if !running {
			continue
		}
		// The run may have ended meanwhile, and the key may run on another worker.
		if s, ok := c.queue.Get(key); ok && (s.State == keyqueue.Running || s.State == keyqueue.Again) {
			s.Since = began
			d.Running = append(d.Running, c.keyStatus(key, s))
		}
	}
	slices.SortFunc(d.Running, func(a, b status.KeyStatus) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key, b.Key))
	})
	d.Running = d.Running[:min(len(d.Running), mostShown)]
	for _, failing := range c.queue.Report(mostShown).MostFailures {
		d.Failing = append(d.Failing, c.keyStatus(failing.Key, failing.KeyStatus))
	}
	return d
}

func (c *Controller[K]) keyStatus(key K, s keyqueue.KeyStatus) status.KeyStatus {
	return status.KeyStatus{
		Key:      keyText(key),
		State:    s.State.String(),
		Since:    s.Since,
		Next:     s.Next,
		Failures: s.Failure.Count,
		Error:    errorText(s.Failure.Err),
		Cause:    c.causeName(s.Cause),
	}
}

// keyText returns a key as fmt prints it.
func keyText[K comparable](key K) string {
	switch k := any(key).(type) {
	case kinglet.Key:
		return k.String()
	case string:
		return k
	}
	return fmt.Sprint(key)
}

// mostErrorText bounds the text of an error in a report, in bytes.
const mostErrorText = 1024

// errorText returns the text of an error; of a panic, its value without the stack.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	var panicked *PanicError
	text := fmt.Sprint(err) // its Error method may panic, as that of a nil pointer
	if errors.As(err, &panicked) && panicked.Value != nil {
		text = fmt.Sprintf("panic: %v", panicked.Value)
	}
	if len(text) > mostErrorText {
		text = strings.ToValidUTF8(text[:mostErrorText], "") + "…"
	}
	return text
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
