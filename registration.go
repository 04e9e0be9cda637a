package kinglet

import (
	"context"
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet/internal/deliver"
)

// HandlerOptions say how a handler is called. The zero value asks for the
// newest state of each key, in batches, without resync.
type HandlerOptions struct {
	// Name tells handlers apart in errors; by default "handler 1" and so on.
	Name string

	// Resync, if not 0, is the period at which the handler is told of every
	// object again, as Updated with Old equal to New and Reason Resync.
	// Objects with changes pending are left out: the handler is about to hear
	// of them. A pass that takes longer than the period delays the next.
	Resync time.Duration

	// EveryVersion asks for every change one by one, up to Bound pending
	// ones, beyond which Overflow says what happens. Otherwise at most one
	// record a key is pending, and later changes fold into it.
	EveryVersion bool
	// Bound is required with EveryVersion, and only allowed with it.
	Bound    int
	Overflow Overflow

	// MaxBatch is the largest number of changes in one call. If 0 the handler
	// decides, where it is a BatchLimiter, as HandlerFuncs is, which asks for
	// 1; for all others it is 256.
	MaxBatch int

	// RecoverPanics reports a panic of the handler as a *HandlerPanicError and
	// goes on with the changes after those of the call. Otherwise the panic
	// ends the process, as a *HandlerPanicError that carries the original
	// value and stack.
	RecoverPanics bool
}

// Overflow says what happens when a handler that asks for every version has as
// many changes pending as its bound.
type Overflow = deliver.Overflow

const (
	// OverflowFoldUpdates folds an Updated into what is pending last for its
	// key; no Added and no Deleted is lost.
	OverflowFoldUpdates = deliver.OverflowFoldUpdates
	// OverflowStop ends the registration with an *OverflowError.
	OverflowStop = deliver.OverflowStop
)

// What becomes of handlers that misbehave. The first is also what the process
// panics with unless RecoverPanics is set.
type (
	// HandlerPanicError says which handler panicked, on which key, and where.
	HandlerPanicError = deliver.HandlerPanicError
	// HandlerExitError says that a handler ended its own goroutine.
	HandlerExitError = deliver.HandlerExitError
	// OverflowError says that a handler with OverflowStop was ended.
	OverflowError = deliver.OverflowError
	// StuckHandlerError names a handler that has not returned after its
	// context ended; Run is waiting for it.
	StuckHandlerError = deliver.StuckHandlerError
)

// Registration is one handler of an informer. Its methods do not block, but
// for WaitSynced, and may be called from anywhere, also inside the handler.
type Registration[T any] struct {
	r *deliver.Registration[T]
	// wait is the informer's; see Informer.wait.
	wait func(ctx context.Context, done, over <-chan struct{}) error
}

// AddHandler adds a handler, before Run or at any time during it. It is told
// of the current state first, as Added with reason Initial, then of every
// change. It costs the same for any number of objects, and fails once the
// informer has stopped, or with everything that is wrong with opts.
//
// Removing and adding handlers is cheap and leaves nothing behind.
func (i *Informer[T]) AddHandler(h Handler[T], opts HandlerOptions) (*Registration[T], error) {
	if h == nil {
		return nil, fmt.Errorf("informer of %s: handler %q is nil", i.opts.Name, opts.Name)
	}
	if limiter, ok := h.(BatchLimiter); ok && opts.MaxBatch == 0 {
		opts.MaxBatch = limiter.MaxBatch()
	}
	opts.RecoverPanics = opts.RecoverPanics || i.opts.RecoverPanics
	r, err := i.hub.Add(h.Handle, deliver.HandlerOptions(opts))
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", i.opts.Name, err)
	}
	return &Registration[T]{r: r, wait: i.wait}, nil
}

// Name returns the name that the handler goes by in errors.
func (r *Registration[T]) Name() string { return r.r.Name() }

// Synced returns a channel that is closed once the handler has returned from
// every object of its initial list. It stays open if the handler ends first.
func (r *Registration[T]) Synced() <-chan struct{} { return r.r.Synced() }

// HasSynced reports whether Synced is closed.
func (r *Registration[T]) HasSynced() bool { return r.r.HasSynced() }

// WaitSynced blocks until Synced is closed. If ctx ends first, or the handler
// does, the error is a *NotSyncedError that names the informer, what it was
// doing, and what failed last.
func (r *Registration[T]) WaitSynced(ctx context.Context) error {
	return r.wait(ctx, r.r.Synced(), r.r.Done())
}

// Remove ends the registration: no further call begins, what is pending is
// dropped, and the handler's context ends. It does not wait for a call that
// has begun: Done says when that has returned. It may be called any number of
// times.
func (r *Registration[T]) Remove() { r.r.Remove() }

// Removed reports whether Remove was called: a registration also ends with its
// informer, and with its handler's goroutine.
func (r *Registration[T]) Removed() bool { return r.r.Removed() }

// SetResync changes the period of HandlerOptions.Resync; 0 or less ends
// resyncs. A new period begins when the handler returns from the call under
// way, or has synced if that is later.
func (r *Registration[T]) SetResync(period time.Duration) { r.r.SetResync(period) }

// Done returns a channel that is closed once the handler has been called for
// the last time and has returned.
func (r *Registration[T]) Done() <-chan struct{} { return r.r.Done() }

// Err says why the registration ended by itself: an *OverflowError or a
// *HandlerExitError. It is nil otherwise.
func (r *Registration[T]) Err() error { return r.r.Err() }

// Pending returns how many records wait for the handler, and objects of its
// initial list. What it is being called with is not among them.
func (r *Registration[T]) Pending() int { return r.r.Pending() }

// InFlight returns how many the handler is being called with.
func (r *Registration[T]) InFlight() int { return r.r.InFlight() }

// DeliveredThrough returns the newest resource version of which it is true
// that the handler has returned from every change up to it, or from one that
// it was folded into. Empty until the initial list has been handled.
func (r *Registration[T]) DeliveredThrough() string { return r.r.DeliveredThrough() }
