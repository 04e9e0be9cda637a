package reflector

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// Why a request was ended from this side.
var (
	errSilence = errors.New("nothing came for too long")
	errAlarm   = errors.New("a relist is due")
)

// deadline ends one request by cancelling its context: when nothing came for
// too long, or at an alarm. It has no goroutine; the timers are the runtime's,
// and a timer is not moved when something comes, but looks, when it fires,
// whether something has come.
type deadline struct {
	cancel context.CancelCauseFunc
	origin time.Time // all other times are spans since then

	mu       sync.Mutex
	silence  *time.Timer   // guarded by mu
	alarm    *time.Timer   // guarded by mu; nil without an alarm
	patience patience      // guarded by mu
	last     time.Duration // guarded by mu; when something came last
	busy     bool          // guarded by mu; what came is being taken in
}

// patience is how long nothing may come.
type patience struct {
	// quiet, but not before floor.
	quiet time.Duration
	floor time.Duration
	// idle is the same at any time, 0 if for ever.
	idle time.Duration
}

// patienceOf is what e says of a request sent at start with the given timeout.
func patienceOf(e *machine.Effect, start, timeout time.Duration) patience {
	p := patience{quiet: time.Duration(e.Silence), idle: time.Duration(e.Idle)}
	if e.PastTimeout {
		p.floor = start + timeout + p.quiet
	}
	return p
}

// end is when it is at an end, if nothing comes after last.
func (p *patience) end(last time.Duration) time.Duration {
	end := max(last+p.quiet, p.floor)
	if p.idle > 0 {
		end = min(end, last+p.idle)
	}
	return end
}

// newDeadline begins to wait; stop must be called.
func newDeadline(cancel context.CancelCauseFunc, origin time.Time, p patience) *deadline {
	d := &deadline{cancel: cancel, origin: origin, patience: p, last: time.Since(origin)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silence = time.AfterFunc(d.leftLocked(), d.look)
	return d
}

// leftLocked is how much longer nothing may come.
func (d *deadline) leftLocked() time.Duration {
	return d.patience.end(d.last) - time.Since(d.origin)
}

// look ends the request if it is due.
func (d *deadline) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy {
		// Nobody reads, so nothing can come.
		d.last = time.Since(d.origin)
	}
	if left := d.leftLocked(); left > 0 {
		d.silence.Reset(left)
		return
	}
	d.cancel(errSilence)
}

// came notes that something came now, and is being taken in.
func (d *deadline) came(now time.Duration) {
	d.mu.Lock()
	d.last, d.busy = now, true
	d.mu.Unlock()
}

// taken notes that what came has been taken in, and that more may come.
func (d *deadline) taken(now time.Duration) {
	d.mu.Lock()
	d.last, d.busy = now, false
	d.mu.Unlock()
}

// relax changes what is waited for.
func (d *deadline) relax(p patience) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.patience = p
	d.silence.Reset(d.leftLocked())
}

// setAlarm ends the request after a while.
func (d *deadline) setAlarm(after time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.alarm = time.AfterFunc(after, func() { d.cancel(errAlarm) })
}

// stop ends the waiting.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silence.Stop()
	if d.alarm != nil {
		d.alarm.Stop()
	}
}
