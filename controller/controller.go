package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/keyqueue"
	"github.com/kinglet-go/kinglet/internal/proflabel"
	"github.com/kinglet-go/kinglet/status"
)

// Reconciler makes the actual state match the desired state of one key. It is given
// only the key, not the change or the object, and reads what it needs. Several
// goroutines call Reconcile, but never two of them with the same key.
type Reconciler[K comparable] interface {
	Reconcile(ctx context.Context, key K) (Result, error)
}

// ReconcilerFunc is a function as a Reconciler.
type ReconcilerFunc[K comparable] func(ctx context.Context, key K) (Result, error)

// Reconcile calls f.
func (f ReconcilerFunc[K]) Reconcile(ctx context.Context, key K) (Result, error) { return f(ctx, key) }

// Result controls the next run of a key after a successful one. With the zero Result
// the key runs when it is added again. A Result that is returned with an error is
// ignored.
type Result struct {
	// After, if positive, makes the key run once more after that time. It replaces all
	// delays that were requested before this run began; of those requested during the
	// run, the earliest counts. A change before then makes the key run at once, and
	// ends the delay.
	After time.Duration
	// Head is the head start of that run; see AddOptions.
	Head time.Duration
}

// AddOptions determine when an added key runs, and with what precedence.
type AddOptions struct {
	// After delays the run. If the key waits already, the earlier time counts.
	After time.Duration
	// Head is a head start: the key is served as if it had been added that much
	// earlier, or later if it is negative. All keys age alike, whatever their head
	// starts, so none starves.
	Head time.Duration
}

// Controller runs a Reconciler for keys: those that Watch makes of changes of
// informers, and those that are added. Make one with New. All methods are safe for
// concurrent use.
type Controller[K comparable] struct {
	opts       Options[K]
	reconciler Reconciler[K]
	queue      *keyqueue.Queue[K]
	hot        *hotKeys[K]
	counts     counts
	workers    []worker[K]

	started atomic.Bool
	// ended is set when no more keys and inputs are accepted.
	ended atomic.Bool
	// mapFailures counts changes that could not be mapped to keys.
	mapFailures atomic.Uint64

	mu     sync.Mutex
	inputs []input // guarded by mu
	gate   gate    // guarded by mu
	// cannotLead is the Elector's, cannotRun that of an input that ended while the
	// controller stood by; both as far as Status is called.
	cannotLead, cannotRun outage
	// changed is closed, and replaced, when an input is connected or dropped.
	changed chan struct{} // guarded by mu
	// runs is the parent of the contexts of runs. It is set before there are any.
	runs context.Context
}

// New returns a controller that reconciles keys with r. It starts nothing: see Run. The
// error names everything that is wrong with o.
func New[K comparable](r Reconciler[K], o Options[K]) (*Controller[K], error) {
	var missing error
	if f, isFunc := r.(ReconcilerFunc[K]); r == nil || isFunc && f == nil {
		missing = errors.New("the reconciler is nil")
	}
	o, err := o.withDefaults()
	if err = errors.Join(missing, err); err != nil {
		return nil, fmt.Errorf("controller %s: %w", o.Name, err)
	}
	c := &Controller[K]{
		opts:       o,
		reconciler: r,
		queue:      keyqueue.New(keyqueue.Options[K]{}),
		hot:        newHotKeys[K](),
		changed:    make(chan struct{}),
		workers:    make([]worker[K], o.Workers),
		gate:       gate{reason: "Run has not been called", since: time.Now()},
	}
	c.queue.Hold(true)
	return c, nil
}

// Add makes keys run as soon as a worker is free. A key that is added again before its
// run begins runs once; one that is added during its run, once more. Add does not
// block. Once Run has ended, or has begun to stop, it returns an error that wraps
// ErrStopped.
func (c *Controller[K]) Add(keys ...K) error { return c.AddWith(AddOptions{}, keys...) }

// AddWith is Add after a delay or with a head start.
func (c *Controller[K]) AddWith(o AddOptions, keys ...K) error {
	for _, key := range keys {
		if err := c.add(key, keyqueue.AddOptions{After: o.After, Head: o.Head}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller[K]) add(key K, o keyqueue.AddOptions) error {
	switch {
	case !c.ended.Load() && c.queue.Add(key, o):
		return nil
	case key != key:
		return fmt.Errorf("controller %s: add %v: the key does not equal itself, so it would never be found again", c.opts.Name, key)
	}
	return fmt.Errorf("controller %s: add %v: %w", c.opts.Name, key, ErrStopped)
}

// Cancel forgets that a key is queued, waits for a delay or for its next try, or is to
// run again after the run under way. It reports whether any of these was true. It does
// not end a run.
func (c *Controller[K]) Cancel(key K) bool { return c.queue.Cancel(key) }

// Run runs keys until ctx ends. Runs begin once each watched informer has synced, all
// of its initial objects are in the queue, and the Elector has made this replica lead.
//
// When ctx ends, no further run begins, keys are refused and informers are no longer
// listened to. Runs under way keep a live context for Options.Drain, after which it is
// cancelled with ErrDraining; leadership is released after the last of them. If
// leadership is lost, their contexts are cancelled at once. Run returns when everything
// that it started has ended, so a run that ignores its context holds it up. Run may be
// called once.
//
// The error is nil after a stop, a *DrainError if runs had to be cancelled,
// ErrLeadershipLost with the Elector's reason, or the Elector's error.
//
// Run does not run the informers, which may serve others: run each, or a kinglet.Set that
// has them. If nobody does within 5 s, a warning to slog.Default() names them.
func (c *Controller[K]) Run(ctx context.Context) error {
	if c.started.Swap(true) {
		return fmt.Errorf("controller %s: %w", c.opts.Name, ErrAlreadyRun)
	}
	runs, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	c.runs = proflabel.Controller(runs, c.opts.Name)

	var workers sync.WaitGroup
	for i := range c.workers {
		c.startWorker(&c.workers[i], &workers)
	}
	warning := time.AfterFunc(notRunFor, c.warnOfInformersNotRun)
	defer warning.Stop()
	idle := make(chan struct{}) // closed when workers and handlers have returned
	led, lost, err := c.lead(ctx)
	if err == nil {
		err = c.supervise(ctx, lost)
	}
	handlers := c.stop()
	go func() {
		for _, h := range handlers {
			<-h.Done()
		}
		workers.Wait()
		close(idle)
	}()
	if errors.Is(err, ErrLeadershipLost) {
		cancel(err)
		<-idle
	} else if drainErr := c.drain(idle, lost, cancel); drainErr != nil {
		err = errors.Join(err, drainErr)
	}
	if led != nil {
		led.Release()
	}
	if err != nil && !errors.As(err, new(*DrainError)) {
		err = fmt.Errorf("controller %s: %w", c.opts.Name, err)
	}
	return err
}

// lead waits until this replica leads. Without an Elector, and if ctx ended before
// it led, there is no Leadership and no error.
func (c *Controller[K]) lead(ctx context.Context) (Leadership, <-chan struct{}, error) {
	if c.opts.Elector == nil {
		return nil, nil, nil
	}
	c.mu.Lock()
	c.setGateLocked(notLeading, status.GateElection)
	c.mu.Unlock()
	led, err := c.opts.Elector.Acquire(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("election: %w", errtype.Sound(err))
	case led == nil:
		return nil, nil, errors.New("election: the Elector returned neither a Leadership nor an error")
	}
	return led, led.Lost(), nil
}

// leadershipLost returns ErrLeadershipLost, with the Elector's reason.
func (c *Controller[K]) leadershipLost() error {
	if cause := errtype.Sound(c.opts.Elector.Err()); cause != nil {
		return fmt.Errorf("%w: %w", ErrLeadershipLost, cause)
	}
	return ErrLeadershipLost
}

// stop ends the inputs, and keeps runs from beginning. It returns the handlers, which
// may still be in a call.
func (c *Controller[K]) stop() []kinglet.Registration {
	c.ended.Store(true)
	c.queue.Stop()
	c.mu.Lock()
	inputs := slices.Clone(c.inputs)
	c.gate = gate{reason: "stopped", since: time.Now()}
	c.mu.Unlock()
	var handlers []kinglet.Registration
	for _, in := range inputs {
		if in.handler != nil {
			in.handler.Remove()
			handlers = append(handlers, in.handler)
		}
	}
	return handlers
}

// drain waits for the runs under way, and cancels those that take too long.
func (c *Controller[K]) drain(idle, lost <-chan struct{}, cancel context.CancelCauseFunc) error {
	timer := time.NewTimer(c.opts.Drain)
	defer timer.Stop()
	select {
	case <-idle:
		return nil
	case <-lost:
		err := c.leadershipLost()
		cancel(err)
		<-idle
		return err
	case <-timer.C:
	}
	err := &DrainError{Controller: c.opts.Name, Drain: c.opts.Drain}
	for key, s := range c.queue.All() {
		if s.State == keyqueue.Running || s.State == keyqueue.Again {
			err.Keys = append(err.Keys, fmt.Sprint(key))
		}
	}
	cancel(ErrDraining)
	<-idle
	if len(err.Keys) == 0 {
		return nil
	}
	return err
}
