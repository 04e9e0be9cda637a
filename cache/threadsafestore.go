package cache

import (
	"github.com/kinglet-go/kinglet/store"
)

// threadSafeStore is a ThreadSafeStore over a store.
type threadSafeStore struct{ *table }

var _ ThreadSafeStoreWithTransaction = (*threadSafeStore)(nil)

// NewThreadSafeStore returns an empty ThreadSafeStore with these indexes; see
// NewIndexer for its guarantees. indices is ignored, since the contents of an
// index follow from its objects, and there are none yet.
func NewThreadSafeStore(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) ThreadSafeStore {
	var c storeConfig
	for _, opt := range opts {
		opt(&c)
	}
	return &threadSafeStore{newTable(indexers, c.gauge())}
}

// The store of a threadSafeStore has no key function, so no write is refused.

// Add stores an object under a key and replaces any.
func (s *threadSafeStore) Add(key string, obj any) { _ = s.put(storeKey(key), obj) }

// Update is Add.
func (s *threadSafeStore) Update(key string, obj any) { _ = s.put(storeKey(key), obj) }

// Delete removes what is under a key. The resource version stays as it is: see
// DeleteWithObject.
func (s *threadSafeStore) Delete(key string) { _ = s.remove(storeKey(key), nil) }

// DeleteWithObject removes what is under a key, and sets the resource version
// to that of the deleted object.
func (s *threadSafeStore) DeleteWithObject(key string, obj any) { _ = s.remove(storeKey(key), obj) }

// Get returns the object under a key.
func (s *threadSafeStore) Get(key string) (item any, exists bool) { return s.get(key) }

// Replace stores items and nothing else. Readers see all of it or nothing.
func (s *threadSafeStore) Replace(items map[string]any, resourceVersion string) {
	s.replace(func(yield func(store.Key, any) bool) {
		for key, obj := range items {
			if !yield(storeKey(key), obj) {
				return
			}
		}
	}, resourceVersion)
}

// Transaction makes several writes. Readers see all of them or none.
func (s *threadSafeStore) Transaction(txns ...ThreadSafeStoreTransaction) {
	ops := make([]store.Op[any], 0, len(txns))
	for _, txn := range txns {
		if op, ok := operation(storeKey(txn.Key), txn.Transaction); ok {
			ops = append(ops, op)
		}
	}
	s.transact(ops)
}
