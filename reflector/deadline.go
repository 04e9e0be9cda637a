package reflector

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// Causes with which the driver ends a request.
var (
	errTimedOut  = errors.New("nothing came for too long")
	errRelistDue = errors.New("a relist is due")
)

// deadline ends one request by cancelling its context: when nothing came for
// too long, or when a relist is due. It has no goroutine; the timers are the
// runtime's. A timer is not moved when something comes. When it fires, it checks
// whether something has come.
type deadline struct {
	cancel context.CancelCauseFunc
	origin time.Time // all other times are spans since then

	mu       sync.Mutex
	idle     *time.Timer   // guarded by mu
	relist   *time.Timer   // guarded by mu; nil if none is due
	timeouts timeouts      // guarded by mu
	last     time.Duration // guarded by mu; when something came last
	busy     bool          // guarded by mu; what came is being processed
}

// timeouts are how long a request may be idle.
type timeouts struct {
	// quiet is the longest idle time. It does not end the request before floor.
	quiet time.Duration
	floor time.Duration
	// idle is the longest idle time regardless of floor; 0 means no limit.
	idle time.Duration
}

// timeoutsOf returns the timeouts in e of a request that was sent at start with
// a timeout of its own.
func timeoutsOf(e *machine.Effect, start, timeout time.Duration) timeouts {
	t := timeouts{quiet: time.Duration(e.Timeout), idle: time.Duration(e.IdleTimeout)}
	if e.PastTimeout {
		t.floor = start + timeout + t.quiet
	}
	return t
}

// end returns when the request times out, if nothing comes after last.
func (t *timeouts) end(last time.Duration) time.Duration {
	end := max(last+t.quiet, t.floor)
	if t.idle > 0 {
		end = min(end, last+t.idle)
	}
	return end
}

// newDeadline starts the timer; stop must be called.
func newDeadline(cancel context.CancelCauseFunc, origin time.Time, t timeouts) *deadline {
	d := &deadline{cancel: cancel, origin: origin, timeouts: t, last: time.Since(origin)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = time.AfterFunc(d.leftLocked(), d.check)
	return d
}

// leftLocked is the time left until the request times out.
func (d *deadline) leftLocked() time.Duration {
	return d.timeouts.end(d.last) - time.Since(d.origin)
}

// check ends the request if it has timed out.
func (d *deadline) check() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy {
		// Nothing can arrive while the goroutine that reads is busy.
		d.last = time.Since(d.origin)
	}
	if left := d.leftLocked(); left > 0 {
		d.idle.Reset(left)
		return
	}
	d.cancel(errTimedOut)
}

// came records that something came now and is being processed, or has been processed, so
// that more may come.
func (d *deadline) came(now time.Duration, busy bool) {
	d.mu.Lock()
	d.last, d.busy = now, busy
	d.mu.Unlock()
}

// setTimeouts replaces the timeouts.
func (d *deadline) setTimeouts(t timeouts) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timeouts = t
	d.idle.Reset(d.leftLocked())
}

// relistAfter ends the request after a while. A later call replaces an earlier one.
func (d *deadline) relistAfter(after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.relist != nil {
		d.relist.Stop()
	}
	d.relist = time.AfterFunc(after, func() { d.cancel(errRelistDue) })
}

// stop stops the timers.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle.Stop()
	if d.relist != nil {
		d.relist.Stop()
	}
}
