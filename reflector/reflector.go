package reflector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
)

// Reflector keeps one sink equal to one source. Create one with New.
type Reflector[T any] struct {
	source  source.Source[T]
	sink    Sink[T]
	options Options
	// origin is the zero of the machine's time.
	origin  time.Time
	running atomic.Bool
	driver  *driver[T] // of the one Run that set running

	mu      sync.Mutex
	state   machine.State // guarded by mu; a copy of the driver's
	finding finding       // guarded by mu
	history history       // guarded by mu
	// path is how the source reads. guarded by mu
	path source.ReadPath
}

// New returns a reflector that has not begun. It starts nothing. The error
// names every option that is out of bounds.
func New[T any](src source.Source[T], sink Sink[T], opts Options) (*Reflector[T], error) {
	opts, err := opts.withDefaults()
	if src == nil {
		err = errors.Join(err, errors.New("source is nil"))
	}
	if sink == nil {
		err = errors.Join(err, errors.New("sink is nil"))
	}
	if err != nil {
		return nil, fmt.Errorf("reflector: %w", err)
	}
	opts.Name = cmp.Or(opts.Name, src.String())
	if src.Traits().NoWatchList {
		opts.DisableWatchList = true
	}
	r := &Reflector[T]{source: src, sink: sink, options: opts, origin: time.Now()}
	r.driver = &driver[T]{reflector: r, machine: machine.New(opts.config())}
	return r, nil
}

// Run keeps the sink equal to the source until ctx ends, and then returns nil.
// It blocks, starts no goroutine, and returns as soon as the source and the
// sink do. Nothing that a source does ends it earlier; the only error is
// ErrRunning.
//
// Run may be called again after it has returned. It then continues where it
// stopped: with a watch from the sink's version, or with the list that was due
// or under way. It skips the rest of a wait.
func (r *Reflector[T]) Run(ctx context.Context) error { return r.run(ctx, false) }

func (r *Reflector[T]) run(ctx context.Context, anew bool) error {
	if r.running.Swap(true) {
		return ErrRunning
	}
	defer r.running.Store(false)
	if m := r.driver.machine; anew && m.Phase == machine.Stopped && !m.Relist {
		m.Relist, m.Cause = true, machine.CauseStart
	}
	r.driver.run(ctx)
	return nil
}

// RunAnew is like Run, but begins with a list where Run would resume a watch.
// The list is not older than what the sink holds.
func (r *Reflector[T]) RunAnew(ctx context.Context) error { return r.run(ctx, true) }
