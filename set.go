package kinglet

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Runnable is what a Set runs: an Informer of any type.
type Runnable interface {
	Run(ctx context.Context) error
	WaitSynced(ctx context.Context) error
	Status() Status
}

// RunnableController is a controller that a Set runs: one of package controller.
type RunnableController interface {
	ObservableController
	Run(ctx context.Context) error
}

// Set runs the informers and controllers of a program, and shows them. Informers are
// independent: while one is forbidden, the others work. All methods are safe for
// concurrent use.
type Set struct {
	mu sync.Mutex
	// members and running are what Run runs; guarded by mu.
	members []Runnable
	running []RunnableController
	// informers and controllers are shown; guarded by mu.
	informers   observed[Observable]
	controllers observed[ObservableController]
	opts        SetOptions // guarded by mu
	// ctx is of controllers, informersCtx of informers, which end later. Both are
	// guarded by mu, and nil until Run. began is when Run was called.
	ctx, informersCtx context.Context
	stop              context.CancelFunc // of ctx
	began             time.Time
	// ended is guarded by mu: Run has returned, or is about to.
	ended bool
	errs  []error // guarded by mu
	// runningControllers and runningInformers are joined under mu, before ended is set.
	runningControllers, runningInformers sync.WaitGroup
}

// NewSet returns a Set of the given informers. It starts nothing, and does not keep
// the slice.
func NewSet(informers ...Runnable) *Set {
	s := &Set{}
	_ = s.Add(informers...) // which fails once a set is stopping
	return s
}

// Add adds informers to the set, before Run or while it is running; while it is
// running, they start at once. One that is in the set already is left as it is. Add fails
// with ErrStopped once the set is stopping.
func (s *Set) Add(informers ...Runnable) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stoppingLocked() {
		return fmt.Errorf("add to a set: %w", ErrStopped)
	}
	before := len(s.members)
	for _, inf := range informers {
		if !has(s.members, inf) {
			s.members = append(s.members, inf)
			s.informers.add(inf, inf.Status().Name)
		}
	}
	if s.ctx != nil {
		s.startInformersLocked(s.members[before:])
	}
	return nil
}

// has reports whether one is in all, where that can be told.
func has[T any](all []T, one T) bool {
	return reflect.ValueOf(one).Comparable() && slices.ContainsFunc(all, func(other T) bool { return any(other) == any(one) })
}

// AddController adds controllers that the set runs, and shows as ObserveController does,
// before Run or while it is running; while it is running, they start at once. It does not
// add the informers that they watch. One that the set runs already is left as it is. It
// fails with ErrStopped once the set is stopping.
func (s *Set) AddController(controllers ...RunnableController) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stoppingLocked() {
		return fmt.Errorf("add to a set: %w", ErrStopped)
	}
	before := len(s.running)
	for _, c := range controllers {
		if !has(s.running, c) {
			s.running = append(s.running, c)
			s.controllers.add(c, c.Status().Name)
		}
	}
	if s.ctx != nil {
		s.startControllersLocked(s.running[before:])
	}
	return nil
}

// Run runs all informers and controllers until ctx ends or a controller fails, such as
// by the loss of its leadership. Then it stops the controllers: runs under way end, and
// leadership is released after the last of them. The informers stop after that, so that
// these runs read what is true. Run returns when all of them have returned, with what they
// returned. It may be called once.
func (s *Set) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.ctx != nil {
		s.mu.Unlock()
		return ErrAlreadyRun
	}
	var stopInformers context.CancelFunc
	s.informersCtx, stopInformers = context.WithCancel(context.WithoutCancel(ctx))
	defer stopInformers()
	s.ctx, s.stop = context.WithCancel(ctx)
	defer s.stop()
	s.began = time.Now()
	s.startInformersLocked(s.members)
	s.startControllersLocked(s.running)
	s.mu.Unlock()

	<-s.ctx.Done()
	// Nothing joins the groups once mu has been held after the end of ctx, because Add
	// and AddController check it under mu.
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.runningControllers.Wait()
	stopInformers()
	s.runningInformers.Wait()

	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

func (s *Set) stoppingLocked() bool {
	return s.ended || s.ctx != nil && s.ctx.Err() != nil
}

func (s *Set) startInformersLocked(informers []Runnable) {
	ctx := s.informersCtx
	for _, inf := range informers {
		s.runningInformers.Go(func() { s.failed(inf.Run(ctx)) })
	}
}

func (s *Set) startControllersLocked(controllers []RunnableController) {
	ctx := s.ctx
	for _, c := range controllers {
		s.runningControllers.Go(func() {
			if err := c.Run(ctx); err != nil {
				s.failed(err)
				s.stop()
			}
		})
	}
}

func (s *Set) failed(err error) {
	if err == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.errs = append(s.errs, err)
}

// Informers returns the members, in the order they were added.
func (s *Set) Informers() []Runnable {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.members)
}

// WaitSynced blocks until every informer that is in the set now has synced. If ctx ends
// first, the error is a *SetNotSyncedError: it lists those that have not, each with its
// last error. The others continue to work.
func (s *Set) WaitSynced(ctx context.Context) error {
	members := s.Informers()
	failed := &SetNotSyncedError{Total: len(members)}
	for _, inf := range members {
		// One after the other is enough: the context is the same for all, and
		// each answers at once if it has synced.
		err := inf.WaitSynced(ctx)
		var one *NotSyncedError
		switch {
		case err == nil:
		case errors.As(err, &one):
			failed.NotSynced = append(failed.NotSynced, one)
		default:
			failed.NotSynced = append(failed.NotSynced, &NotSyncedError{Name: inf.Status().Name, Phase: inf.Status().Phase, Err: err})
		}
	}
	if len(failed.NotSynced) > 0 {
		return failed
	}
	return nil
}

// Status returns the status of every informer of the set, and of those that it
// observes, in the order they were added.
func (s *Set) Status() []Status {
	informers, _ := s.Observed()
	out := make([]Status, len(informers))
	for i, inf := range informers {
		out[i] = inf.Status()
	}
	return out
}
