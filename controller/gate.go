package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// gate is open when runs may begin, and shut otherwise.
type gate struct {
	// reason is why the gate is shut; "" while it is open. kind is what can open it.
	reason string
	kind   status.Gate
	// since is when it was last opened or shut, or shut for another kind of reason.
	since time.Time
	// err is why this replica cannot lead, in a copy for Status.
	err error
}

// notLeading is the reason of a gate that waits for leadership.
const notLeading = "this replica does not lead"

// gateInterval is how often a gate that depends on informers is checked.
const gateInterval = 500 * time.Millisecond

// supervise opens and shuts the gate until ctx ends or leadership is lost.
func (c *Controller[K]) supervise(ctx context.Context, lost <-chan struct{}) error {
	for {
		select {
		case <-lost:
			return c.leadershipLost()
		default:
		}
		if ctx.Err() != nil {
			return nil
		}
		wake, changed, watching := c.checkGate()
		var tick <-chan time.Time
		if watching {
			tick = time.After(gateInterval)
		}
		select {
		case <-ctx.Done():
		case <-lost:
		case <-wake:
		case <-changed:
		case <-tick:
		}
	}
}

// checkGate opens or shuts the gate. It returns a channel that may open it, a channel
// for its other changes, and whether there are inputs to check again after a while.
func (c *Controller[K]) checkGate() (wake, changed <-chan struct{}, watching bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	reason, kind := "", status.GateWaits
	for i := range c.inputs {
		in := &c.inputs[i]
		if in.removed() {
			continue
		}
		watching = true
		if in.handler == nil {
			reason = fmt.Sprintf("%s is about to be watched", in.name)
			break
		}
		if why := in.unsynced(); why != "" {
			reason, wake = why, in.handler.Synced()
			break
		}
	}
	if why := c.endedLocked(); why != "" {
		reason, kind = why, status.GateEnded
	}
	c.setGateLocked(reason, kind)
	return wake, c.changed, watching
}

// endedLocked returns which input has ended for good, or "".
func (c *Controller[K]) endedLocked() string {
	for i := range c.inputs {
		if in := &c.inputs[i]; in.handler != nil && !in.removed() && in.done() {
			return in.ended()
		}
	}
	return ""
}

// notRunFor is how long informers may not have been run before a warning names them.
const notRunFor = 5 * time.Second

// warnOfInformersNotRun logs which inputs nobody runs, if there are any.
func (c *Controller[K]) warnOfInformersNotRun() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for i := range c.inputs {
		in := &c.inputs[i]
		if in.removed() {
			continue
		}
		if s := in.status(); s.Phase == reflector.Starting && !s.Synced { // else it has no source
			names = append(names, in.name)
		}
	}
	if len(names) > 0 && !c.ended.Load() {
		slog.Default().Warn("controller waits for informers that nobody runs: call Run of each, or of a kinglet.Set that has them",
			"controller", c.opts.Name, "informers", strings.Join(names, ", "))
	}
}

// removed reports whether the program has removed the input. Once the handler has
// returned, it lets go of the informer.
func (in *input) removed() bool {
	if in.handler == nil || !in.handler.Removed() {
		return in.gone
	}
	if in.done() {
		*in = input{name: in.name, gone: true}
	}
	return true
}

func (in *input) done() bool {
	select {
	case <-in.handler.Done():
		return true
	default:
		return false
	}
}

// ended returns why the input, which is done, delivers nothing any more although the
// program has not removed it.
func (in *input) ended() string {
	if in.handler.Err() != nil {
		return fmt.Sprintf("%s is not listened to any more: %v", in.name, in.handler.Err())
	}
	return fmt.Sprintf("the informer of %s has stopped", in.name)
}

// unsynced returns what the input waits for before its initial objects are in the
// queue, or "".
func (in *input) unsynced() string {
	select {
	case <-in.handler.Synced():
		return ""
	default:
	}
	s := in.status()
	switch {
	case s.Phase == reflector.Starting:
		return fmt.Sprintf("the informer of %s has not been run", in.name)
	case s.Synced:
		return fmt.Sprintf("the initial objects of %s are being enqueued", in.name)
	case s.LastError != nil:
		return fmt.Sprintf("%s has not synced: %s", in.name, s.ErrorText(s.LastError))
	}
	return fmt.Sprintf("%s has not synced: %s, %d objects so far", in.name, s.Phase, s.Received)
}

// setGateLocked shuts the gate for a reason, or opens it.
func (c *Controller[K]) setGateLocked(reason string, kind status.Gate) {
	if c.gate.reason == reason {
		return
	}
	shut := c.gate.reason != "" && reason != "" && c.gate.kind == kind
	c.gate.reason, c.gate.kind = reason, kind
	if !shut {
		c.gate.since = time.Now()
	}
	c.queue.Hold(reason != "")
}

// addInput makes the gate wait for an input that is about to be connected, and returns
// its index.
func (c *Controller[K]) addInput(in input) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended.Load() {
		return 0, ErrStopped
	}
	index := slices.IndexFunc(c.inputs, func(old input) bool { return old.gone && old.name == in.name })
	if index < 0 {
		index = len(c.inputs)
		c.inputs = append(c.inputs, in)
	}
	c.inputs[index] = in
	if c.gate.reason == "" {
		c.gate = gate{reason: fmt.Sprintf("%s is about to be watched", in.name), since: time.Now()}
		c.queue.Hold(true)
	}
	return index, nil
}

// connect gives an input its handler, or records that it has none. If the controller
// has stopped in the meantime, it removes the handler.
func (c *Controller[K]) connect(index int, handler kinglet.Registration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inputs[index].handler, c.inputs[index].gone = handler, handler == nil
	if handler != nil && c.ended.Load() {
		handler.Remove()
	}
	close(c.changed)
	c.changed = make(chan struct{})
}
