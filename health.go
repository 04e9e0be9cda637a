package kinglet

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// SetOptions configure when a Set counts as healthy. The zero
// value means the defaults.
type SetOptions struct {
	// StartupGrace is how long after Run, or after it was added if that was later, an
	// informer may take to sync before Check fails; 2 minutes if 0. In a set that is not
	// run it is counted from when the informer began, or began to fail.
	StartupGrace time.Duration
	// MaxStale is how long reads may be older than the server, as far as that is known,
	// before Check fails; 5 minutes if 0.
	MaxStale time.Duration
}

const (
	defaultGrace    = 2 * time.Minute
	defaultMaxStale = 5 * time.Minute
)

// Configure sets the options, at any time. The error names everything that is wrong
// with them; if there is one, nothing has changed.
func (s *Set) Configure(opts SetOptions) error {
	if err := errors.Join(notNegative("StartupGrace", opts.StartupGrace), notNegative("MaxStale", opts.MaxStale)); err != nil {
		return fmt.Errorf("set: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts = opts
	return nil
}

// HealthError lists the informers that make Check or Ready fail.
type HealthError struct {
	Informers []UnhealthyInformer
	// Total is how many informers were checked.
	Total int
}

// UnhealthyInformer is an informer that has not synced, or whose reads are stale.
type UnhealthyInformer struct {
	// Name is the informer's.
	Name string
	// Cause is the cause of its worst problem.
	Cause status.Cause
	// Why is what is wrong, for how long, and what to do.
	Why string
	// Err is its last error; nil if it has none.
	Err error
}

func (e *HealthError) Error() string {
	const most = 5
	lines := make([]string, 0, most+1)
	for _, i := range e.Informers[:min(len(e.Informers), most)] {
		lines = append(lines, i.Name+": "+i.Why)
	}
	if n := len(e.Informers) - most; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("%d of %d informers: %s", len(e.Informers), e.Total, strings.Join(lines, "; "))
}

// Unwrap returns the last error of each informer that has one.
func (e *HealthError) Unwrap() []error {
	var errs []error
	for _, i := range e.Informers {
		if i.Err != nil {
			errs = append(errs, i.Err)
		}
	}
	return errs
}

// Check fails with a *HealthError while an informer of the set, or one that it
// observes, has not synced within SetOptions.StartupGrace, or its reads have been
// stale for longer than SetOptions.MaxStale. It is a Checker of
// controller-runtime's healthz, and of the API server's with healthz.NamedCheck. It
// never blocks, reads each status once, and ignores the request.
//
// As a liveness probe it restarts a program whose API server is away. It is meant for
// alerts, and for programs that a restart helps.
func (s *Set) Check(*http.Request) error {
	s.mu.Lock()
	opts := s.opts
	s.mu.Unlock()
	grace, maxStale := s.grace(), cmp.Or(opts.MaxStale, defaultMaxStale)
	return s.health(func(i *Status, now time.Time, running, _ time.Duration) string {
		if !i.Synced {
			if running > grace {
				return fmt.Sprintf("not synced %s after the start", running.Round(time.Second))
			}
			return ""
		}
		if since, stale := i.StaleSince(now); stale && now.Sub(since) > maxStale {
			return fmt.Sprintf("reads have been stale for %s", now.Sub(since).Round(time.Second))
		}
		return ""
	})
}

// Ready fails with a *HealthError until every informer of the set, and every one that
// it observes, has synced. Those do not count that were added more than
// SetOptions.StartupGrace after the first one, as by a read of another kind, nor does an
// unreachable server from then on: reads continue, and taking all replicas of a program
// out of service at once helps nobody. Otherwise it is like Check.
func (s *Set) Ready(*http.Request) error {
	grace := s.grace()
	return s.health(func(i *Status, _ time.Time, _, after time.Duration) string {
		if i.Synced || after > grace {
			return ""
		}
		return "not synced"
	})
}

func (s *Set) grace() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.opts.StartupGrace, defaultGrace)
}

// health fails if unwell returns what is wrong with an informer, which has been running for
// a time, and was added some time after the first one, or after Run.
func (s *Set) health(unwell func(i *Status, now time.Time, running, after time.Duration) string) error {
	s.mu.Lock()
	began, informers := s.began, slices.Clone(s.informers.entries)
	first := cmp.Or(began, s.informers.first)
	s.mu.Unlock()
	now := time.Now()
	failed := &HealthError{Total: len(informers)}
	for _, e := range informers {
		i, running := e.what.Status(), time.Duration(0)
		switch {
		case !began.IsZero():
			running = min(now.Sub(began), now.Sub(e.added))
		case i.Phase != reflector.Starting: // the set only observes
			running = now.Sub(i.Since)
			if !i.FailingSince.IsZero() {
				running = max(running, now.Sub(i.FailingSince))
			}
			running = min(running, now.Sub(e.added))
		}
		what := unwell(&i, now, running, e.added.Sub(first))
		if what == "" {
			continue
		}
		one := UnhealthyInformer{Name: i.Name, Cause: status.CauseNotSynced, Why: what, Err: i.LastError}
		if problems := i.Problems(now); len(problems) > 0 {
			p := &problems[0]
			one.Cause = p.Cause
			one.Why = trouble.OneLine(what + ": " + p.What + "; " + p.Do)
		}
		failed.Informers = append(failed.Informers, one)
	}
	if failed.Informers == nil {
		return nil
	}
	return failed
}
