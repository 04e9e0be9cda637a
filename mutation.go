package kinglet

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet/internal/engine/mutation"
	"github.com/kinglet-go/kinglet/store"
)

// MutationDetection makes an informer look for writes to its objects, which are
// read-only and share memory: a write to one reaches its siblings. Each write that is
// found is reported to Options.OnError as a *MutationError; if several objects share
// the memory, once for each that is watched. The zero value looks for nothing, and costs
// nothing. All and Sample exclude each other. Objects need a method DeepCopyObject, as all
// of Kubernetes' have.
//
// Comparing an object while the program writes to it is a data race, as is any other
// read of it: the Go runtime or the race detector may end the program before the
// report.
type MutationDetection struct {
	// All watches every object, from before it is stored until it has been out of the
	// store for one Interval. It is for tests: it costs a second copy of everything,
	// and a comparison of everything every Interval. Before Run returns, everything is
	// compared once more, so that a write by a handler that has ended by then is found
	// as well.
	All bool
	// Sample watches a random choice of at most that many objects: 100 is a good
	// number. It is for production: every Interval it costs a comparison of so many
	// objects, and a few times as many copies if very many arrive. A write that it
	// misses in one Interval it may find in another.
	Sample int
	// Interval is the time between two comparisons. If 0, it is 1 s with All, and 30 s
	// with Sample.
	Interval time.Duration
}

// MutationError names an object that was written to after it was stored, the field, and
// its value before and now.
type MutationError = mutation.Error

// Validate returns everything that is wrong with m.
func (m MutationDetection) Validate() error {
	var errs []error
	if m.Sample < 0 {
		errs = append(errs, fmt.Errorf("MutationDetection.Sample is %d, must not be negative", m.Sample))
	}
	if m.All && m.Sample > 0 {
		errs = append(errs, fmt.Errorf("MutationDetection.All is set and Sample is %d: one of the two", m.Sample))
	}
	return errors.Join(append(errs, notNegative("MutationDetection.Interval", m.Interval))...)
}

// newDetector returns nil if MutationDetection is off.
func (i *Informer[T]) newDetector() (*mutation.Detector[T], error) {
	m := i.opts.MutationDetection
	if !m.All && m.Sample == 0 {
		return nil, nil
	}
	return mutation.New(mutation.Options[T]{
		All:      m.All,
		Sample:   m.Sample,
		Interval: m.Interval,
		KeyFunc:  i.opts.KeyFunc,
		Snapshot: func() store.Reader[T] { return i.store.Snapshot() },
		Report:   i.opts.OnError,
	})
}
