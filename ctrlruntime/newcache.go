package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinglet-go/kinglet/source"
)

// switchedOff is the environment variable that, as "off", has NewCache return
// controller-runtime's own cache.
const switchedOff = "KINGLET"

// Options configure the caches of a program beyond cache.Options. The zero value is
// ready to use.
type Options struct {
	// Sharing is what the objects of several caches share their parts through; one
	// of each cache's own if nil.
	Sharing *source.Sharing
	// Implicit is what a Get or List of a kind without an informer does.
	Implicit Implicit
	// OnImplicit is called with WarnImplicit, from the reader's goroutine: with the
	// kind, and with the function, file and line that read it. If nil, a line goes to
	// controller-runtime's log.
	OnImplicit func(kind schema.GroupVersionKind, reader string)
}

// NewCache is Options.NewCache with the zero Options: a cache.NewCacheFunc.
func NewCache(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	return Options{}.NewCache(cfg, opts)
}

// NewCache returns a cache on kinglet. It starts nothing: see cache.Cache. With
// opts.NewInformer set, or KINGLET=off in the environment, the cache is
// controller-runtime's own. The error names everything that is wrong with opts. It
// is a cache.NewCacheFunc, for ctrl.Options and cluster.Options.
//
// It asks the server for its resources if opts.ByObject has entries, and for nothing
// else.
func (o Options) NewCache(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	if opts.NewInformer != nil || strings.EqualFold(os.Getenv(switchedOff), "off") {
		return cache.New(cfg, opts)
	}
	settings, err := newSettings(cfg, opts)
	if err != nil {
		return nil, err
	}
	if o.Sharing == nil {
		o.Sharing = source.NewSharing(0)
	}
	return &Cache{
		options:  o,
		config:   rest.CopyConfig(cfg),
		settings: settings,
		codecs:   serializer.NewCodecFactory(settings.Scheme),
		implicit: o.Implicit != RefuseImplicit && !opts.ReaderFailOnMissingInformer,
		kinds:    make(map[form]map[schema.GroupVersionKind]*kind),
		started:  make(chan struct{}),
	}, nil
}

// Cache is a cache.Cache on kinglet. All methods are safe for concurrent use.
type Cache struct {
	options  Options
	config   *rest.Config
	settings *settings
	codecs   serializer.CodecFactory
	// implicit: reads make informers.
	implicit bool

	// started is closed by Start.
	started chan struct{}
	running sync.WaitGroup

	mu sync.RWMutex
	// What follows is guarded by mu.

	kinds map[form]map[schema.GroupVersionKind]*kind
	// ctx is Start's; nil before.
	ctx context.Context
	// stopped: Start's context has ended, and no informer starts any more.
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
			c.runLocked(k)
		}
	}
	close(c.started)
	return nil
}

// runLocked runs the informer of a kind.
func (c *Cache) runLocked(k *kind) {
	if c.stopped {
		return
	}
	ctx, stop := context.WithCancel(c.ctx)
	k.stop = stop
	c.running.Go(func() {
		defer close(k.ended)
		defer stop()
		k.informer.RunWithContext(ctx)
	})
}

// NeedLeaderElection returns false: a manager starts its caches before it is elected.
func (c *Cache) NeedLeaderElection() bool { return false }

// WaitForCacheSync blocks until the cache has started and all informers that it has
// by then, and that are not removed meanwhile, have synced. It returns false if ctx ends
// first, or the cache.
func (c *Cache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.started:
	case <-ctx.Done():
		return false
	}
	for _, k := range c.all() {
		if k.informer.Kinglet().WaitSynced(ctx) != nil && !c.isRemoved(k) {
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
// none. It blocks until the informer has synced, once the cache has started and
// unless cache.BlockUntilSynced(false) is given. If ctx ends first, the error is a
// timeout as apierrors.IsTimeout knows it, and says what the informer was doing. The
// informer is a SharedIndexInformer of package cache.
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
	k, started, err := c.kindOf(gvk, f)
	if err != nil {
		return nil, err
	}
	if started && (get.BlockUntilSynced == nil || *get.BlockUntilSynced) {
		if err := k.wait(ctx); err != nil {
			return nil, err
		}
	}
	return k.informer, nil
}

// RemoveInformer stops the informer of obj's kind and form, and forgets it: the next
// use of the kind makes another one, without the indexes of this one. It does not
// wait for its end.
func (c *Cache) RemoveInformer(_ context.Context, obj client.Object) error {
	gvk, err := apiutil.GVKForObject(obj, c.settings.Scheme)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f := formOf(obj)
	if k := c.kinds[f][gvk]; k != nil {
		delete(c.kinds[f], gvk)
		k.removed = true
		if k.stop != nil {
			k.stop()
		}
	}
	return nil
}

// IndexField adds an index to the informer of obj's kind and form, for field selectors
// with the field's name: see client.FieldIndexer. Objects that are there are indexed
// when it returns. It does not wait for the informer to sync.
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
