package ownwrites

import (
	"context"
	"slices"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// versionWait is one wait for a version.
type versionWait struct {
	version string
	// scope is the ID of the awaited scope, unless all is set.
	scope string
	all   bool
	// behind is a scope that had not reached the version at the last check.
	behind *scopeState
	// ended receives the outcome, once; it is buffered.
	ended chan error
}

// includes reports whether the wait is for a scope.
func (v *versionWait) includes(s *scopeState) bool { return v.all || v.scope == s.ID }

// Wait blocks until every scope has reached a version or a later one. A scope that
// enters meanwhile counts, one that leaves does not. Wait starts no goroutine. The
// error is the cause of ctx, Options.Stopped, ErrEpoch or ErrNotComparable; behind is a
// scope that had not reached the version.
func (w *Writes[T]) Wait(ctx context.Context, version string) (behind string, err error) {
	return w.wait(ctx, &versionWait{version: version, all: true})
}

// WaitScope is Wait for one scope. The error is ErrNoScope if there is none with the
// ID, or if it leaves.
func (w *Writes[T]) WaitScope(ctx context.Context, scope, version string) error {
	_, err := w.wait(ctx, &versionWait{version: version, scope: scope})
	return err
}

func (w *Writes[T]) wait(ctx context.Context, wait *versionWait) (behind string, err error) {
	err = w.waitOver(ctx, wait)
	if err != nil && wait.behind != nil {
		behind = wait.behind.ID
	}
	return behind, err
}

// waitOver blocks until a wait is over. The wait is then no longer in the list.
func (w *Writes[T]) waitOver(ctx context.Context, wait *versionWait) error {
	if !resourceversion.Ordered(wait.version) {
		return ErrNotComparable
	}
	w.mu.Lock()
	over, err := w.waitOverLocked(wait)
	if over || w.phase == ended {
		w.mu.Unlock()
		if !over {
			err = w.opts.Stopped
		}
		return err
	}
	wait.ended = make(chan error, 1)
	w.waits = append(w.waits, wait)
	w.mu.Unlock()
	select {
	case err := <-wait.ended:
		return err
	case <-ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits = slices.DeleteFunc(w.waits, func(other *versionWait) bool { return other == wait })
	select {
	case err := <-wait.ended:
		return err // it came at the same time
	default:
		return context.Cause(ctx)
	}
}

// waitOverLocked reports whether a wait is over, and its outcome.
func (w *Writes[T]) waitOverLocked(wait *versionWait) (over bool, err error) {
	// Most of the time the scope that was behind still is.
	if s := wait.behind; s != nil && slices.Contains(w.scopes, s) {
		if order, ok := resourceversion.Compare(s.at, wait.version); ok && order < 0 {
			return false, nil
		}
	}
	found := wait.all
	for _, s := range w.scopes {
		if !wait.includes(s) {
			continue
		}
		found, wait.behind = true, s
		if s.at == "" && !s.listed {
			return false, nil
		}
		order, ok := resourceversion.Compare(s.at, wait.version)
		if !ok {
			return true, ErrNotComparable
		}
		if order < 0 {
			return false, nil
		}
	}
	if !found {
		return true, ErrNoScope
	}
	return true, nil
}

// wakeLocked ends the waits that are over.
func (w *Writes[T]) wakeLocked() {
	w.waits = slices.DeleteFunc(w.waits, func(wait *versionWait) bool {
		over, err := w.waitOverLocked(wait)
		if over {
			wait.ended <- err
		}
		return over
	})
}

// endWaitsLocked ends the waits that are selected.
func (w *Writes[T]) endWaitsLocked(err error, selected func(*versionWait) bool) {
	w.waits = slices.DeleteFunc(w.waits, func(wait *versionWait) bool {
		ends := selected(wait)
		if ends {
			wait.ended <- err
		}
		return ends
	})
}
