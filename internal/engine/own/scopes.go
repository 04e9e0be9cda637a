package own

import (
	"errors"
	"slices"

	"github.com/kinglet-go/kinglet/store"
)

// ErrNoScope: the informer has no source with a scope ID.
var ErrNoScope = errors.New("no source with this scope ID")

// scopeState is a scope with the version that the store has reached of it.
type scopeState struct {
	store.Scope
	// whole reports that objects leave the scope's collection only by being deleted.
	whole func() bool
	// at is the version of the scope's source that the store has reached: its
	// ReportedVersion.
	at string
	// listed: the store has had a list of the scope.
	listed bool
}

// Enter adds a scope. Its keys are in no other scope, except in some that are about to
// leave. whole reports whether objects leave its collection only by being deleted; it is
// called later, under a lock.
func (w *Writes[T]) Enter(scope store.Scope, whole func() bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scopes = append(w.scopes, &scopeState{Scope: scope, whole: whole})
}

// Leave removes the scope with an ID; of two, the one that entered first. Writes under
// its keys move to the scope that has entered for them, and end if there is none. The
// caller reports the errors.
func (w *Writes[T]) Leave(id string) (dropped []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.scopes, w.scopeLocked(id)); i >= 0 {
		w.scopes = slices.Delete(slices.Clone(w.scopes), i, i+1)
	}
	dropped = w.dropLocked(id, ErrNoScope, func(key store.Key) (string, bool) {
		if s := w.scopeOfLocked(key); s != nil {
			return s.ID, true
		}
		return "", false
	})
	w.wakeLocked()
	return dropped
}

// dropLocked ends the unseen writes in a scope, except those that move to another one.
func (w *Writes[T]) dropLocked(id string, why error, to func(store.Key) (string, bool)) (dropped []error) {
	left, ended := w.over.Load().leave(id, to)
	w.setLocked(left)
	return w.unconfirmed(ended, why)
}

// scopeOfLocked returns the scope that a key is in, or nil. Of two, it returns the one that
// the other is about to replace.
func (w *Writes[T]) scopeOfLocked(key store.Key) *scopeState {
	for _, s := range w.scopes {
		if s.Has(key) {
			return s
		}
	}
	return nil
}

// Version returns the version of a scope's source that the store has reached, empty
// before the first list.
func (w *Writes[T]) Version(scope string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.scopeLocked(scope); s != nil {
		return s.at
	}
	return ""
}

// scopeLocked returns the scope with an ID, or nil. Of two, it returns the one that
// the other is about to replace.
func (w *Writes[T]) scopeLocked(id string) *scopeState {
	for _, s := range w.scopes {
		if s.ID == id {
			return s
		}
	}
	return nil
}
