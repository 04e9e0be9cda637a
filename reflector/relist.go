package reflector

import (
	"context"
	"errors"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// errDiffers ends a watch because of what Relist was told.
var errDiffers = errors.New("the store was found to differ")

// finding is what Relist was told and the driver has not taken yet.
type finding struct {
	cause error // nil if there is nothing
	// end ends the watch under way; nil if there is none.
	end context.CancelCauseFunc
}

// act ends the watch, if that is what is under way and there is a reason.
func (f *finding) act(phase Phase) {
	if f.cause != nil && f.end != nil && phase == machine.Watching {
		f.end(errDiffers)
	}
}

// Relist has everything listed again, because the sink was found to differ from
// the source at the sink's version. The reflector is Degraded, with cause as
// its last error, until the list is published. A list that is under way already
// will do, and so does one that is due because it is Degraded. OnError is not told:
// whoever found it can say more.
//
// The list is counted as ListRequested in Status; as ListConsistency if cause wraps
// ErrInconsistent.
//
// It does not block and may be called from any goroutine. The first relist in a
// row begins at once. What is found less than BackoffReset later waits, as
// other attempts at healing do: BackoffMin, doubling up to ten minutes.
func (r *Reflector[T]) Relist(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Degraded() {
		return // it is arranged
	}
	r.finding.cause = cause
	r.finding.act(r.state.Phase)
}

// requestBegins notes the request that is about to be sent. If it is a watch, end is
// not nil, and Relist ends it.
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

// requestEnds notes that the request is over.
func (r *Reflector[T]) requestEnds() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.request.UnderWay = false
	r.finding.end = nil
}

// takeFinding returns what Relist was told last, and forgets it.
func (r *Reflector[T]) takeFinding() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	cause := r.finding.cause
	r.finding.cause = nil
	return cause
}
