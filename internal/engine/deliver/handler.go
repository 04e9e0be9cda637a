package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// Handler receives changes, in order, one call at a time. The hub reuses the slice
// after the call returns; the objects are shared and read-only. ctx ends when the hub
// stops or the handler is removed.
type Handler[T any] func(ctx context.Context, changes []store.Change[T])

// DefaultMaxBatch is the largest number of changes in one call if MaxBatch is 0. 256
// changes of a pointer type are 20 KiB, held while the handler is busy; larger batches
// save almost nothing per change (BenchmarkMaxBatch).
const DefaultMaxBatch = 256

// Overflow decides what happens when a handler with EveryVersion has as many changes
// pending as its bound.
type Overflow uint8

const (
	// OverflowFoldUpdates folds an Updated into the Added or Updated that is
	// pending last for its key, if there is one. Nothing else folds, so that every
	// Added and Deleted is delivered. Beyond the bound the queue therefore still
	// grows by these, and by at most one Updated between two of a key.
	OverflowFoldUpdates Overflow = iota
	// OverflowStop ends the registration with an *OverflowError, which is
	// reported and is what Registration.Err returns.
	OverflowStop
)

// HandlerOptions choose how a handler is called. The zero value asks for the newest
// state of each key, in batches, without resync. It is kinglet.HandlerOptions.
type HandlerOptions struct {
	// Name is the handler's in errors, on the page and in metrics; "handler" if empty. If
	// another handler has it, it is numbered: handler#2.
	Name string

	// Resync, if not 0, is the period at which the handler receives every object
	// again, as Updated with Old equal to New and Reason Resync. The first pass
	// starts one period after the handler has synced. A pass that takes longer than
	// the period delays the next; changes are delivered during a pass as at any
	// time. Objects with changes pending are left out, since the handler is about to
	// receive them.
	Resync time.Duration

	// EveryVersion asks for every change one by one, up to Bound pending ones,
	// beyond which Overflow decides. Otherwise at most one record a key is pending,
	// and later changes fold into it.
	EveryVersion bool
	// Bound is required with EveryVersion, and only allowed with it.
	Bound    int
	Overflow Overflow

	// MaxBatch is the largest number of changes in one call. If 0, a handler of
	// package kinglet that is a BatchLimiter decides (HandlerFuncs asks for 1);
	// otherwise it is DefaultMaxBatch, 256. With 1, only one record is ever in flight,
	// a panic names its key, and no change follows a Remove. Callbacks for single
	// objects need 1.
	MaxBatch int

	// RecoverPanics reports a panic of the handler as *HandlerPanicError and
	// continues after the changes of the call, which count as delivered: with
	// MaxBatch 1 that is the next change. Otherwise the panic ends the process, as a
	// *HandlerPanicError that has the original value and stack.
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

func (o HandlerOptions) withDefaults() HandlerOptions {
	o.Name = cmp.Or(o.Name, "handler")
	o.MaxBatch = cmp.Or(o.MaxBatch, DefaultMaxBatch)
	return o
}
