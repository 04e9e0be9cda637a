// Package compare tries a cache beside another one, without risk:
//
//	mgr, err := ctrl.NewManager(cfg, ctrl.Options{NewCache: compare.Options{}.NewCache})
//
// controller-runtime's cache answers all reads and feeds all handlers. kinglet's runs
// beside it with the same options, and each difference between them is reported.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// Options configure a comparison. The zero value is ready to use.
type Options struct {
	// Primary and Shadow are cache.New and ctrlruntime.NewCache if nil.
	Primary, Shadow cache.NewCacheFunc
	// OnDifference is called once with each difference, one after the other, at most 20
	// times at once and 6 times a minute. It may read from the cache, but must not block. A
	// panic is logged. If nil, OnDifference is a log line.
	OnDifference func(Difference)
	// Within is how long an object must be missing from one cache, or older in it, before
	// that counts as a difference: 30 s if 0, since one watch is always a little behind.
	Within time.Duration
	// Every is how often all that the caches hold is compared: 10 minutes if 0.
	Every time.Duration
}

// NewCache makes both caches with opts, whose functions both call, and returns a *Cache
// of them, or the primary if kinglet is switched off. It is a cache.NewCacheFunc.
func (o Options) NewCache(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	if o.Within < 0 || o.Every < 0 {
		return nil, fmt.Errorf("comparison of caches: Within is %v, Every is %v, must not be negative", o.Within, o.Every)
	}
	o.Within, o.Every = cmp.Or(o.Within, 30*time.Second), cmp.Or(o.Every, 10*time.Minute)
	if o.Primary == nil {
		o.Primary = cache.New
	}
	kinglets := o.Shadow == nil
	if kinglets {
		// The shadow repeats the program's reads, and the primary warns of them or not.
		o.Shadow = ctrlruntime.Options{Implicit: ctrlruntime.AllowImplicit}.NewCache
	}
	if o.OnDifference == nil {
		o.OnDifference = func(d Difference) { logf.Log.WithName("kinglet").Info("The caches differ", "difference", d.String()) }
	}
	primary, err := o.Primary(cfg, opts)
	if err != nil {
		return nil, err
	}
	shadow, err := o.Shadow(cfg, opts)
	if err != nil {
		return nil, fmt.Errorf("the shadow of a cache: %w", err)
	}
	if _, is := shadow.(*ctrlruntime.Cache); kinglets && !is {
		return primary, nil // kinglet is switched off
	}
	return &Cache{
		Cache: primary, shadow: shadow, opts: o, scheme: cmp.Or(opts.Scheme, scheme.Scheme),
		reads:      make(chan read, 64),
		reading:    make(chan struct{}, 1),
		readRate:   flowcontrol.NewTokenBucketRateLimiter(20, 20),
		reportRate: flowcontrol.NewTokenBucketRateLimiter(0.1, 20),
		kinds:      map[kind]bool{}, suspects: map[string]*suspect{}, reported: map[string]bool{},
	}, nil
}

// Cache is a cache.Cache that answers from its primary, and reports where its shadow
// differs. An error of the shadow is a difference, and not returned. Reads are repeated
// on both caches, at most 20 a second, and from time to time all that both hold is
// compared, but not the order of lists, what Limit cuts, or what handlers receive. It
// costs a second list and watch of each kind, a second store, and at most a twentieth of
// one core. All methods are safe for concurrent use.
type Cache struct {
	cache.Cache // the primary
	shadow      cache.Cache
	opts        Options
	scheme      *runtime.Scheme

	reads    chan read // one that does not fit is dropped
	readRate flowcontrol.RateLimiter
	suspects map[string]*suspect // of the goroutine that compares
	reading  chan struct{}       // full while a read is repeated, or informers are removed

	mu sync.Mutex
	// What follows is guarded by mu.

	kinds      map[kind]bool // those that the program uses
	reported   map[string]bool
	reportRate flowcontrol.RateLimiter
	untold     []Difference
	telling    bool // OnDifference is being called
}

// Shadow returns kinglet's cache, as for ctrlruntime.Status.
func (c *Cache) Shadow() cache.Cache { return c.shadow }

// Start runs both caches until ctx ends, or the primary if the shadow's Start fails.
func (c *Cache) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { c.did("Start", kind{}, c.shadow.Start(ctx)) })
	running.Go(func() { c.run(ctx) })
	return c.Cache.Start(ctx)
}

// Get reads from the primary.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	if k, known := c.use(out); known {
		defer c.repeat(ctx, read{kind: k, key: key})
	}
	return c.Cache.Get(ctx, key, out, opts...)
}

// List reads from the primary.
func (c *Cache) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	if k, known := c.use(out); known {
		list := (&client.ListOptions{}).ApplyOptions(opts)
		list.Limit = 0 // it cuts different objects in each cache
		defer c.repeat(ctx, read{kind: k, list: list})
	}
	return c.Cache.List(ctx, out, opts...)
}

// GetInformer returns the primary's informer. The shadow makes one of the kind as well.
func (c *Cache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	if k, known := c.use(obj); known {
		_, err := c.shadow.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
		c.did("GetInformer", k, err)
	}
	return c.Cache.GetInformer(ctx, obj, opts...)
}

// GetInformerForKind is GetInformer for the type that the scheme has for gvk.
func (c *Cache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	obj, err := c.scheme.New(gvk)
	if of, ok := obj.(client.Object); ok && err == nil {
		return c.GetInformer(ctx, of, opts...)
	}
	return c.Cache.GetInformerForKind(ctx, gvk, opts...)
}

// RemoveInformer removes the informer from both caches, after the read that is being
// compared, if there is one: at most five seconds.
func (c *Cache) RemoveInformer(ctx context.Context, obj client.Object) error {
	if k, known := c.use(obj); known {
		c.reading <- struct{}{}
		defer func() { <-c.reading }()
		c.mu.Lock()
		delete(c.kinds, k)
		c.mu.Unlock()
		c.did("RemoveInformer", k, c.shadow.RemoveInformer(ctx, obj))
	}
	return c.Cache.RemoveInformer(ctx, obj)
}

// IndexField adds an index to both caches. Both call extract.
func (c *Cache) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	err := c.Cache.IndexField(ctx, obj, field, extract)
	if k, known := c.use(obj); known && err == nil {
		c.did("IndexField "+field, k, c.shadow.IndexField(ctx, obj, field, extract))
	}
	return err
}

// did reports err, if it is not nil, as the failure of a call to the shadow.
func (c *Cache) did(call string, k kind, err error) {
	if err != nil {
		c.report(Difference{What: ShadowFailed, Kind: k.GroupVersionKind, Read: call, Err: err})
	}
}
