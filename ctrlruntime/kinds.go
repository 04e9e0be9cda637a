package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// kind is the objects of a Kubernetes kind in the form in which a program asks for
// them. If they are held in another form, its kindInformer converts them: see kindinformer.go.
type kind struct {
	*storage
	// apiVersion is gvk's.
	apiVersion   string
	example      runtime.Object
	kindInformer *kindInformer

	// removed is guarded by Cache.mu.
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

// existing returns a kind if the cache has it, and whether the cache has started.
func (c *Cache) existing(gvk schema.GroupVersionKind, f form) (k *kind, started bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.kinds[f][gvk], c.ctx != nil
}

// kindOf returns a kind, and makes it if the cache does not have it. made is as in
// makeKind.
func (c *Cache) kindOf(gvk schema.GroupVersionKind, f form) (k *kind, started, made bool, err error) {
	if k, started = c.existing(gvk, f); k != nil {
		return k, started, false, nil
	}
	return c.makeKind(gvk, f)
}

// makeKind makes a kind, unless another caller has just made it. made reports whether
// the cache has to list objects for it that it did not hold before.
func (c *Cache) makeKind(gvk schema.GroupVersionKind, f form) (k *kind, started, made bool, err error) {
	example, err := newObject(c.settings.Scheme, gvk, f)
	if err != nil {
		return nil, false, false, err
	}
	for {
		c.mu.RLock()
		host, generation := c.hostLocked(gvk, f), c.generations[gvk]
		c.mu.RUnlock()
		var h *storage
		if host == nil {
			// The server may have to be asked for the definition; other callers do not
			// wait for that.
			if h, err = c.newStorage(gvk, c.storedAs(gvk, f)); err != nil {
				return nil, false, false, err
			}
			h.generation = generation
		}
		if k, started, made, err = c.addKind(gvk, f, example, h); k != nil || err != nil {
			if made {
				c.advise(k, f)
			}
			return k, started, made, err
		}
	}
}

// addKind adds a kind. It uses an existing storage, or else h, which may be nil. k is
// nil if there is no storage, or if the settings have changed since h was made.
func (c *Cache) addKind(gvk schema.GroupVersionKind, f form, example runtime.Object, h *storage) (k *kind, started, made bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if had := c.kinds[f][gvk]; had != nil {
		return had, c.ctx != nil, false, nil
	}
	host := c.hostLocked(gvk, f)
	if made = host == nil; made {
		if h == nil || h.generation != c.generations[gvk] {
			return nil, false, false, nil
		}
		host = h
		resource := gvk.GroupVersion().WithResource(h.lists.Load().resource)
		if err := c.own.Add(resource, h.informer.Kinglet()); err != nil {
			return nil, false, false, err
		}
	}
	k = &kind{storage: host, apiVersion: gvk.GroupVersion().String(), example: example, kindInformer: newKindInformer(host, f)}
	host.kinds++
	if c.kinds[f] == nil {
		c.kinds[f] = make(map[schema.GroupVersionKind]*kind)
	}
	c.kinds[f][gvk] = k
	if made {
		c.showLocked(host)
		if c.ctx != nil {
			c.runLocked(host)
		}
	}
	return k, c.ctx != nil, made, nil
}

// hostLocked returns the storage that a kind can read, or nil.
func (c *Cache) hostLocked(gvk schema.GroupVersionKind, f form) *storage {
	if f != metadataOnly {
		// The informer of f may have been removed while a metadata informer still reads
		// its storage.
		if k := c.kinds[metadataOnly][gvk]; k != nil && k.form == f {
			return k.storage
		}
		return nil
	}
	if l := c.lean[gvk]; l != nil && l.form == metadataOnly {
		return nil // an entry of its own says what it has
	}
	for _, other := range []form{structured, untyped} {
		if k := c.kinds[other][gvk]; k != nil && k.showsMetadata() {
			return k.storage
		}
	}
	return nil
}

// storedAs returns the form in which a kind is held that a program asks for in form f.
func (c *Cache) storedAs(gvk schema.GroupVersionKind, f form) form {
	if l := c.lean[gvk]; f == metadataOnly && l.hides() {
		return l.form
	}
	return f
}

// advise logs that the metadata of a new kind is listed and held twice, because a program
// asked for the metadata before the kind.
func (c *Cache) advise(k *kind, f form) {
	m, _ := c.existing(k.gvk, metadataOnly)
	if f == metadataOnly || m == nil || m.storage == k.storage || !k.showsMetadata() {
		return
	}
	logf.Log.WithName("kinglet").Info("The metadata of a kind was asked for before the kind, and has an informer of its own; ask for the kind first, or say Whole of it in ctrlruntime.Options.ByObject",
		"kind", describe(k.gvk, f))
}

// remove removes a kind, and stops its storage if no other kind reads it.
func (c *Cache) remove(gvk schema.GroupVersionKind, f form) {
	k, _ := c.existing(gvk, f)
	if k == nil {
		return
	}
	// This may wait for an index function, which may read the cache. The next kind of the
	// storage gives its indexes the same names, so they go before the kind does.
	k.kindInformer.close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.removed {
		return
	}
	delete(c.kinds[f], gvk)
	k.removed = true
	if k.kinds--; k.kinds == 0 {
		k.hide()
		c.own.Remove(k.informer.Kinglet())
	}
	switch {
	case k.kinds > 0:
	case k.stop != nil:
		k.stop()
	default:
		close(k.ended)
	}
}

// wait blocks until all objects have been listed and the informer has synced. The
// informer syncs a moment after its last namespace has been listed, or when a namespace
// is removed that never was listed.
func (k *kind) wait(ctx context.Context) error {
	for {
		s := k.now.Load()
		err := k.listedIn(ctx, s, metav1.NamespaceAll, false)
		if err == nil {
			err = k.await(ctx, s, metav1.NamespaceAll, k.informer.Kinglet().Synced(), false)
		}
		if !errors.Is(err, errReplaced) {
			return k.notSynced(err)
		}
	}
}

// endedBefore returns an error if a call has made a kind and its context has already
// ended. The informer may have listed by now, but only by chance.
func (k *kind) endedBefore(ctx context.Context, made bool) error {
	if !made || ctx.Err() == nil {
		return nil
	}
	return k.notSynced(k.unlisted(context.Cause(ctx)))
}

// notSynced returns controller-runtime's error for a failed wait, with the cause.
func (k *kind) notSynced(err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := err.(*UnlistableError); ok {
		return refused
	}
	return apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for %T Informer to sync: %v", k.example, err), 0)
}
