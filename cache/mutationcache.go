package cache

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	lru "k8s.io/apimachinery/pkg/util/cache"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// NewIntegerResourceVersionMutationCache returns a view of a store that shows a
// program's own writes, as told by Mutation, before the store has them. It shows
// the newer of the two, by resource version; if the versions are not both
// numbers, it shows the store's.
//
// A write is remembered for ttl (5 minutes if 0), and for 100 keys at most, so
// the view promises nothing. Objects that the store does not have are shown only
// with includeAdds. They may then be shown after they were deleted; call
// OnAddOrUpdate and OnDelete from an informer's handlers to keep that time
// short. ByIndex needs an indexer.
//
// All methods are safe for concurrent use.
func NewIntegerResourceVersionMutationCache(logger klog.Logger, backingCache Store, indexer Indexer, ttl time.Duration, includeAdds bool) MutationCache {
	return newMutationCache(logger, backingCache, mutationCacheOptions{
		Indexer: indexer, TTL: ttl, IncludeAdds: includeAdds,
	})
}

// mutationCacheOptions are client-go's MutationCacheOptions.
type mutationCacheOptions struct {
	Indexer      Indexer
	TTL          time.Duration
	IncludeAdds  bool
	MaxCacheSize int
}

func newMutationCache(logger klog.Logger, backingCache Store, options mutationCacheOptions) *mutationCache {
	if options.TTL == 0 {
		options.TTL = 5 * time.Minute
	}
	if options.MaxCacheSize == 0 {
		options.MaxCacheSize = 100
	}
	return &mutationCache{
		logger:  logger,
		store:   backingCache,
		opts:    options,
		mutated: lru.NewLRUExpireCache(options.MaxCacheSize),
	}
}

// mutationCache embeds the interface for its method that is not exported; the
// embedded value is nil and never called.
type mutationCache struct {
	MutationCache
	logger klog.Logger
	store  Store
	opts   mutationCacheOptions

	// mu makes a lookup in mutated and the action that follows from it one step.
	mu      sync.Mutex
	mutated *lru.LRUExpireCache // of *ownWrite, by key
}

// ownWrite is what the program wrote under a key.
type ownWrite struct {
	// obj is nil if the object was deleted.
	obj     any
	uid     types.UID
	version string
	// versioned is false for an object without metadata: it is shown only if the
	// store has nothing.
	versioned bool
}

func ownWriteOf(obj any) *ownWrite {
	m := &ownWrite{obj: obj}
	if o, err := meta.Accessor(obj); err == nil {
		m.uid, m.version, m.versioned = o.GetUID(), o.GetResourceVersion(), true
	}
	return m
}

func (c *mutationCache) written(key string) *ownWrite {
	if m, ok := c.mutated.Get(key); ok {
		return m.(*ownWrite)
	}
	return nil
}

// GetByKey returns the newer of the store's object and the program's write.
func (c *mutationCache) GetByKey(key string) (any, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	obj, exists, err := c.store.GetByKey(key)
	if err != nil {
		return nil, false, err
	}
	if exists {
		return c.newer(key, obj), true, nil
	}
	if m := c.written(key); c.opts.IncludeAdds && m != nil && m.obj != nil {
		return m.obj, true, nil
	}
	return nil, false, nil
}

// newer returns the newer of the store's object and the program's write, and
// forgets the write if it is not newer.
func (c *mutationCache) newer(key string, stored any) any {
	m, s := c.written(key), ownWriteOf(stored)
	if m == nil || !m.versioned || !s.versioned {
		return stored
	}
	switch order, ok := compareVersions(s.version, m.version); {
	case ok && order >= 0:
		c.mutated.Remove(key)
	case ok && m.obj != nil:
		return m.obj
	}
	return stored
}

// ByIndex returns the objects that the index has under the value, in the newer
// version of each; with IncludeAdds also the program's writes that belong under
// the value.
func (c *mutationCache) ByIndex(indexName, indexKey string) ([]any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opts.Indexer == nil {
		return nil, errNoIndexer
	}
	keys, err := c.opts.Indexer.IndexKeys(indexName, indexKey)
	if err != nil {
		return nil, err
	}
	var objs []any
	stored := make(map[string]bool, len(keys))
	for _, key := range keys {
		stored[key] = true
		obj, exists, err := c.opts.Indexer.GetByKey(key)
		if err != nil {
			return nil, err
		}
		if exists {
			objs = append(objs, c.newer(key, obj))
		}
	}
	if !c.opts.IncludeAdds {
		return objs, nil
	}
	values := c.opts.Indexer.GetIndexers()[indexName]
	// Keys returns the oldest first, so reading all of them does not change
	// their order.
	for _, k := range c.mutated.Keys() {
		key := k.(string)
		if m := c.written(key); m != nil && m.obj != nil && !stored[key] && c.under(values, m.obj, key, indexKey) {
			objs = append(objs, m.obj)
		}
	}
	return objs, nil
}

// under reports whether an index would have an object under a value.
func (c *mutationCache) under(values IndexFunc, obj any, key, value string) bool {
	got, err := values(obj)
	if err != nil {
		c.logger.V(4).Info("An index function failed for an object of the mutation cache", "key", key, "err", err)
		return false
	}
	return slices.Contains(got, value)
}

// Mutation records that an object was written, unless something newer, or its
// deletion, was recorded.
func (c *mutationCache) Mutation(obj any) {
	key, ok := c.key(obj)
	if !ok {
		return
	}
	m := ownWriteOf(obj)
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.written(key); old != nil && old.versioned && m.versioned {
		order, ok := compareVersions(m.version, old.version)
		if ok && order < 0 {
			return
		}
		if old.obj == nil && (ok && order == 0 || m.uid != "" && m.uid == old.uid) {
			return // this very object is known to be gone
		}
	}
	c.mutated.Add(key, m, c.opts.TTL)
}

// OnAddOrUpdate records that the store has an object now: an earlier write that
// is not newer is forgotten.
func (c *mutationCache) OnAddOrUpdate(obj runtime.Object) {
	key, ok := c.key(obj)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, m := c.written(key), ownWriteOf(obj); old != nil && old.versioned && m.versioned {
		if order, ok := compareVersions(m.version, old.version); !ok || order >= 0 {
			c.mutated.Remove(key)
		}
	}
}

// OnDelete records that an object was deleted from the store: writes of it,
// earlier or later, are no longer shown.
func (c *mutationCache) OnDelete(obj runtime.Object) {
	key, ok := c.key(obj)
	if !ok {
		return
	}
	m := ownWriteOf(obj)
	if !m.versioned {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.written(key); old != nil && old.versioned {
		order, ok := compareVersions(m.version, old.version)
		if !(ok && order >= 0) && old.uid != m.uid {
			return // a later object under the same key
		}
	}
	m.obj = nil
	c.mutated.Add(key, m, c.opts.TTL)
}

func (c *mutationCache) key(obj any) (string, bool) {
	key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		utilruntime.HandleErrorWithLogger(c.logger, err, "The mutation cache was told of an object without a key")
	}
	return key, err == nil
}

// compareVersions orders two resource versions, as numbers of any length; an
// empty one is zero, and zeros may lead. ok is false if one of them is not a number.
func compareVersions(a, b string) (order int, ok bool) {
	if !isNumber(a) || !isNumber(b) {
		return 0, false
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return cmp.Compare(len(a), len(b)), true
	}
	return strings.Compare(a, b), true
}

func isNumber(version string) bool {
	for i := range len(version) {
		if version[i] < '0' || version[i] > '9' {
			return false
		}
	}
	return true
}
