package ctrlruntime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
)

// environment is the environment variable that, if it is "off" or any other false word,
// makes NewCache return controller-runtime's own cache.
const environment = "KINGLET"

// SwitchedOff reports whether KINGLET is set to off, no or what strconv.ParseBool takes for
// false in the environment.
func SwitchedOff() bool {
	value := os.Getenv(environment)
	on, err := strconv.ParseBool(value)
	return err == nil && !on || strings.EqualFold(value, "off") || strings.EqualFold(value, "no")
}

// Options configure the caches of a program beyond cache.Options. The zero value is
// ready to use.
type Options struct {
	// Sharing lets the objects of several caches share equal parts. If nil, each cache
	// has its own: source.OwnSharing.
	Sharing *source.Sharing
	// Set shows the informers of the caches on its page, in its metrics and to its
	// health checks, each from when it is made until it is removed or its cache has
	// ended. If nil, cache.Observed of package cache shows those that run.
	Set *kinglet.Set
	// Implicit is what a Get or List of a kind without an informer does.
	Implicit Implicit
	// OnImplicit is called with WarnImplicit, on the reader's goroutine, with the kind
	// and with the function, file and line that read it. If nil, a line is written to
	// controller-runtime's log.
	OnImplicit func(kind schema.GroupVersionKind, reader string)
	// ByObject selects, by kind, the fields that are held. A key is an object of the type
	// that the program reads: typed, unstructured or metadata. It does not affect the other
	// forms of its kind. A Transform is called with what is held.
	ByObject map[client.Object]ByObject
	// Budget bounds what is held whole of the kinds in ByObject that have Whole and no Keep,
	// together with what Get has read of them. Beyond it, what Get has read is forgotten, of
	// all informers that share the Budget; then objects that Whole selects come as metadata,
	// those first that come last. For these, Get asks the server, lists that may select them
	// fail with a *PartialError, handlers receive them as metadata (source.IsPartial), and
	// the Status has a Problem. They become whole when there is room again. With a Budget,
	// lists ask for whole objects, as watches do. nil is no bound.
	Budget *kinglet.Budget
	// StripManagedFields leaves out the managed fields of all objects, as a Transform of
	// cache.TransformStripManagedFields does, but without decoding them, and without
	// keeping metadata from being shown of what is held. A Transform is called with
	// objects that have none. Where NewCache returns controller-runtime's own cache, that
	// cache has the Transform, unless cache.Options has another DefaultTransform.
	StripManagedFields bool
	// MutationDetection looks for writes to objects that reads share with the cache:
	// those of views, and all if deep copies are disabled. The zero value leaves it to
	// KUBE_CACHE_MUTATION_DETECTOR in the environment, as in client-go: true watches
	// every object.
	MutationDetection kinglet.MutationDetection
	// OnMutation is called with each write that is found. The error has the object's
	// key and the path of the field. If nil, the error is written to
	// controller-runtime's log.
	OnMutation func(kind schema.GroupVersionKind, err *kinglet.MutationError)
}

// NewCache is Options.NewCache with the zero Options: a cache.NewCacheFunc.
func NewCache(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	return Options{}.NewCache(cfg, opts)
}

// NewCache returns a cache on kinglet. It starts nothing: see cache.Cache. With
// opts.NewInformer set, or KINGLET=off in the environment, the cache is
// controller-runtime's own. The error names everything that is wrong with opts.
// NewCache is a cache.NewCacheFunc, for ctrl.Options and cluster.Options.
//
// It asks the server for its resources if opts.ByObject has entries, and makes no other
// request.
func (o Options) NewCache(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	if opts.NewInformer != nil || SwitchedOff() {
		if o.StripManagedFields && opts.DefaultTransform == nil {
			opts.DefaultTransform = cache.TransformStripManagedFields()
		}
		return cache.New(cfg, opts)
	}
	settings, err := newSettings(cfg, opts)
	if err != nil {
		return nil, err
	}
	lean, err := o.leanKinds(settings.Scheme)
	if err := errors.Join(err, o.MutationDetection.Validate()); err != nil {
		return nil, err
	}
	if o.Sharing == nil {
		o.Sharing = source.OwnSharing()
	}
	c := &Cache{
		options:  o,
		config:   rest.CopyConfig(cfg),
		settings: settings,
		codecs:   serializer.NewCodecFactory(settings.Scheme),
		implicit: o.Implicit != RefuseImplicit && !opts.ReaderFailOnMissingInformer,
		lean:     lean,
		turn:     make(chan struct{}, 1),
		kinds:    make(map[form]map[schema.GroupVersionKind]*kind),
		started:  make(chan struct{}),

		generations: make(map[schema.GroupVersionKind]int),
	}
	c.own.Host = cfg.Host
	return c, nil
}

// onMutation returns the function that a kind's informer calls with each write to its
// objects; nil if detection is left to the environment.
func (c *Cache) onMutation(gvk schema.GroupVersionKind) func(*kinglet.MutationError) {
	switch {
	case c.options.OnMutation != nil:
		return func(err *kinglet.MutationError) { c.options.OnMutation(gvk, err) }
	case c.options.MutationDetection == (kinglet.MutationDetection{}):
		return nil
	}
	return func(err *kinglet.MutationError) {
		logf.Log.WithName("kinglet").Error(err, "A program has written to an object that it shares with the cache", "kind", gvk.String())
	}
}

// Cache is a cache.Cache on kinglet. All methods are safe for concurrent use.
type Cache struct {
	options  Options
	config   *rest.Config
	settings *settings
	codecs   serializer.CodecFactory
	// implicit is set if reads make informers.
	implicit bool
	// lean are the entries of Options.ByObject.
	lean map[schema.GroupVersionKind]*lean
	// turn is full while a call changes the namespaces of storages.
	turn chan struct{}
	// own records what clients of NewClient write.
	own kinglet.OwnWrites

	// started is closed by Start.
	started chan struct{}
	running sync.WaitGroup

	mu sync.RWMutex
	// What follows is guarded by mu.

	kinds map[form]map[schema.GroupVersionKind]*kind
	// generations counts the calls of SetNamespaces by kind.
	generations map[schema.GroupVersionKind]int
	// ctx is Start's; nil before.
	ctx context.Context
	// stopped is set once Start's context has ended; then no informer starts any more.
	stopped bool
}

var _ cache.Cache = (*Cache)(nil)

// Start runs all informers, also those that are added later, until ctx ends, and
// returns when they have ended. It may be called once.
func (c *Cache) Start(ctx context.Context) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	c.mu.Lock()
	c.stopped = true
	c.mu.Unlock()
	c.running.Wait()
	return nil
}

func (c *Cache) begin(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx != nil {
		return errors.New("informer already started")
	}
	c.ctx = ctx
	for _, kinds := range c.kinds {
		for _, k := range kinds {
			c.runLocked(k.storage)
		}
	}
	close(c.started)
	return nil
}

// runLocked starts the informer of a storage, unless it has been started.
func (c *Cache) runLocked(h *storage) {
	if c.stopped || h.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(c.ctx)
	h.stop = stop
	c.running.Go(func() {
		defer close(h.ended)
		defer h.hide()
		defer stop()
		h.informer.RunWithContext(ctx)
	})
}

// NeedLeaderElection returns false: a manager starts its caches before it is elected.
func (c *Cache) NeedLeaderElection() bool { return false }

// WaitForCacheSync blocks until the cache has started and the informers that it has at
// that time have synced. It does not wait for informers that are removed meanwhile. It
// returns false if ctx or the cache ends first.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.started:
	case <-ctx.Done():
		return false
	}
	for _, k := range c.all() {
		if k.wait(ctx) != nil && !c.isRemoved(k) {
			return false
		}
	}
	return true
}

func (c *Cache) isRemoved(k *kind) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return k.removed
}

// GetInformer returns the informer of obj's kind and form, and makes it if there is
// none. Once the cache has started, it blocks until the informer has synced, unless
// cache.BlockUntilSynced(false) is given. If ctx ends first, or has already ended when
// the informer is made, the error is a timeout according to apierrors.IsTimeout, and
// says what the informer was doing. The informer is a SharedIndexInformer, and an
// Observable of package cache.
//
// An informer of metadata lists and holds nothing if the cache already has an informer
// of the kind's typed or unstructured objects, with no Transform: it shows the metadata
// of those objects.
func (c *Cache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(obj, c.settings.Scheme)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, gvk, formOf(obj), opts)
}

// GetInformerForKind is GetInformer for the type that the scheme has for gvk.
func (c *Cache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	obj, err := c.settings.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, gvk, formOf(obj), opts)
}

func (c *Cache) informer(ctx context.Context, gvk schema.GroupVersionKind, f form, opts []cache.InformerGetOption) (cache.Informer, error) {
	var get cache.InformerGetOptions
	for _, opt := range opts {
		opt(&get)
	}
	k, started, made, err := c.kindOf(gvk, f)
	if err != nil {
		return nil, err
	}
	if started && (get.BlockUntilSynced == nil || *get.BlockUntilSynced) {
		if err := k.endedBefore(ctx, made); err != nil {
			return nil, err
		}
		if err := k.wait(ctx); err != nil {
			return nil, err
		}
	}
	return k.kindInformer, nil
}

// RemoveInformer stops the informer of obj's kind and form, and forgets it: the next
// use of the kind makes another one, without its indexes. RemoveInformer does not wait
// for the informer to end. The objects stay in memory while another informer shows
// their metadata.
func (c *Cache) RemoveInformer(_ context.Context, obj client.Object) error {
	gvk, err := apiutil.GVKForObject(obj, c.settings.Scheme)
	if err != nil {
		return err
	}
	c.remove(gvk, formOf(obj))
	return nil
}

// IndexField adds an index to the informer of obj's kind and form, for field selectors
// with the field's name: see client.FieldIndexer. Existing objects are indexed when it
// returns. It does not wait for the informer to sync.
func (c *Cache) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	informer, err := c.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	if err := informer.AddIndexers(indexers(field, extract)); err != nil {
		return fmt.Errorf("index of field %s: %w", field, err)
	}
	return nil
}

// showLocked makes Options.Set show the informer of a storage. c.mu is held.
func (c *Cache) showLocked(h *storage) {
	h.hide = func() {}
	if c.options.Set != nil && !c.stopped {
		h.hide = c.options.Set.Observe(h.informer.Kinglet())
	}
}

// Status returns the status of each informer of a cache that NewCache made, by name.
// The error is a *ForeignCacheError for another cache.
func Status(c cache.Cache) ([]kinglet.Status, error) {
	ours, ok := c.(*Cache)
	if !ok {
		return nil, &ForeignCacheError{Cache: c}
	}
	var all []kinglet.Status
	seen := map[*storage]bool{}
	for _, k := range ours.all() {
		if !seen[k.storage] {
			seen[k.storage] = true
			all = append(all, k.informer.Kinglet().Status())
		}
	}
	slices.SortFunc(all, func(a, b kinglet.Status) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}
