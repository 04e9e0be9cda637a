package ctrlruntime

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
)

// form is the type in which the objects of a kind are held.
type form uint8

const (
	// structured: the type that the scheme has for the kind.
	structured form = iota
	// untyped: *unstructured.Unstructured.
	untyped
	// metadataOnly: *metav1.PartialObjectMetadata.
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

// kind is what a cache holds of one kind in one form.
type kind struct {
	gvk      schema.GroupVersionKind
	example  runtime.Object
	informer kingletcache.ScopedInformer
	// namespaced: the kind is. restricted: namespaces were named for it.
	namespaced, restricted bool
	// configs are the settings by namespace, with metav1.NamespaceAll for the rest.
	configs map[string]cache.Config
	// several: the informer has a scope for each of configs.
	several bool
	// ended is closed when the informer has run.
	ended chan struct{}

	// stop and removed are guarded by Cache.mu. stop is nil until the informer runs.
	stop    context.CancelFunc
	removed bool
}

// all returns the kinds that there are now.
func (c *Cache) all() []*kind {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var all []*kind
	for _, kinds := range c.kinds {
		all = slices.AppendSeq(all, maps.Values(kinds))
	}
	return all
}

// held returns a kind if the cache has it, and whether the cache has started.
func (c *Cache) held(gvk schema.GroupVersionKind, f form) (k *kind, started bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.kinds[f][gvk], c.ctx != nil
}

// kindOf returns a kind, and makes it if the cache does not have it.
func (c *Cache) kindOf(gvk schema.GroupVersionKind, f form) (k *kind, started bool, err error) {
	if k, started = c.held(gvk, f); k != nil {
		return k, started, nil
	}
	k, started, _, err = c.makeKind(gvk, f)
	return k, started, err
}

// makeKind makes a kind, unless somebody else has just made it.
func (c *Cache) makeKind(gvk schema.GroupVersionKind, f form) (k *kind, started, made bool, err error) {
	// Its definition may have to be asked for, which others do not wait for.
	if k, err = c.newKind(gvk, f); err != nil {
		return nil, false, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if had := c.kinds[f][gvk]; had != nil {
		return had, c.ctx != nil, false, nil
	}
	if c.kinds[f] == nil {
		c.kinds[f] = make(map[schema.GroupVersionKind]*kind)
	}
	c.kinds[f][gvk] = k
	if c.ctx != nil {
		c.runLocked(k)
	}
	return k, c.ctx != nil, true, nil
}

// newKind makes a kind's informer, which does not run yet.
func (c *Cache) newKind(gvk schema.GroupVersionKind, f form) (*kind, error) {
	example, err := c.example(gvk, f)
	if err != nil {
		return nil, err
	}
	k := &kind{gvk: gvk, example: example, ended: make(chan struct{})}
	if k.configs, k.namespaced, k.restricted, err = c.settings.of(gvk); err != nil {
		return nil, err
	}
	lists, err := c.listWatches(gvk, f)
	if err != nil {
		return nil, err
	}
	var scopes []kingletcache.ScopedListerWatcher
	period := time.Duration(0)
	for _, ns := range slices.Sorted(maps.Keys(k.configs)) {
		config := k.configs[ns]
		scopes = append(scopes, kingletcache.ScopedListerWatcher{
			Scope:         k.scope(ns),
			ListerWatcher: lists.of(k.namespaced, ns, config),
			Transform:     kingletcache.TransformFunc(config.Transform),
		})
		each := defaultSyncPeriod
		if config.SyncPeriod != nil {
			each = *config.SyncPeriod
		}
		if period == 0 || each > 0 && each < period {
			period = each
		}
	}
	k.several = scopes[0].Scope.Contains != nil
	k.informer, err = kingletcache.NewScopedInformer(example, kingletcache.ScopedInformerOptions{
		SharedIndexInformerOptions: kingletcache.SharedIndexInformerOptions{
			ResyncPeriod:      jittered(period),
			Indexers:          toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc},
			ObjectDescription: describe(gvk, f),
		},
		Sharing: c.options.Sharing,
		Scheme:  c.settings.Scheme,
	}, scopes...)
	if err != nil {
		return nil, err
	}
	if handler := c.settings.DefaultWatchErrorHandler; handler != nil {
		err = k.informer.SetWatchErrorHandlerWithContext(handler)
	}
	return k, err
}

// example returns an object of the kind in the form.
func (c *Cache) example(gvk schema.GroupVersionKind, f form) (runtime.Object, error) {
	switch f {
	case untyped:
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(gvk)
		return u, nil
	case metadataOnly:
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(gvk)
		return m, nil
	}
	return c.settings.Scheme.New(gvk)
}

// scope is the part of the store that the settings under ns are for.
func (k *kind) scope(ns string) kinglet.Scope {
	switch {
	case len(k.configs) == 1:
		// One source has one resource version: see kingletcache.NewScopedInformer.
		return kinglet.Scope{}
	case ns != metav1.NamespaceAll:
		return kinglet.NamespaceScope(ns)
	}
	configs := k.configs
	return kinglet.Scope{Contains: func(key kinglet.Key) bool {
		_, named := configs[key.Namespace]
		return !named || key.Namespace == metav1.NamespaceAll
	}}
}

// settings returns those of a namespace. known is false if the cache does not hold
// its objects.
func (k *kind) settings(ns string) (id string, config *cache.Config, known bool) {
	if config, ok := k.configs[ns]; ok {
		return ns, &config, true
	}
	if config, ok := k.configs[metav1.NamespaceAll]; ok {
		return metav1.NamespaceAll, &config, true
	}
	return "", nil, false
}

// wait blocks until the informer has synced.
func (k *kind) wait(ctx context.Context) error {
	err := k.informer.Kinglet().WaitSynced(ctx)
	if err == nil {
		return nil
	}
	return k.notSynced(err)
}

// waitFor blocks until the objects of a namespace have been listed.
func (k *kind) waitFor(ctx context.Context, ns string) error {
	id, _, known := k.settings(ns)
	if !k.several || !known {
		return k.wait(ctx)
	}
	synced := k.informer.Kinglet().SourceSynced(id)
	select {
	case <-synced:
		return nil
	default:
	}
	select {
	case <-synced:
		return nil
	case <-ctx.Done():
		return k.notSynced(context.Cause(ctx))
	case <-k.ended:
		return k.notSynced(kinglet.ErrStopped)
	}
}

// notSynced is controller-runtime's error, with what was in the way.
func (k *kind) notSynced(err error) error {
	return apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for %T Informer to sync: %v", k.example, err), 0)
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
