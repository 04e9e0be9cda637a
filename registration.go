package kinglet

import (
	"context"
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet/internal/engine/deliver"
)

// HandlerOptions choose how a handler is called. The zero value delivers the newest
// state of each key, in batches, without resync.
//
// Name is the handler's name in errors, on the page and in metrics; "handler" if empty. If
// another handler has it, it is numbered: handler#2. Resync, if not
// 0, is the period at which the handler gets every object again, as Updated with reason
// Resync. EveryVersion delivers every change one by one, with up to Bound pending,
// beyond which Overflow decides; otherwise at most one record per key is pending, and
// later changes fold into it. MaxBatch is the largest number of changes in one call. If
// 0, a BatchLimiter decides, such as HandlerFuncs, whose limit is 1; for all others it
// is 256. RecoverPanics reports a panic of the handler as a *HandlerPanicError and
// continues with the next change; otherwise the panic ends the process.
type HandlerOptions = deliver.HandlerOptions

// Overflow decides what happens when a handler with EveryVersion has as many changes
// pending as its bound.
type Overflow = deliver.Overflow

const (
	// OverflowFoldUpdates folds an Updated into the last pending change of its key; no
	// Added and no Deleted is lost.
	OverflowFoldUpdates = deliver.OverflowFoldUpdates
	// OverflowStop ends the registration with an *OverflowError.
	OverflowStop = deliver.OverflowStop
)

// Errors of handlers that misbehave. Unless RecoverPanics is set, the process panics
// with the first.
type (
	// HandlerPanicError reports that a handler panicked: the handler's name, the keys
	// of the call, the value and the stack.
	HandlerPanicError = deliver.HandlerPanicError
	// HandlerExitError reports that a handler ended its own goroutine.
	HandlerExitError = deliver.HandlerExitError
	// OverflowError reports that a handler with OverflowStop has been ended.
	OverflowError = deliver.OverflowError
	// StuckHandlerError reports that a handler has not returned after its context
	// ended, and that Run is waiting for it.
	StuckHandlerError = deliver.StuckHandlerError
)

// Registration is one handler of an informer of any type. Its methods do not block,
// except WaitSynced. They are safe for concurrent use, also inside the handler.
type Registration interface {
	// Name returns the handler's name in errors.
	Name() string
	// Synced returns a channel that is closed once the handler has returned from
	// every object of its initial list. It stays open if the handler ends first.
	Synced() <-chan struct{}
	// HasSynced reports whether Synced is closed.
	HasSynced() bool
	// WaitSynced blocks until Synced is closed. If ctx ends first, or the handler
	// does, the error is a *NotSyncedError that names the informer, what it was
	// doing, and what failed last.
	WaitSynced(ctx context.Context) error

	// Remove ends the registration: no further call begins, pending changes are
	// dropped, and the handler's context ends. It does not wait for a call that has
	// begun: Done is closed when that call has returned. It may be called any number of
	// times.
	Remove()
	// Removed reports whether Remove was called: a registration also ends with its
	// informer, and with its handler's goroutine.
	Removed() bool
	// Done returns a channel that is closed once the handler has been called for
	// the last time and has returned.
	Done() <-chan struct{}
	// Err returns why the registration ended on its own: an *OverflowError or a
	// *HandlerExitError. It is nil otherwise.
	Err() error

	// SetResync changes the period of HandlerOptions.Resync; 0 or less ends
	// resyncs. A new period begins when the handler returns from the call under
	// way, or has synced if that is later.
	SetResync(period time.Duration)
	// Pending returns how many records, and objects of its initial list, wait for the
	// handler. The changes of a call under way are not counted.
	Pending() int
	// InFlight returns how many records the call under way has.
	InFlight() int
	// DeliveredThrough returns the newest resource version through which the
	// handler has returned from every change, or from one that it was folded into.
	// It is empty until the initial list has been handled.
	DeliveredThrough() string
}

// registration is a handler of a hub whose waits name the informer.
type registration[T any] struct {
	*deliver.Registration[T]
	informer *Informer[T]
}

func (r registration[T]) WaitSynced(ctx context.Context) error {
	return r.informer.wait(ctx, r.Synced(), r.Done())
}

// DeliveredThrough implements Registration. It returns "" once there have been several
// scopes, whose versions cannot be compared.
func (r registration[T]) DeliveredThrough() string {
	if r.informer.sources.several.Load() {
		return ""
	}
	return r.Registration.DeliveredThrough()
}

// AddHandler adds a handler, before Run or at any time during it. The handler gets the
// current state first, as Added with reason Initial, then every change. The cost of
// AddHandler does not depend on the number of objects. The error wraps ErrStopped once
// the informer has stopped, or names everything that is wrong with opts.
//
// Removing and adding handlers is cheap and leaves nothing behind.
func (i *Informer[T]) AddHandler(h Handler[T], opts HandlerOptions) (Registration, error) {
	if h == nil {
		return nil, fmt.Errorf("informer of %s: handler %q is nil", i.opts.Name, opts.Name)
	}
	if limiter, ok := h.(BatchLimiter); ok && opts.MaxBatch == 0 {
		opts.MaxBatch = limiter.MaxBatch()
	}
	opts.RecoverPanics = opts.RecoverPanics || i.opts.RecoverPanics
	r, err := i.hub.Add(h.Handle, opts)
	if err != nil {
		return nil, i.named(err)
	}
	return registration[T]{r, i}, nil
}
