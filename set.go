package kinglet

import (
	"context"
	"errors"
	"fmt"
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

// Set starts, stops and waits for many informers. They are independent: while one is
// forbidden, the others work. All methods are safe for concurrent use.
type Set struct {
	mu      sync.Mutex
	members []Runnable // guarded by mu
	// informers and controllers are shown and not run; guarded by mu.
	informers   observed[Observable]
	controllers observed[ObservableController]
	opts        SetOptions // guarded by mu
	// guarded by mu; nil until Run. began is when Run was called.
	ctx   context.Context
	began time.Time
	// ended is guarded by mu: Run has returned, or is about to.
	ended   bool
	errs    []error // guarded by mu
	running sync.WaitGroup
}

// NewSet returns a Set of the given informers. It starts nothing, and does not keep
// the slice.
func NewSet(informers ...Runnable) *Set {
	return &Set{members: slices.Clone(informers)}
}

// Add adds informers to the set, before Run or while it is running; while it is
// running, they start at once. It fails with ErrStopped once the set has stopped.
func (s *Set) Add(informers ...Runnable) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || (s.ctx != nil && s.ctx.Err() != nil) {
		return fmt.Errorf("add to a set: %w", ErrStopped)
	}
	s.members = append(s.members, informers...)
	if s.ctx != nil {
		s.startLocked(informers)
	}
	return nil
}

// Run runs all informers until ctx ends, and returns when all of them have
// returned, with what they returned. It may be called once.
func (s *Set) Run(ctx context.Context) error {
	s.mu.Lock()
	if s.ctx != nil {
		s.mu.Unlock()
		return ErrAlreadyRun
	}
	s.ctx, s.began = ctx, time.Now()
	s.startLocked(s.members)
	s.mu.Unlock()

	<-ctx.Done()
	// Add fails from here on, because it checks ctx under mu: no informer joins the
	// group once mu has been held after the end of ctx.
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.running.Wait()

	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.errs...)
}

func (s *Set) startLocked(informers []Runnable) {
	ctx := s.ctx
	for _, inf := range informers {
		s.running.Go(func() {
			if err := inf.Run(ctx); err != nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.errs = append(s.errs, err)
			}
		})
	}
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
// observes, in the order they were added, members first.
func (s *Set) Status() []Status {
	informers := s.Observed()
	out := make([]Status, len(informers))
	for i, inf := range informers {
		out[i] = inf.Status()
	}
	return out
}
