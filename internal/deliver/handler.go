package deliver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// Handler is told of changes, in order, one call at a time. The slice is the
// hub's again when the call returns; the objects are shared and read-only.
// ctx ends when the hub stops or the handler is removed.
type Handler[T any] func(ctx context.Context, changes []store.Change[T])

// DefaultMaxBatch is how many changes a handler is given at once if it does
// not say. 256 changes of a pointer type are 24 KiB, held while the handler is
// busy; what a call costs is spread thin by then (BenchmarkMaxBatch).
const DefaultMaxBatch = 256

// Overflow says what happens when a handler that asks for every version has
// as many changes pending as its bound.
type Overflow uint8

const (
	// OverflowFoldUpdates folds an Updated into the Added or Updated that is
	// pending last for its key, if there is one. Nothing else folds, so that
	// no Added and no Deleted goes unheard; beyond the bound the queue
	// therefore still grows by these, and by at most one Updated between two
	// of a key.
	OverflowFoldUpdates Overflow = iota
	// OverflowStop ends the registration with an *OverflowError, which is
	// reported and is what Registration.Err returns.
	OverflowStop
)

// HandlerOptions are how a handler wants to be told. The zero value asks for
// at most one pending record a key, and no resync.
type HandlerOptions struct {
	// Name tells handlers apart in errors; by default "handler 1" and so on.
	Name string

	// Resync, if not 0, is the period at which the handler is told of every
	// object again, as Updated with Old equal to New and Reason Resync. The
	// first pass starts one period after the handler has synced. A pass that
	// takes longer than the period delays the next; changes are delivered
	// during a pass as at any time. Objects with changes pending are left
	// out: the handler is about to hear of them.
	Resync time.Duration

	// EveryVersion asks for every change one by one, up to Bound pending
	// ones, beyond which Overflow says what happens.
	EveryVersion bool
	// Bound is required with EveryVersion, and only allowed with it.
	Bound    int
	Overflow Overflow

	// MaxBatch is the largest number of changes in one call;
	// DefaultMaxBatch if 0. With 1, only one record is ever in flight, a
	// panic is known by its change, and nothing follows a Remove: it is what
	// callbacks for single objects should be built on.
	MaxBatch int

	// RecoverPanics reports a panic of the handler as *HandlerPanicError and
	// goes on with the changes after those of the call, which count as
	// delivered: with MaxBatch 1 that is the next change. By default the
	// panic is not contained: it ends the process, as a *HandlerPanicError
	// that carries the original value and stack.
	RecoverPanics bool
}

// validate returns every problem at once.
func (o HandlerOptions) validate() error {
	var errs []error
	if o.Resync < 0 {
		errs = append(errs, fmt.Errorf("negative Resync: %v", o.Resync))
	}
	if o.MaxBatch < 0 {
		errs = append(errs, fmt.Errorf("negative MaxBatch: %d", o.MaxBatch))
	}
	switch {
	case o.EveryVersion && o.Bound <= 0:
		errs = append(errs, fmt.Errorf("positive Bound needed with EveryVersion, not %d", o.Bound))
	case !o.EveryVersion && o.Bound != 0:
		errs = append(errs, errors.New("a Bound is for EveryVersion only: otherwise one record a key is the bound"))
	}
	switch {
	case o.Overflow > OverflowStop:
		errs = append(errs, fmt.Errorf("unknown Overflow: %d", o.Overflow))
	case !o.EveryVersion && o.Overflow != OverflowFoldUpdates:
		errs = append(errs, errors.New("an Overflow is for EveryVersion only: otherwise nothing can overflow"))
	}
	return errors.Join(errs...)
}

// withDefaults fills in what was left open; n counts the hub's handlers.
func (o HandlerOptions) withDefaults(n int) HandlerOptions {
	if o.Name == "" {
		o.Name = fmt.Sprintf("handler %d", n)
	}
	if o.MaxBatch == 0 {
		o.MaxBatch = DefaultMaxBatch
	}
	return o
}
