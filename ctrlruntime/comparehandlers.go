package ctrlruntime

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// delivered is what a handler of a cache has received of a kind: the last state of each
// key, shared with the cache. The order of keys is not compared, nor are intermediate
// states, which a cache may leave out.
type delivered struct {
	mu   sync.Mutex
	last map[client.ObjectKey]client.Object // guarded by mu
	// synced reports whether all of the initial list has come; it is nil until the
	// handler has been added. Guarded by mu.
	synced func() bool
}

var _ toolscache.ResourceEventHandler = (*delivered)(nil)

// OnAdd implements ResourceEventHandler.
func (d *delivered) OnAdd(obj any, _ bool) { d.OnUpdate(nil, obj) }

// OnUpdate implements ResourceEventHandler.
func (d *delivered) OnUpdate(_, now any) {
	obj, ok := now.(client.Object)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last == nil {
		d.last = map[client.ObjectKey]client.Object{}
	}
	d.last[client.ObjectKeyFromObject(obj)] = obj
}

// OnDelete implements ResourceEventHandler.
func (d *delivered) OnDelete(was any) {
	name, err := toolscache.DeletionHandlingObjectToName(was)
	if err != nil {
		return // no cache sends anything else
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.last, types.NamespacedName(name))
}

// follow adds the handler to a cache's informer, once.
func (d *delivered) follow(informer cache.Informer) error {
	d.mu.Lock()
	added := d.synced != nil
	d.mu.Unlock()
	if added {
		return nil
	}
	r, err := informer.AddEventHandler(d)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = r.HasSynced
	return nil
}

func (d *delivered) hasSynced() bool {
	d.mu.Lock()
	synced := d.synced
	d.mu.Unlock()
	return synced != nil && synced()
}

// each calls f with the last state of each key.
func (d *delivered) each(f func(client.ObjectKey, client.Object)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, obj := range d.last {
		f(key, obj)
	}
}

// deliveries are what the handlers in both caches have received of a kind.
type deliveries struct{ primary, shadow delivered }

// pairs returns what both have received. ok is false until both have the initial list.
func (d *deliveries) pairs() (pairs map[client.ObjectKey]pair, ok bool) {
	if d == nil || !d.primary.hasSynced() || !d.shadow.hasSynced() {
		return nil, false
	}
	pairs = map[client.ObjectKey]pair{}
	d.primary.each(func(key client.ObjectKey, obj client.Object) { pairs[key] = pair{primary: obj} })
	d.shadow.each(func(key client.ObjectKey, obj client.Object) {
		pairs[key] = pair{primary: pairs[key].primary, shadow: obj}
	})
	return pairs, true
}

// deliveriesOf returns the deliveries of a kind; nil if no handler follows it.
func (c *Comparison) deliveriesOf(k kindForm) *deliveries {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.delivered[k]
}

// followDeliveries adds a handler to the informers of both caches, unless they have
// one. It is a difference if the shadow refuses it.
func (c *Comparison) followDeliveries(k kindForm, primary, shadow cache.Informer) {
	if primary == nil || shadow == nil {
		return
	}
	c.following.Lock()
	defer c.following.Unlock()
	d := c.deliveriesOf(k)
	if d == nil {
		d = &deliveries{}
		c.mu.Lock()
		c.delivered[k] = d
		c.mu.Unlock()
	}
	// If the primary's informer refuses it, it has ended: that is not the shadow's
	// fault.
	if d.primary.follow(primary) == nil {
		c.did("AddEventHandler", k, d.shadow.follow(shadow))
	}
}

// forgetDeliveries ends the comparison of what handlers of a kind's informers receive.
func (c *Comparison) forgetDeliveries(k kindForm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.delivered, k)
}

// compareDelivered compares what handlers of both caches have received.
func (c *Comparison) compareDelivered(ctx context.Context, k kindForm) {
	if pairs, ok := c.deliveriesOf(k).pairs(); ok {
		c.comparePairs(ctx, pairs, func(key client.ObjectKey) read { return read{kind: k, key: key, delivered: true} })
	}
}

// heldDiffers reports whether the caches hold different objects under a suspect's key.
func (c *Comparison) heldDiffers(ctx context.Context, s *suspect) bool {
	pairs, err, ok := c.do(ctx, read{kind: s.read.kind, key: s.key})
	if !ok || err != nil {
		return true
	}
	what, _ := pairs[s.key].compare()
	return what != 0
}
