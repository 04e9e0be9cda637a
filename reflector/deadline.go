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

	mu      sync.Mutex
	silence *time.Timer   // guarded by mu
	alarm   *time.Timer   // guarded by mu; nil without an alarm
	quiet   time.Duration // guarded by mu; how long nothing may come
	floor   time.Time     // guarded by mu; silence does not count before
	last    time.Time     // guarded by mu; when something came last
}

// newDeadline begins to wait; stop must be called.
func newDeadline(cancel context.CancelCauseFunc, quiet time.Duration, floor time.Time) *deadline {
	d := &deadline{cancel: cancel, quiet: quiet, floor: floor, last: time.Now()}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.silence = time.AfterFunc(time.Until(d.dueLocked()), d.look)
	return d
}

func (d *deadline) dueLocked() time.Time {
	due := d.last.Add(d.quiet)
	if due.Before(d.floor) {
		return d.floor
	}
	return due
}

// look ends the request if it is due.
func (d *deadline) look() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if left := time.Until(d.dueLocked()); left > 0 {
		d.silence.Reset(left)
		return
	}
	d.cancel(errSilence)
}

// touch notes that something came now.
func (d *deadline) touch(now time.Time) {
	d.mu.Lock()
	d.last = now
	d.mu.Unlock()
}

// relax changes what is waited for.
func (d *deadline) relax(quiet time.Duration, floor time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quiet, d.floor = quiet, floor
	d.silence.Reset(time.Until(d.dueLocked()))
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

// due is when silence counts at the earliest, for a request sent at start with
// the given timeout.
func due(start time.Time, timeout time.Duration, e *machine.Effect) (quiet time.Duration, floor time.Time) {
	quiet = time.Duration(e.Silence)
	if e.PastTimeout {
		floor = start.Add(timeout + quiet)
	}
	return quiet, floor
}
