package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// CompareOptions configure a Comparison. The zero value is ready to use.
type CompareOptions struct {
	// Primary and Shadow make the caches of NewCache. If nil, they are
	// controller-runtime's cache.New and this package's NewCache.
	Primary, Shadow cache.NewCacheFunc
	// Scheme is the caches' scheme. If nil, it is the scheme of a Cache among them, or
	// client-go's.
	Scheme *runtime.Scheme
	// OnDifference is called with each difference, by one goroutine at a time, and must
	// not block. If nil, the difference is written to controller-runtime's log. It is
	// called at most 20 times at once and 6 times a minute, and once for a difference
	// that lasts; Comparison.Stats counts the differences beyond these limits.
	OnDifference func(Difference)
	// Within is how long an object must be missing from one cache, or older in it, before
	// that counts as a difference: 30 s if 0. Each cache has its own watch, and one of
	// them is always a little behind. Two contents of one resource version count as soon
	// as a second look confirms them.
	Within time.Duration
	// Every is how often everything that the caches hold is compared: 10 minutes if 0.
	// The first comparison is a minute after the start, or sooner if Every is shorter.
	Every time.Duration
	// ReadsPerSecond bounds how many reads a second are compared: 20 if 0.
	ReadsPerSecond int
}

// withDefaults returns the options with defaults for zero values.
func (o CompareOptions) withDefaults() (CompareOptions, error) {
	var errs []error
	if o.Within < 0 {
		errs = append(errs, fmt.Errorf("option Within is %v, must not be negative", o.Within))
	}
	if o.Every < 0 {
		errs = append(errs, fmt.Errorf("option Every is %v, must not be negative", o.Every))
	}
	if o.ReadsPerSecond < 0 {
		errs = append(errs, fmt.Errorf("option ReadsPerSecond is %d, must not be negative", o.ReadsPerSecond))
	}
	if o.Primary == nil {
		o.Primary = cache.New
	}
	if o.Shadow == nil {
		// The shadow repeats the program's reads, and the primary warns of them or not.
		o.Shadow = Options{Implicit: AllowImplicit}.NewCache
	}
	if o.Within == 0 {
		o.Within = 30 * time.Second
	}
	if o.Every == 0 {
		o.Every = 10 * time.Minute
	}
	if o.ReadsPerSecond == 0 {
		o.ReadsPerSecond = 20
	}
	if err := errors.Join(errs...); err != nil {
		return o, fmt.Errorf("comparison of caches: %w", err)
	}
	return o, nil
}

// NewCache makes both caches with the same options, and returns a Comparison of them.
// With KINGLET=off in the environment it returns the primary alone. It is a
// cache.NewCacheFunc:
//
//	mgr, err := ctrl.NewManager(cfg, ctrl.Options{NewCache: ctrlruntime.CompareOptions{}.NewCache})
//
// Functions in opts, such as transforms, are called by both caches.
func (o CompareOptions) NewCache(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	primary, err := o.Primary(cfg, opts)
	if err != nil || switchedOff() {
		return primary, err
	}
	shadow, err := o.Shadow(cfg, opts)
	if err != nil {
		return nil, fmt.Errorf("the shadow of a cache: %w", err)
	}
	if o.Scheme == nil {
		o.Scheme = opts.Scheme
	}
	return Compare(primary, shadow, o)
}

// Comparison is a cache.Cache that answers from its primary, and reports where its
// shadow differs: a way to try a cache without risk. The program's reads and handlers
// use the primary alone. An error of the shadow is reported as a difference, not
// returned.
//
// Three things are compared, all in the background: reads, which are repeated on both
// caches; from time to time, everything that both caches hold; and, at the same time,
// what a handler in each cache has received of each kind that the program has an
// informer of. Objects are compared if both caches have them at the same resource
// version. An object that is older in one cache, or missing from it, is looked at again
// until the caches agree, and is a difference after CompareOptions.Within. Lists are
// compared by their contents, not by their order or by what Limit cuts. Deliveries are
// compared by the last one of each key, not by their order or by earlier ones, which a
// cache may leave out: a handler that misses an intermediate state is not found.
//
// A Comparison costs the shadow, with a second list and watch of each kind and a second
// store, and, in both caches, one more handler and a map of keys for each informer.
// Comparing everything that is held takes at most a twentieth of one core, repeated
// reads copy nothing, and the memory for differences is bounded.
//
// A program changes one line to use it, and one to go back. All methods are safe for
// concurrent use.
type Comparison struct {
	primary, shadow cache.Cache
	opts            CompareOptions
	reports         reports
	suspects        suspects
	// reads holds the reads to compare. One that does not fit is dropped.
	reads  chan read
	counts compareCounts
	// following is held while handlers are added. It is locked before mu.
	following sync.Mutex

	mu sync.Mutex
	// What follows is guarded by mu.

	// kinds are those that the program uses.
	kinds map[kindForm]struct{}
	// delivered is what handlers received of the kinds that the program has informers of.
	delivered map[kindForm]*deliveries
	// second is when the current second began, and inSecond how many reads it has had.
	second   time.Time
	inSecond int
}

var _ cache.Cache = (*Comparison)(nil)

// mostReads bounds the reads that wait to be compared.
const mostReads = 64

// kindForm is a kind in one form.
type kindForm struct {
	schema.GroupVersionKind
	form form
}

// Compare returns a Comparison of two caches that have not started. See
// CompareOptions.NewCache for one that makes them.
func Compare(primary, shadow cache.Cache, o CompareOptions) (*Comparison, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	for _, c := range []cache.Cache{shadow, primary} {
		if ours, ok := c.(*Cache); ok && o.Scheme == nil {
			o.Scheme = ours.settings.Scheme
		}
	}
	if o.Scheme == nil {
		o.Scheme = scheme.Scheme
	}
	c := &Comparison{
		primary: primary, shadow: shadow, opts: o,
		reads: make(chan read, mostReads),
		kinds: map[kindForm]struct{}{}, delivered: map[kindForm]*deliveries{},
	}
	c.reports.call = o.OnDifference
	return c, nil
}

// Shadow returns the cache that the primary is compared with.
func (c *Comparison) Shadow() cache.Cache { return c.shadow }

// Start runs both caches and compares them until ctx ends. It returns what the
// primary's Start returns, once the shadow's has returned too. If the shadow's Start
// fails, the primary continues.
func (c *Comparison) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() {
		if err := c.shadow.Start(ctx); err != nil && ctx.Err() == nil {
			c.report(Difference{What: ShadowFailed, Err: err})
		}
	})
	running.Go(func() { c.compareReads(ctx) })
	running.Go(func() { c.followSuspects(ctx) })
	running.Go(func() { c.compareHeld(ctx) })
	return c.primary.Start(ctx)
}

// NeedLeaderElection returns what the primary's returns.
func (c *Comparison) NeedLeaderElection() bool {
	if r, ok := c.primary.(interface{ NeedLeaderElection() bool }); ok {
		return r.NeedLeaderElection()
	}
	return false
}

// WaitForCacheSync waits for the primary.
func (c *Comparison) WaitForCacheSync(ctx context.Context) bool {
	return c.primary.WaitForCacheSync(ctx)
}

// Get reads from the primary.
func (c *Comparison) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	// A failed read may clear the kind that the object's content states.
	gvk, err := apiutil.GVKForObject(out, c.opts.Scheme)
	if err != nil {
		return c.primary.Get(ctx, key, out, opts...)
	}
	if err = c.primary.Get(ctx, key, out, opts...); ctx.Err() == nil {
		c.wasRead(read{kind: c.use(kindForm{gvk, formOf(out)}), key: key})
	}
	return err
}

// List reads from the primary.
func (c *Comparison) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(out, c.opts.Scheme)
	if err != nil {
		return c.primary.List(ctx, out, opts...)
	}
	if err = c.primary.List(ctx, out, opts...); ctx.Err() == nil {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
		var list client.ListOptions
		list.ApplyOptions(opts)
		list.Limit = 0 // it cuts different objects in each cache
		c.wasRead(read{kind: c.use(kindForm{gvk, formOf(out)}), list: &list})
	}
	return err
}

// GetInformer returns the primary's informer. The shadow gets one of the kind as well.
func (c *Comparison) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(obj, c.opts.Scheme)
	if err != nil {
		return c.primary.GetInformer(ctx, obj, opts...)
	}
	return c.informer("GetInformer", kindForm{gvk, formOf(obj)}, opts, func(from cache.Cache, opts []cache.InformerGetOption) (cache.Informer, error) {
		return from.GetInformer(ctx, obj, opts...)
	})
}

// GetInformerForKind returns the primary's informer. The shadow gets one of the kind as
// well.
func (c *Comparison) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	obj, err := c.opts.Scheme.New(gvk)
	if err != nil {
		return c.primary.GetInformerForKind(ctx, gvk, opts...)
	}
	return c.informer("GetInformerForKind", kindForm{gvk, formOf(obj)}, opts, func(from cache.Cache, opts []cache.InformerGetOption) (cache.Informer, error) {
		return from.GetInformerForKind(ctx, gvk, opts...)
	})
}

// informer gets an informer from both caches, and returns the primary's.
func (c *Comparison) informer(call string, k kindForm, opts []cache.InformerGetOption,
	get func(cache.Cache, []cache.InformerGetOption) (cache.Informer, error)) (cache.Informer, error) {
	c.use(k)
	shadow, err := get(c.shadow, []cache.InformerGetOption{cache.BlockUntilSynced(false)})
	c.did(call, k, err)
	primary, err := get(c.primary, opts)
	if err == nil {
		c.followDeliveries(k, primary, shadow)
	}
	return primary, err
}

// RemoveInformer removes the informer from both caches.
func (c *Comparison) RemoveInformer(ctx context.Context, obj client.Object) error {
	if gvk, err := apiutil.GVKForObject(obj, c.opts.Scheme); err == nil {
		k := kindForm{gvk, formOf(obj)}
		c.mu.Lock()
		delete(c.kinds, k)
		c.mu.Unlock()
		c.forgetDeliveries(k)
		// Handlers that are added meanwhile may be on the informers that are being
		// removed.
		defer c.forgetDeliveries(k)
		c.did("RemoveInformer", k, c.shadow.RemoveInformer(ctx, obj))
	}
	return c.primary.RemoveInformer(ctx, obj)
}

// IndexField adds an index to both caches. Both call extract.
func (c *Comparison) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	err := c.primary.IndexField(ctx, obj, field, extract)
	if gvk, kindErr := apiutil.GVKForObject(obj, c.opts.Scheme); kindErr == nil && err == nil {
		c.did("IndexField "+field, c.use(kindForm{gvk, formOf(obj)}), c.shadow.IndexField(ctx, obj, field, extract))
	}
	return err
}

// use records that the program uses a kind, and returns the kind.
func (c *Comparison) use(k kindForm) kindForm {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds[k] = struct{}{}
	return k
}

// did reports err, if it is not nil, as the failure of a call to the shadow.
func (c *Comparison) did(call string, k kindForm, err error) {
	if err != nil {
		c.report(Difference{What: ShadowFailed, Kind: k.GroupVersionKind, Read: call, Err: err})
	}
}

// wasRead queues a read for comparison, unless there are too many.
func (c *Comparison) wasRead(r read) {
	c.counts.reads.Add(1)
	c.mu.Lock()
	if now := time.Now(); now.Sub(c.second) >= time.Second {
		c.second, c.inSecond = now, 0
	}
	c.inSecond++
	many := c.inSecond > c.opts.ReadsPerSecond
	c.mu.Unlock()
	if many {
		return
	}
	select {
	case c.reads <- r:
	default:
	}
}
