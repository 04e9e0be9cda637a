package cache

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
)

// ScopedListerWatcher is one of the sources of a ScopedInformer.
type ScopedListerWatcher struct {
	// Scope is the part of the key space that ListerWatcher covers: see
	// kinglet.ScopedSource.
	Scope         kinglet.Scope
	ListerWatcher ListerWatcher
	// Transform is called with each version of an object of the scope before it is
	// stored; if nil, that of SetTransform is.
	Transform TransformFunc
	// Keep, Drop and WholeLabels are as in source.Options. Transform gets what they leave.
	Keep, Drop  []string
	WholeLabels labels.Selector
}

// ScopedInformerOptions configure a ScopedInformer.
type ScopedInformerOptions struct {
	SharedIndexInformerOptions
	// OnDemand makes the informer hold metadata, and some objects whole: see
	// kinglet.OnDemand. Its own Options are those of this informer. A Transform must then
	// leave names, and the labels by which objects are chosen. If nil, all are whole.
	OnDemand *kinglet.OnDemandOptions[any]
	// Sharing is what objects share their parts through; source.OwnSharing if nil.
	Sharing *source.Sharing
	// Scheme is asked for the kind of exampleObject's type: see source.Options.
	Scheme *runtime.Scheme
	// MutationDetection looks for writes into the informer's objects. The zero value
	// leaves it to KUBE_CACHE_MUTATION_DETECTOR in the environment.
	MutationDetection kinglet.MutationDetection
	// OnMutation is called with each write that is found, one at a time, and may block.
	// If nil, the write ends the process by a panic.
	OnMutation func(*kinglet.MutationError)
}

// ScopedInformer is a SharedIndexInformer of any number of sources, such as one for
// each namespace that a program may read. It has one store, one set of indexes, and
// one goroutine for each handler. Its guarantees are those of kinglet.NewScoped. Until each
// source has been listed once, HasSynced is false and no handler is called.
type ScopedInformer interface {
	SharedIndexInformer
	Observable
	// AddScope adds a source, before Run or during it: see
	// kinglet.Informer.AddSource. It waits for a RemoveScope or SetScopes under way. None
	// of the three may be called from a watch error handler.
	AddScope(s ScopedListerWatcher) error
	// RemoveScope removes a source and its objects: see
	// kinglet.Informer.RemoveSource. Handlers receive them in
	// DeletedFinalStateUnknown.
	RemoveScope(id string) error
	// SetScopes replaces all sources of the informer by scopes: see
	// kinglet.Informer.SetSources. A source of the same scope ID and ListerWatcher
	// stays as it is.
	SetScopes(scopes ...ScopedListerWatcher) error
	// RemoveIndexer removes an index that AddIndexers added. It fails with
	// store.ErrNoIndex if there is none of that name.
	RemoveIndexer(name string) error
	// Kinglet returns the informer behind the interface, for reading it by snapshots.
	// Its Run must not be called.
	Kinglet() *kinglet.Informer[any]
	// OnDemand returns it with its options OnDemand; nil without.
	OnDemand() *kinglet.OnDemand[any]
}

var _ ScopedInformer = (*sharedInformer)(nil)

// NewScopedInformer returns an informer of several sources, all of objects of the type
// of exampleObject: see NewSharedIndexInformerWithOptions for the rest. It starts
// nothing. It fails if two scopes have the same ID, if the MutationDetection is not valid, and
// if objects lack a field that a scope names or an index reads. The name of the reflector, in
// logs and metrics, is options.ObjectDescription.
func NewScopedInformer(exampleObject runtime.Object, options ScopedInformerOptions, scopes ...ScopedListerWatcher) (ScopedInformer, error) {
	if err := options.MutationDetection.Validate(); err != nil {
		return nil, err
	}
	opts := coreOptions{
		name:        options.ObjectDescription,
		description: options.ObjectDescription,
		identifier:  options.Identifier,
		onDemand:    options.OnDemand,
		metrics:     options.InformerMetricsProvider,
		sharing:     options.Sharing,
		scheme:      options.Scheme,
		detection:   options.MutationDetection,
		onMutation:  options.OnMutation,
	}
	if d := options.OnDemand; d != nil && d.Bytes < 0 {
		return nil, fmt.Errorf("informer of %s: OnDemand.Bytes is %d, must not be negative", options.ObjectDescription, d.Bytes)
	}
	if err := checkScopes(scopes, exampleObject); err != nil {
		return nil, err
	}
	informer := newSharedInformer(scopes, exampleObject, options.ResyncPeriod, opts)
	if err := informer.AddIndexers(options.Indexers); err != nil {
		return nil, err
	}
	return informer, nil
}

// lateScope returns the source of a scope, which is decided on when the informer starts, or
// here if it has. It must be called before the core is shared, or under mu.
func (e *informerCore) lateScope(s ScopedListerWatcher) *lateSource {
	name := e.description
	if s.Scope.ID != "" {
		name += ", scope " + s.Scope.ID
	}
	late := &lateSource{lw: s.ListerWatcher, name: name, transform: s.Transform, fields: s.fields()}
	if made := listWatchIn(s.ListerWatcher).made; made != nil {
		late.made = made.groupVersionResource()
	}
	if e.onDemand != nil {
		late.whole = &lateSource{lw: s.ListerWatcher, name: name, transform: s.Transform, fields: source.Options{Drop: s.Drop}}
		late.fields.Whole, late.fields.WholeLabels = e.held.Whole, e.held.WholeLabels
	}
	if s.Transform == nil && e.transform == nil && e.example != nil { // a transform may set what is left out
		late.checkIndex = late.fields.IndexCheck(e.example)
	}
	if e.ctx != nil {
		e.decideLocked(late)
	}
	return late
}

// in returns the source of a scope.
func (s *lateSource) in(scope kinglet.Scope) kinglet.ScopedSource[any] {
	scoped := kinglet.ScopedSource[any]{Scope: scope, Source: s}
	if s.whole != nil {
		scoped.Whole = s.whole
	}
	return scoped
}

func (e *informerCore) scopeIDs() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.scopes))
}

// AddScope implements ScopedInformer.
func (e *informerCore) AddScope(s ScopedListerWatcher) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := checkScopes([]ScopedListerWatcher{s}, e.example); err != nil {
		return err
	}
	late := e.lateScope(s)
	if err := e.informer.AddSource(late.in(s.Scope)); err != nil {
		return err
	}
	e.scopes[s.Scope.ID] = late
	return nil
}

// RemoveScope implements ScopedInformer.
func (e *informerCore) RemoveScope(id string) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	// Not under mu: the source may be reporting, which locks mu.
	if err := e.informer.RemoveSource(id); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.scopes, id)
	return nil
}

// Kinglet implements ScopedInformer.
func (e *informerCore) Kinglet() *kinglet.Informer[any] { return e.informer }

// OnDemand implements ScopedInformer.
func (e *informerCore) OnDemand() *kinglet.OnDemand[any] { return e.demand }

// RemoveIndexer implements ScopedInformer.
func (e *informerCore) RemoveIndexer(name string) error { return e.indexer.removeIndexer(name) }

// SetScopes implements ScopedInformer.
func (e *informerCore) SetScopes(scopes ...ScopedListerWatcher) error {
	e.changing.Lock()
	defer e.changing.Unlock()
	next, sources, err := e.nextScopes(scopes)
	if err != nil {
		return fmt.Errorf("informer of %s: %w", e.description, err)
	}
	// Not under mu: the removed sources may be reporting, which locks mu.
	if err := e.informer.SetSources(sources...); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.scopes = next
	return nil
}

// nextScopes returns the sources of scopes, which are those of the informer where they stay
// as they are.
func (e *informerCore) nextScopes(scopes []ScopedListerWatcher) (next map[string]*lateSource, sources []kinglet.ScopedSource[any], err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := checkScopes(scopes, e.example); err != nil {
		return nil, nil, err
	}
	next = make(map[string]*lateSource, len(scopes))
	for _, s := range scopes {
		late := e.scopes[s.Scope.ID]
		if late == nil || !sameListerWatcher(late.lw, s.ListerWatcher) {
			late = e.lateScope(s)
		}
		next[s.Scope.ID] = late
		sources = append(sources, late.in(s.Scope))
	}
	return next, sources, nil
}

// fields returns the options that say which fields objects have.
func (s *ScopedListerWatcher) fields() source.Options {
	return source.Options{Keep: s.Keep, Drop: s.Drop, WholeLabels: s.WholeLabels}
}

// checkScopes returns the first error in scopes of objects of the type of example.
func checkScopes(scopes []ScopedListerWatcher, example runtime.Object) error {
	ids := map[string]struct{}{}
	for _, s := range scopes {
		if s.ListerWatcher == nil {
			return fmt.Errorf("scope %q: %w", s.Scope.ID, errNoListerWatcher)
		}
		if err := s.fields().CheckFields(example); err != nil {
			return fmt.Errorf("scope %q: %w", s.Scope.ID, err)
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
