package reflector

import (
	"context"
	"errors"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// errDiffers ends a watch because Relist was called.
var errDiffers = errors.New("the store was found to differ")

// finding is a call of Relist that the driver has not handled yet.
type finding struct {
	cause error // nil if there is nothing
	// end ends the watch under way; nil if there is none.
	end context.CancelCauseFunc
}

// act ends the watch under way if a finding is pending.
func (f *finding) act(phase Phase) {
	if f.cause != nil && f.end != nil && phase == machine.Watching {
		f.end(errDiffers)
	}
}

// Relist lists everything again, because the sink was found to differ from the
// source at the sink's version. The reflector is Degraded, with cause as its last
// error, until the list is published. If a list is already under way, or due because
// the reflector is Degraded, Relist adds no other. OnError is not called, since the
// caller knows more about the difference.
//
// Status counts the list as ListRequested, or as ListConsistency if cause wraps
// ErrInconsistent.
//
// It does not block and may be called from any goroutine. The first relist in a row
// begins at once. A difference found less than BackoffReset later waits like other
// healing attempts: BackoffMin, doubling up to ten minutes.
func (r *Reflector[T]) Relist(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Degraded() && !r.state.Doubtful {
		return // it is arranged
	}
	r.finding.cause = cause
	r.finding.act(r.state.Phase)
}

// requestBegins records the request that is about to be sent. For a watch, end is
// not nil, and Relist calls it.
func (r *Reflector[T]) requestBegins(request Request, end context.CancelCauseFunc, phase Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.request = request
	if end == nil {
		return
	}
	r.finding.end = end
	r.finding.act(phase)
}

// requestEnds records that the request is over.
func (r *Reflector[T]) requestEnds() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.request.UnderWay = false
	r.finding.end = nil
}

// takeFinding returns the cause of the pending Relist, and clears it.
func (r *Reflector[T]) takeFinding() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	cause := r.finding.cause
	r.finding.cause = nil
	return cause
}
