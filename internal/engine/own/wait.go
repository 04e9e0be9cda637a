package own

import (
	"context"
	"slices"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/store"
)

// waiting is a wait for a version, or for writes.
type waiting struct {
	// key is set for a wait for the writes under a key: see AwaitWrites.
	key *store.Key
	// missing is a write that reads did not include at the last check.
	missing Unconfirmed

	version string
	// scope is the ID of the awaited scope, unless all is set.
	scope string
	all   bool
	// behind is a scope that had not reached the version at the last check.
	behind *scopeState
	// ended receives the outcome, once; it is buffered.
	ended chan error
}

// includes reports whether a wait is for the version of a scope.
func (v *waiting) includes(s *scopeState) bool { return v.key == nil && (v.all || v.scope == s.ID) }

// Wait blocks until every scope has reached a version or a later one. A scope that
// enters meanwhile counts, one that leaves does not. Wait starts no goroutine. The
// error is the cause of ctx, Options.Stopped, ErrEpoch or ErrNotComparable; behind is a
// scope that had not reached the version.
func (w *Writes[T]) Wait(ctx context.Context, version string) (behind string, err error) {
	wait := &waiting{version: version, all: true}
	if err = w.wait(ctx, wait); err != nil && wait.behind != nil {
		behind = wait.behind.ID
	}
	return behind, err
}

// WaitScope is Wait for one scope. The error is ErrNoScope if there is none with the
// ID, or if it leaves.
func (w *Writes[T]) WaitScope(ctx context.Context, scope, version string) error {
	return w.wait(ctx, &waiting{version: version, scope: scope})
}

// Unsure reports whether some read may have to wait for a write. It costs a load.
func (w *Writes[T]) Unsure() bool {
	over := w.over.Load()
	return over != nil && over.mayBeUnsure
}

// AwaitWrites blocks until reads of a key include the program's writes; of a namespace
// if the key has no name, and of everything for the zero Key. It waits for at most
// waitAtMost. The error is the cause of ctx, ErrNotShown or Options.Stopped; missing is
// a write that reads may not include.
func (w *Writes[T]) AwaitWrites(ctx context.Context, key store.Key) (missing Unconfirmed, err error) {
	if !w.Unsure() {
		return missing, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, waitAtMost, ErrNotShown)
	defer cancel()
	wait := &waiting{key: &key}
	err = w.wait(ctx, wait)
	return wait.missing, err
}

// wait blocks until a wait is over. The wait is then no longer in the list.
func (w *Writes[T]) wait(ctx context.Context, wait *waiting) error {
	if wait.key == nil && !resourceversion.Ordered(wait.version) {
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
	w.waits = slices.DeleteFunc(w.waits, func(other *waiting) bool { return other == wait })
	select {
	case err := <-wait.ended:
		return err // it came at the same time
	default:
		return context.Cause(ctx)
	}
}

// waitOverLocked reports whether a wait is over, and its outcome.
func (w *Writes[T]) waitOverLocked(wait *waiting) (over bool, err error) {
	if wait.key != nil {
		missing, unsure := w.unsureLocked(*wait.key)
		if unsure {
			wait.missing = missing
		}
		return !unsure, nil
	}
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

// unsureLocked returns a write under a key, or in a namespace, that reads may not
// include.
func (w *Writes[T]) unsureLocked(key store.Key) (missing Unconfirmed, unsure bool) {
	over := w.over.Load()
	if over == nil || !over.mayBeUnsure {
		return missing, false
	}
	for _, e := range over.entries {
		switch {
		case key.Name != "" && e.key != key:
		case key.Namespace != "" && e.key.Namespace != key.Namespace:
		case w.resolve(over, e.key).unsure:
			return e.missing(), true
		}
	}
	return missing, false
}

// wakeLocked ends the waits that are over.
func (w *Writes[T]) wakeLocked() {
	w.waits = slices.DeleteFunc(w.waits, func(wait *waiting) bool {
		over, err := w.waitOverLocked(wait)
		if over {
			wait.ended <- err
		}
		return over
	})
}

// endWaitsLocked ends the waits that are selected.
func (w *Writes[T]) endWaitsLocked(err error, selected func(*waiting) bool) {
	w.waits = slices.DeleteFunc(w.waits, func(wait *waiting) bool {
		ends := selected(wait)
		if ends {
			wait.ended <- err
		}
		return ends
	})
}
