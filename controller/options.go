package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Options of a controller. The zero value works.
type Options[K comparable] struct {
	// Name is used in errors and Status; "controller" if it is empty.
	Name string
	// Workers is how many keys run at once; 1 if it is 0.
	Workers int
	// Backoff is how long a key waits after a failure.
	Backoff Backoff
	// Timeout bounds one run, if not 0; the cause of its context is ErrTimeout.
	Timeout time.Duration
	// Drain is how long runs may continue after Run's context has ended; 20 s if it is
	// 0, not at all if it is negative. Their contexts live until then.
	Drain time.Duration
	// Elector, if not nil, is called before the first run. Informers run and the queue
	// fills meanwhile. See controller/lease.
	Elector Elector
	// OnError is called with a *RunError for each failed run, and with a *MapError for
	// each change that could not be mapped to keys, on the goroutine where the error
	// occurred. It should not block and must not panic. If it is nil, errors are logged
	// to slog.Default() as warnings.
	OnError func(error)
}

// Elector decides which of several replicas runs keys.
type Elector interface {
	// Acquire waits until this replica leads or ctx ends.
	Acquire(ctx context.Context) (Leadership, error)
	// Err returns why this replica could not lead, or go on leading, when it last
	// tried. It is nil if it could, or if another replica leads. Status and the error
	// of Run have it.
	Err() error
}

// Leadership is held from Acquire to Release.
type Leadership interface {
	// Lost is closed when another replica may lead.
	Lost() <-chan struct{}
	// Release lets another replica lead at once. It returns when everything has ended
	// that this replica did to lead. It is called once.
	Release()
}

// Backoff is how long a key waits after a failure: a random time up to Base after the
// first, and up to twice as much after each further one, but no more than Max. (Full
// jitter: Brooker, "Exponential Backoff And Jitter", 2015.)
type Backoff struct {
	Base time.Duration // 5 ms if 0, or Max if that is less
	Max  time.Duration // 1000 s if 0
}

// Delay returns how long a key waits after that many failures.
func (b Backoff) Delay(failures int) time.Duration {
	return time.Duration(rand.Int64N(int64(b.bound(failures)))) + 1
}

func (b Backoff) withDefaults() Backoff {
	if b.Base == 0 {
		b.Base = 5 * time.Millisecond
		if b.Max > 0 {
			b.Base = min(b.Base, b.Max)
		}
	}
	if b.Max == 0 {
		b.Max = max(1000*time.Second, b.Base)
	}
	return b
}

func (b Backoff) bound(failures int) time.Duration {
	b = b.withDefaults()
	d := b.Base
	for range failures - 1 {
		if d >= b.Max/2 {
			return b.Max
		}
		d *= 2
	}
	return min(d, b.Max)
}

func (o Options[K]) withDefaults() (Options[K], error) {
	var errs []error
	negative := func(name string, d time.Duration) {
		if d < 0 {
			errs = append(errs, fmt.Errorf("%s is %v, must not be negative", name, d))
		}
	}
	if o.Name == "" {
		o.Name = "controller"
	}
	if o.Workers < 0 {
		errs = append(errs, fmt.Errorf("option Workers is %d, must not be negative", o.Workers))
	}
	o.Workers = max(o.Workers, 1)
	negative("Backoff.Base", o.Backoff.Base)
	negative("Backoff.Max", o.Backoff.Max)
	o.Backoff = o.Backoff.withDefaults()
	if o.Backoff.Max < o.Backoff.Base {
		errs = append(errs, fmt.Errorf("Backoff.Max is %v, less than Backoff.Base, %v", o.Backoff.Max, o.Backoff.Base))
	}
	negative("Timeout", o.Timeout)
	if o.Drain == 0 {
		o.Drain = 20 * time.Second
	}
	o.Drain = max(o.Drain, 0)
	if o.OnError == nil {
		o.OnError = func(err error) { slog.Default().Warn("controller", "err", err) }
	}
	return o, errors.Join(errs...)
}
