package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"os"
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
	// Primary and Shadow make the caches of NewCache: controller-runtime's cache.New
	// and this package's if nil.
	Primary, Shadow cache.NewCacheFunc
	// Scheme is that of the caches. If nil it is that of a Cache among them, or
	// client-go's.
	Scheme *runtime.Scheme
	// OnDifference is called with each difference, by one goroutine at a time, and must
	// not block. If nil, a line goes to controller-runtime's log. It is called at most 20
	// times at once and 6 times a minute, and once for a difference that lasts; what it
	// is not called with is counted: see Comparison.Stats.
	OnDifference func(Difference)
	// Within is how long a difference lasts before it is one: 30 s if 0. The caches have
	// a watch each, and one of them is always a little behind.
	Within time.Duration
	// Every is how often all that the caches hold is compared: 10 minutes if 0. The first
	// time is a minute after the start, or sooner if Every is shorter.
	Every time.Duration
	// ReadsPerSecond bounds the reads that are compared: 20 if 0.
	ReadsPerSecond int
}

// withDefaults returns the options with what is 0 filled in.
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
		// The reads of the shadow are the program's, which the primary warns of or not.
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
	if err != nil || strings.EqualFold(os.Getenv(switchedOff), "off") {
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

// Comparison is a cache.Cache that is its primary, and reports where its shadow differs:
// the way to try a cache without a risk. What the program reads and the handlers that it
// adds are the primary's alone, and an error of the shadow is a difference and no error.
//
// Three things are compared, all in the background: reads, which are repeated on both
// caches; all that both hold, from time to time; and with it what handlers have received of
// the kinds that the program has informers of, by a handler of its own in each cache. Objects are compared if they have
// one resource version in both. One that is older in one of them, or missing in one, is
// looked at again until that has ended, and is a difference after CompareOptions.Within.
// Lists are compared by what is in them: not by their order, nor by what Limit cuts.
// Deliveries are compared by the last one of each key: not by their order, nor by those
// before it, which a cache may leave out, so that a handler that misses a state in between
// is not found.
//
// It costs the shadow: a second list and watch of each kind, and a second store; and one
// more handler and a map of keys for each informer, in both caches. The
// comparison of all that is held takes at most a twentieth of one core, reads that are
// repeated copy nothing, and what is kept of differences is bounded.
//
// A program changes one line to use it, and one to go back. All methods are safe for
// concurrent use.
type Comparison struct {
	primary, shadow cache.Cache
	opts            CompareOptions
	reports         reports
	suspects        suspects
	// reads are to be compared; those that do not fit are counted.
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
	// second is when reads were counted last, and inSecond how many there were since.
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

// Shadow returns the cache that is compared.
func (c *Comparison) Shadow() cache.Cache { return c.shadow }

// Start runs both caches and compares them, until ctx ends. It returns what the
// primary's Start returns, once the shadow's has returned too. If the shadow's fails,
// the primary goes on.
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

// NeedLeaderElection is that of the primary.
func (c *Comparison) NeedLeaderElection() bool {
	if r, ok := c.primary.(interface{ NeedLeaderElection() bool }); ok {
		return r.NeedLeaderElection()
	}
	return false
}

// WaitForCacheSync is that of the primary.
func (c *Comparison) WaitForCacheSync(ctx context.Context) bool {
	return c.primary.WaitForCacheSync(ctx)
}

// Get is that of the primary.
func (c *Comparison) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	// The object may have its kind in its content, which a failed read may clear.
	gvk, err := apiutil.GVKForObject(out, c.opts.Scheme)
	if err != nil {
		return c.primary.Get(ctx, key, out, opts...)
	}
	if err = c.primary.Get(ctx, key, out, opts...); ctx.Err() == nil {
		c.wasRead(read{kind: c.use(kindForm{gvk, formOf(out)}), key: key})
	}
	return err
}

// List is that of the primary.
func (c *Comparison) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(out, c.opts.Scheme)
	if err != nil {
		return c.primary.List(ctx, out, opts...)
	}
	if err = c.primary.List(ctx, out, opts...); ctx.Err() == nil {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
		var list client.ListOptions
		list.ApplyOptions(opts)
		list.Limit = 0 // what it cuts is not the same in each cache
		c.wasRead(read{kind: c.use(kindForm{gvk, formOf(out)}), list: &list})
	}
	return err
}

// GetInformer is that of the primary. The shadow has one of the kind as well.
func (c *Comparison) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	gvk, err := apiutil.GVKForObject(obj, c.opts.Scheme)
	if err != nil {
		return c.primary.GetInformer(ctx, obj, opts...)
	}
	return c.informer("GetInformer", kindForm{gvk, formOf(obj)}, opts, func(from cache.Cache, opts []cache.InformerGetOption) (cache.Informer, error) {
		return from.GetInformer(ctx, obj, opts...)
	})
}

// GetInformerForKind is that of the primary. The shadow has one of the kind as well.
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

// RemoveInformer removes the informers of both.
func (c *Comparison) RemoveInformer(ctx context.Context, obj client.Object) error {
	if gvk, err := apiutil.GVKForObject(obj, c.opts.Scheme); err == nil {
		k := kindForm{gvk, formOf(obj)}
		c.mu.Lock()
		delete(c.kinds, k)
		c.mu.Unlock()
		c.forgetDeliveries(k)
		// What is followed meanwhile may be the informers that go.
		defer c.forgetDeliveries(k)
		c.did("RemoveInformer", k, c.shadow.RemoveInformer(ctx, obj))
	}
	return c.primary.RemoveInformer(ctx, obj)
}

// IndexField adds an index to both. extract is called by both.
func (c *Comparison) IndexField(ctx context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	err := c.primary.IndexField(ctx, obj, field, extract)
	if gvk, kindErr := apiutil.GVKForObject(obj, c.opts.Scheme); kindErr == nil && err == nil {
		c.did("IndexField "+field, c.use(kindForm{gvk, formOf(obj)}), c.shadow.IndexField(ctx, obj, field, extract))
	}
	return err
}

// use notes that the program uses a kind, which it returns.
func (c *Comparison) use(k kindForm) kindForm {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds[k] = struct{}{}
	return k
}

// did reports that the shadow could not do what the primary does.
func (c *Comparison) did(call string, k kindForm, err error) {
	if err != nil {
		c.report(Difference{What: ShadowFailed, Kind: k.GroupVersionKind, Read: call, Err: err})
	}
}

// wasRead has a read compared, if there are not too many.
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
