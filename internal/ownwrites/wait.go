package ownwrites

import (
	"context"
	"slices"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// versionWait is one wait for a version.
type versionWait struct {
	version string
	// ended is sent the outcome, once; it has room for it.
	ended chan error
}

// Wait blocks until the store has come to a version or a later one. It takes no
// goroutine. The error is the cause of ctx, Options.Stopped, ErrEpoch or
// ErrNotComparable.
func (w *Writes[T]) Wait(ctx context.Context, version string) error {
	if !resourceversion.Ordered(version) {
		return ErrNotComparable
	}
	w.mu.Lock()
	over, err := w.waitOverLocked(version)
	if over || w.phase == ended {
		w.mu.Unlock()
		if !over {
			err = w.opts.Stopped
		}
		return err
	}
	wait := &versionWait{version: version, ended: make(chan error, 1)}
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

// waitOverLocked reports whether a wait for a version is over, and with what.
func (w *Writes[T]) waitOverLocked(version string) (over bool, err error) {
	if w.at == "" && !w.listed {
		return false, nil
	}
	order, ok := resourceversion.Compare(w.at, version)
	if !ok {
		return true, ErrNotComparable
	}
	return order >= 0, nil
}

// wakeLocked ends the waits that are over.
func (w *Writes[T]) wakeLocked() {
	w.waits = slices.DeleteFunc(w.waits, func(wait *versionWait) bool {
		over, err := w.waitOverLocked(wait.version)
		if over {
			wait.ended <- err
		}
		return over
	})
}

// endWaitsLocked ends all waits.
func (w *Writes[T]) endWaitsLocked(err error) {
	for _, wait := range w.waits {
		wait.ended <- err
	}
	w.waits = nil
}
