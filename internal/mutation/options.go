package mutation

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

const (
	// DefaultInterval is that of full mode: client-go's.
	DefaultInterval = time.Second
	// DefaultSampleInterval is that of sampling mode: a thousandth of 30 s is 30 ms
	// of CPU, enough for a hundred pods.
	DefaultSampleInterval = 30 * time.Second
	// share is the divisor of the part of an interval that sampling may take.
	share = 1000
)

// Options of a Detector. KeyFunc, Snapshot and Report are required, and one of
// All and Sample.
type Options[T any] struct {
	// All watches every object.
	All bool
	// Sample is how many objects are watched at a time if not all are.
	Sample int
	// Interval is the time between two checks: DefaultInterval or
	// DefaultSampleInterval if 0.
	Interval time.Duration
	// KeyFunc is the store's.
	KeyFunc store.KeyFunc[T]
	// Snapshot returns the store's present state. It must be O(1).
	Snapshot func() store.Reader[T]
	// Report is called with each *Error, under no lock, from the goroutine that
	// found it.
	Report func(error)
	// Clock measures the cost of sampling: time.Now if nil.
	Clock func() time.Time
	// Seed makes the choice of a sample repeatable; random if 0.
	Seed uint64
}

// validate returns every problem at once.
func (o *Options[T]) validate() error {
	var errs []error
	if o.All == (o.Sample != 0) {
		errs = append(errs, fmt.Errorf("all is %v and the sample is %d: one of them says what to watch", o.All, o.Sample))
	}
	if o.Sample < 0 {
		errs = append(errs, fmt.Errorf("the sample is %d, must not be negative", o.Sample))
	}
	if o.Interval < 0 {
		errs = append(errs, fmt.Errorf("the interval is %v, must not be negative", o.Interval))
	}
	if o.KeyFunc == nil || o.Snapshot == nil || o.Report == nil {
		errs = append(errs, errors.New("KeyFunc, Snapshot or Report is missing"))
	}
	return errors.Join(errs...)
}
