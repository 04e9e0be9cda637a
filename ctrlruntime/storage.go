package ctrlruntime

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

// form is the type in which the objects of a kind are held, or read.
type form uint8

const (
	// structured is the type that the scheme has for the kind.
	structured form = iota
	// untyped is *unstructured.Unstructured.
	untyped
	// metadataOnly is *metav1.PartialObjectMetadata.
	metadataOnly
)

// formOf returns the form of an object, or of the objects of a list.
func formOf(obj runtime.Object) form {
	switch obj.(type) {
	case runtime.Unstructured:
		return untyped
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return metadataOnly
	}
	return structured
}

// storage is the objects of a kind in one form, with the informer that lists and
// watches them. One or more kinds read it: see kinds.go.
type storage struct {
	gvk  schema.GroupVersionKind
	form form
	// lean selects the fields that are held; nil means all.
	lean     *lean
	informer kingletcache.ScopedInformer
	// ended is closed when the informer has ended.
	ended chan struct{}
	now   atomic.Pointer[namespaceSet]

	// lists makes the informer's ListerWatchers.
	lists atomic.Pointer[listWatches]
	// shown reports whether a metadata informer shows the objects.
	shown func() bool
	// transformed is set once a program has set the informer's transform.
	transformed atomic.Bool

	// What follows is guarded by Cache.mu.

	// stop is nil until the informer runs.
	stop context.CancelFunc
	// hide removes the informer from Options.Set.
	hide func()
	// kinds is how many kinds read the storage. Without any, it ends.
	kinds int
	// generation is that of the kind in Cache.generations when the namespaces were made.
	generation int
}

// newStorage makes a storage whose informer does not run yet. The caller sets its
// generation.
func (c *Cache) newStorage(gvk schema.GroupVersionKind, f form) (*storage, error) {
	h := &storage{gvk: gvk, form: f, ended: make(chan struct{})}
	h.shown = func() bool { return f != metadataOnly && c.metadataOf(h) }
	if l := c.lean[gvk]; l != nil && l.form == f {
		h.lean = l
	}
	example, err := newObject(c.settings.Scheme, gvk, f)
	if err != nil {
		return nil, err
	}
	s, err := c.newNamespaceSet(h, nil)
	if err != nil {
		return nil, err
	}
	period := time.Duration(0)
	for _, config := range s.configs {
		each := defaultSyncPeriod
		if config.SyncPeriod != nil {
			each = *config.SyncPeriod
		}
		if period == 0 || each > 0 && each < period {
			period = each
		}
	}
	h.informer, err = kingletcache.NewScopedInformer(example, kingletcache.ScopedInformerOptions{
		SharedIndexInformerOptions: kingletcache.SharedIndexInformerOptions{
			ResyncPeriod:      jittered(period),
			Indexers:          toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc},
			ObjectDescription: describe(gvk, f),
		},
		OnDemand: h.lean.onDemand(),
		Sharing:  c.options.Sharing,
		Scheme:   c.settings.Scheme,

		MutationDetection: c.options.MutationDetection,
		OnMutation:        c.onMutation(gvk),
	}, s.inOrder()...)
	if err != nil {
		return nil, err
	}
	if handler := c.settings.DefaultWatchErrorHandler; handler != nil {
		if err := h.informer.SetWatchErrorHandlerWithContext(handler); err != nil {
			return nil, err
		}
	}
	h.setListed(s)
	h.now.Store(s)
	return h, nil
}

// newNamespaceSet makes the namespaces of a storage from the settings of its kind. It takes over
// unchanged sources from before, which may be nil.
func (c *Cache) newNamespaceSet(h *storage, before *namespaceSet) (*namespaceSet, error) {
	s := &namespaceSet{applied: make(chan struct{}), replaced: make(chan struct{}),
		scopes: make(map[string]kingletcache.ScopedListerWatcher), kept: make(map[string]<-chan struct{})}
	var err error
	if s.kindSettings, err = c.settings.of(h.gvk); err != nil {
		return nil, err
	}
	lists, err := c.listWatches(h.gvk, h.form)
	if err != nil {
		return nil, err
	}
	h.lists.Store(lists)
	for ns, config := range s.configs {
		if had, ok := before.keeps(ns, s); ok {
			// before has been applied, because changes are made one after the other.
			s.scopes[ns], s.kept[ns] = had, before.listed[ns]
			continue
		}
		scope := kingletcache.ScopedListerWatcher{
			Scope:         s.scope(ns),
			ListerWatcher: lists.of(s.namespaced, ns, *config),
			Transform:     h.lean.transform(config.Transform),
		}
		if c.options.StripManagedFields {
			scope.Drop = []string{source.DropManagedFields}
		}
		h.lean.apply(&scope)
		s.scopes[ns] = scope
	}
	return s, nil
}

// setListed sets the channels of s, once the informer has its scopes.
func (h *storage) setListed(s *namespaceSet) {
	s.listed = make(map[string]<-chan struct{}, len(s.scopes))
	for id := range s.scopes {
		if s.listed[id] = h.informer.Kinglet().SourceSynced(id); s.listed[id] == nil {
			// The informer has only this source.
			s.listed[id] = h.informer.Kinglet().Synced()
		}
	}
	close(s.applied)
}

// settings returns the current settings of a namespace.
func (h *storage) settings(ns string) (id string, config *cache.Config, known bool) {
	return h.now.Load().settings(ns)
}

// newObject returns an empty object of a kind in a form.
func newObject(scheme *runtime.Scheme, gvk schema.GroupVersionKind, f form) (runtime.Object, error) {
	var obj runtime.Object
	switch f {
	case untyped:
		obj = &unstructured.Unstructured{}
	case metadataOnly:
		obj = &metav1.PartialObjectMetadata{}
	default:
		return scheme.New(gvk)
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, nil
}

// describe names what an informer holds, for logs and metrics.
func describe(gvk schema.GroupVersionKind, f form) string {
	return gvk.String() + [...]string{"", ", unstructured", ", metadata"}[f]
}

// jittered returns a period within a tenth of d, so that the informers of a program
// do not resync together.
func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + rand.Float64()/5))
}
