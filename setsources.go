package kinglet

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/store"
)

// SetSources sets all sources of an informer, before Run or during it. If the informer already has a source with the same scope ID and Source,
// that one stays as it is, and nothing is requested for it. Every other source is
// added, as by AddSource; if its scope ID is in use, it replaces the source with that
// ID.
//
// A source that is no longer named is removed, as by RemoveSource, with one difference:
// an object in the scope of a source that is added stays until that source has been
// listed, and handlers receive what the list changes of it. That list is not older than
// what the previous sources had delivered of the scope: their versions are taken for
// those of one server. If they are not, the list is requested several times, and
// reported as that of a restored server. Once SetSources has returned, reads show no
// object outside the scopes of sources.
//
// SetSources blocks until the requests of the removed sources have ended, and looks at
// every object of the store for each of them. It must not be called from OnError. It
// fails with ErrScopeExists if two sources have one scope ID, which changes nothing, and
// with ErrStopped once the informer has stopped.
func (i *Informer[T]) SetSources(sources ...ScopedSource[T]) error {
	if err := i.sources.set(sources); err != nil {
		return i.named(err)
	}
	return nil
}

func (p *sources[T]) set(sources []ScopedSource[T]) error {
	named := make(map[string]ScopedSource[T], len(sources))
	for _, s := range sources {
		if _, twice := named[s.Scope.ID]; twice {
			return fmt.Errorf("source of scope %q: %w", s.Scope.ID, ErrScopeExists)
		}
		if err := p.check(s); err != nil {
			return fmt.Errorf("source of scope %q: %w", s.Scope.ID, err)
		}
		named[s.Scope.ID] = s
	}
	p.changing.Lock()
	defer p.changing.Unlock()
	leaving, added, err := p.beginChange(sources, named)
	if err != nil {
		return err
	}
	// Own writes move to the scopes that are added, and waits continue.
	for _, s := range added {
		p.informer.own.Enter(s.Scope, func() bool { return s.Source.Traits().Whole })
	}
	for _, one := range leaving {
		if one.stop != nil {
			<-one.done
		}
	}
	next := make([]*pipeline[T], len(added))
	for n, s := range added {
		if next[n], err = p.pipeline(s, p.versionReached(s.Scope, leaving)); err != nil {
			next = nil
			break
		}
	}
	for _, one := range leaving {
		one.sink.Leave(without(one.Scope, added))
	}
	joined, failed := p.replace(leaving, next)
	for _, s := range added[joined:] {
		for _, err := range p.informer.own.Leave(s.Scope.ID) {
			p.informer.opts.OnError(err)
		}
	}
	return cmp.Or(err, failed)
}

// beginChange stops the sources that are not named, whose scope IDs stay in use. It
// returns them and the sources to add.
func (p *sources[T]) beginChange(sources []ScopedSource[T], named map[string]ScopedSource[T]) (leaving []*pipeline[T], added []ScopedSource[T], err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended.IsZero() {
		return nil, nil, ErrStopped
	}
	stays := map[string]bool{}
	for _, one := range p.all {
		switch s, ok := named[one.Scope.ID]; {
		case one.leaving:
		case ok && same(s.Source, one.Source):
			stays[one.Scope.ID] = true
		default:
			one.leaving = true
			if one.stop != nil {
				one.stop()
			}
			leaving = append(leaving, one)
		}
	}
	for _, s := range sources {
		if !stays[s.Scope.ID] {
			added, p.coming = append(added, s), append(p.coming, s.Scope.ID)
		}
	}
	return leaving, added, nil
}

// versionReached returns the latest version that ended sources had reached in what they share
// with a scope; empty if they share nothing, or their versions have no order.
func (p *sources[T]) versionReached(scope store.Scope, ended []*pipeline[T]) (version string) {
	for _, one := range ended {
		at := p.informer.own.Version(one.Scope.ID)
		if at == "" {
			at = one.before // it has not been listed
		}
		order, ordered := resourceversion.Compare(at, version)
		if ordered && order <= 0 || !resourceversion.Ordered(at) || !overlap(scope, one.Scope) {
			continue
		}
		version = at
	}
	return version
}

// overlap reports whether two scopes may have keys in common: no key is known to be in the
// span of one alone.
func overlap(a, b store.Scope) bool {
	ends := func(a, b store.Span) bool { return a.To != nil && b.From != nil && a.To.Compare(*b.From) <= 0 }
	return a.ID == b.ID || !ends(a.Span, b.Span) && !ends(b.Span, a.Span)
}

// replace replaces sources that have ended with others in one step, so that a key which is
// in the scope of both has a source throughout. It returns how many were added.
func (p *sources[T]) replace(ended, next []*pipeline[T]) (joined int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range ended {
		counted := one.reflector.Status()
		addCounts(&p.left.Status, &counted)
		one.sink.Quarantine.AddTo(&p.left)
	}
	p.all = slices.DeleteFunc(slices.Clone(p.all), func(one *pipeline[T]) bool { return slices.Contains(ended, one) })
	p.coming = nil
	for n, one := range next {
		if err := p.joinLocked(one, true); err != nil {
			return n, fmt.Errorf("source of scope %q: %w", one.Scope.ID, err)
		}
	}
	p.announceLocked()
	return len(next), nil
}

// without returns a scope without the keys in the scopes of others.
func without[T any](scope store.Scope, others []ScopedSource[T]) store.Scope {
	return store.Scope{ID: scope.ID, Span: scope.Span, Contains: func(key store.Key) bool {
		return scope.Has(key) && !slices.ContainsFunc(others, func(s ScopedSource[T]) bool { return s.Scope.Has(key) })
	}}
}

// same reports whether two values are equal; those that cannot be compared are not.
func same(a, b any) bool {
	v := reflect.ValueOf(a)
	return v.IsValid() && v.Comparable() && a == b
}
