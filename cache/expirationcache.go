package cache

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// ExpirationCache is a Store whose objects expire, as its policy decides. An
// expired object is removed when Get, GetByKey or List meets it; until then it
// is among ListKeys, and takes memory.
//
// All methods are safe for concurrent use. A read takes a lock only if it
// removes something.
type ExpirationCache struct {
	entries *threadSafeStore // of *TimestampedEntry
	keyFunc KeyFunc
	clock   clock.Clock
	policy  ExpirationPolicy
	// expired is called with each key that expired, under no lock. May be nil.
	expired func(key string)

	// mu is held by writes, and while an expired object is removed, so that
	// nothing newer is removed in its place.
	mu sync.Mutex
}

var _ Store = (*ExpirationCache)(nil)

// NewTTLStore returns an ExpirationCache whose objects expire when they have
// not been written for ttl; never, if ttl is not positive.
func NewTTLStore(keyFunc KeyFunc, ttl time.Duration) Store {
	return NewExpirationStore(keyFunc, &TTLPolicy{TTL: ttl, Clock: clock.RealClock{}})
}

// NewExpirationStore returns an ExpirationCache with a policy. Each read calls
// the policy, from its goroutine, under no lock.
func NewExpirationStore(keyFunc KeyFunc, expirationPolicy ExpirationPolicy) Store {
	return newExpirationCache(keyFunc, expirationPolicy, clock.RealClock{}, nil)
}

// NewFakeExpirationStore returns an ExpirationCache with a clock for tests. If
// deletedKeys is not nil, the read that removes an expired object sends the key
// to it, and blocks until the key is received.
func NewFakeExpirationStore(keyFunc KeyFunc, deletedKeys chan<- string, expirationPolicy ExpirationPolicy, cacheClock clock.Clock) Store {
	var expired func(string)
	if deletedKeys != nil {
		expired = func(key string) { deletedKeys <- key }
	}
	return newExpirationCache(keyFunc, expirationPolicy, cacheClock, expired)
}

func newExpirationCache(keyFunc KeyFunc, policy ExpirationPolicy, c clock.Clock, expired func(string)) *ExpirationCache {
	return &ExpirationCache{
		entries: &threadSafeStore{newTable(nil, nil)}, keyFunc: keyFunc, clock: c, policy: policy, expired: expired,
	}
}

func (c *ExpirationCache) key(obj any) (string, error) { return keyOf(c.keyFunc, obj) }

// Add stores an object and restarts its time.
func (c *ExpirationCache) Add(obj any) error {
	key, err := c.key(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Add(key, &TimestampedEntry{Obj: obj, Timestamp: c.clock.Now()})
	return nil
}

// Update is Add.
func (c *ExpirationCache) Update(obj any) error { return c.Add(obj) }

// Delete removes the object that has obj's key, if there is one.
func (c *ExpirationCache) Delete(obj any) error {
	key, err := c.key(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.DeleteWithObject(key, obj)
	return nil
}

// Replace stores list and nothing else, and starts the time of all objects. If
// one object has no key, nothing changes.
func (c *ExpirationCache) Replace(list []any, resourceVersion string) error {
	items := make(map[string]any, len(list))
	now := c.clock.Now()
	for _, obj := range list {
		key, err := c.key(obj)
		if err != nil {
			return err
		}
		items[key] = &TimestampedEntry{Obj: obj, Timestamp: now}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Replace(items, resourceVersion)
	return nil
}

// Get returns the object that has obj's key, unless it has expired.
func (c *ExpirationCache) Get(obj any) (item any, exists bool, err error) {
	key, err := c.key(obj)
	if err != nil {
		return nil, false, err
	}
	return c.GetByKey(key)
}

// GetByKey returns the object under a key, unless it has expired. There is no error.
func (c *ExpirationCache) GetByKey(key string) (item any, exists bool, err error) {
	found, ok := c.entries.Get(key)
	if !ok {
		return nil, false, nil
	}
	e := found.(*TimestampedEntry)
	if !c.policy.IsExpired(e) {
		return e.Obj, true, nil
	}
	if c.drop(key, e) && c.expired != nil {
		c.expired(key)
	}
	return nil, false, nil
}

// drop removes an entry, unless another has taken its place.
func (c *ExpirationCache) drop(key string, e *TimestampedEntry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.entries.Get(key); !ok || now != any(e) {
		return false
	}
	c.entries.Delete(key)
	return true
}

// List returns the objects that have not expired, ordered by key, and removes
// those that have expired.
func (c *ExpirationCache) List() []any {
	list := []any{}
	for _, key := range c.entries.ListKeys() {
		if obj, ok, _ := c.GetByKey(key); ok {
			list = append(list, obj)
		}
	}
	return list
}

// ListKeys returns all keys, including those of expired objects.
func (c *ExpirationCache) ListKeys() []string { return c.entries.ListKeys() }

// LastStoreSyncResourceVersion returns the version of the latest list, delete
// or bookmark.
func (c *ExpirationCache) LastStoreSyncResourceVersion() string {
	return c.entries.LastStoreSyncResourceVersion()
}

// Bookmark sets the version that LastStoreSyncResourceVersion returns.
func (c *ExpirationCache) Bookmark(rv string) { c.entries.Bookmark(rv) }

// Resync does nothing.
func (c *ExpirationCache) Resync() error { return nil }

// NewUndeltaStore returns an empty store that calls pushFunc with its whole contents
// after each successful write. The goroutine that wrote calls pushFunc, under no lock;
// after concurrent writes it may receive the same contents twice, and older ones
// after newer ones.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}
