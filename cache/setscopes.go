package cache

import (
	"fmt"
	"reflect"

	"github.com/kinglet-go/kinglet"
)

// SetScopes implements ScopedInformer.
func (e *informerCore) SetScopes(scopes ...ScopedListerWatcher) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	sources, err := e.nextScopes(scopes)
	if err != nil {
		return fmt.Errorf("informer of %s: %w", e.description, err)
	}
	// Not under mu: the removed sources may be reporting, which locks mu.
	return e.informer.SetSources(sources...)
}

// nextScopes sets the scopes of the informer, and returns their sources.
func (e *informerCore) nextScopes(scopes []ScopedListerWatcher) ([]kinglet.ScopedSource[any], error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.scopes == nil {
		return nil, kinglet.ErrScoped
	}
	if err := checkScopes(scopes); err != nil {
		return nil, err
	}
	before := e.scopes
	e.scopes = make(map[string]*lateSource, len(scopes))
	sources := make([]kinglet.ScopedSource[any], len(scopes))
	for n, s := range scopes {
		if late := before[s.Scope.ID]; late != nil && sameListerWatcher(late.lw, s.ListerWatcher) {
			e.scopes[s.Scope.ID] = late
			sources[n] = kinglet.ScopedSource[any]{Scope: s.Scope, Source: late}
			continue
		}
		sources[n] = e.lateScope(s)
		if e.ctx != nil {
			e.decideLocked(e.scopes[s.Scope.ID])
		}
	}
	return sources, nil
}

// checkScopes returns the first error in scopes.
func checkScopes(scopes []ScopedListerWatcher) error {
	ids := map[string]struct{}{}
	for _, s := range scopes {
		if s.ListerWatcher == nil {
			return fmt.Errorf("scope %q: %w", s.Scope.ID, errNoListerWatcher)
		}
		if _, twice := ids[s.Scope.ID]; twice {
			return fmt.Errorf("scope %q: %w", s.Scope.ID, kinglet.ErrScopeExists)
		}
		ids[s.Scope.ID] = struct{}{}
	}
	return nil
}

// sameListerWatcher reports whether two ListerWatchers are equal; those that cannot be
// compared count as different.
func sameListerWatcher(a, b ListerWatcher) bool { return reflect.ValueOf(a).Comparable() && a == b }
