package cache

import (
	"fmt"

	"github.com/kinglet-go/kinglet/store"
)

// indexer is an Indexer over a store.
type indexer struct {
	*table
	keys      keying
	transform TransformFunc // may be nil
}

var (
	_ Indexer          = (*indexer)(nil)
	_ TransactionStore = (*indexer)(nil)
)

// newIndexerOver returns an Indexer over an existing store. The store must
// remember keys, have the indexes storeIndexers(indexers), and no key function
// or storeKeyFunc(keyFunc).
func newIndexerOver(s *store.Store[any], keyFunc KeyFunc, indexers Indexers, report func(error)) *indexer {
	return &indexer{table: tableOver(s, indexers, nil, report), keys: keyingBy(keyFunc)}
}

// NewStore returns an empty Store. All of its methods are safe for concurrent
// use; reads take no lock, and neither wait for writes nor delay them. An
// object whose key function fails is not stored, and the error is a KeyError.
// The Store is a TransactionStore too.
func NewStore(keyFunc KeyFunc, opts ...StoreOption) Store {
	return NewIndexer(keyFunc, nil, opts...)
}

// NewIndexer returns an empty Indexer: a Store, see NewStore, with indexes. If
// an index function fails for an object, or panics, the object is stored but
// absent from that index, and the error goes to the error handlers of
// k8s.io/apimachinery/pkg/util/runtime.
//
// Objects must not be modified once stored. A modified one is still found
// under the key and the index values that it was stored with.
func NewIndexer(keyFunc KeyFunc, indexers Indexers, opts ...StoreOption) Indexer {
	c := newStoreConfig(opts)
	return &indexer{table: newTable(indexers, c.version), keys: keyingBy(keyFunc), transform: c.transform}
}

// Add stores an object and replaces any that has its key.
func (i *indexer) Add(obj any) error { return i.write(obj) }

// Update is Add.
func (i *indexer) Update(obj any) error { return i.write(obj) }

func (i *indexer) write(obj any) error {
	key, err := i.keys.key(obj)
	if err != nil {
		return err
	}
	if obj, err = i.transformed(obj); err != nil {
		return err
	}
	return i.put(key, obj)
}

func (i *indexer) transformed(obj any) (any, error) {
	if i.transform == nil {
		return obj, nil
	}
	obj, err := i.transform(obj)
	if err != nil {
		return nil, fmt.Errorf("transforming: %w", err)
	}
	return obj, nil
}

// Delete removes the object that has obj's key, if there is one.
func (i *indexer) Delete(obj any) error {
	key, err := i.keys.key(obj)
	if err != nil {
		return err
	}
	return i.remove(key, obj)
}

// Get returns the object that has obj's key.
func (i *indexer) Get(obj any) (item any, exists bool, err error) {
	key, err := i.keys.key(obj)
	if err != nil {
		return nil, false, err
	}
	item, exists = i.store.Get(key)
	return item, exists, nil
}

// GetByKey returns the object under a key. The error is always nil.
func (i *indexer) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = i.store.GetString(key)
	return item, exists, nil
}

// Replace stores list and nothing else. Readers see all of it or nothing. If
// one object has no key or cannot be transformed, nothing changes. Of several
// objects with one key the last is stored.
func (i *indexer) Replace(list []any, resourceVersion string) error {
	keys := make([]store.Key, len(list))
	objs := list
	if i.transform != nil {
		objs = make([]any, len(list))
	}
	for n, obj := range list {
		var err error
		if keys[n], err = i.keys.key(obj); err != nil {
			return err
		}
		if objs[n], err = i.transformed(obj); err != nil {
			return err
		}
	}
	i.replace(func(yield func(store.Key, any) bool) {
		for n, key := range keys {
			if !yield(key, objs[n]) {
				return
			}
		}
	}, resourceVersion)
	return nil
}

// Transaction makes several writes. Readers see all of them or none. Writes
// whose object has no key are left out, and listed in the error. Objects are
// stored as they are, not transformed.
func (i *indexer) Transaction(txns ...Transaction) *TransactionError {
	ops := make([]store.Op[any], 0, len(txns))
	done := make([]int, 0, len(txns))
	var errs []error
	for n, txn := range txns {
		key, err := i.keys.key(txn.Object)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, n)
		if op, ok := operation(key, txn); ok {
			ops = append(ops, op)
		}
	}
	i.transact(ops)
	if len(errs) == 0 {
		return nil
	}
	return &TransactionError{SuccessfulIndices: done, TotalTransactions: len(txns), Errors: errs}
}

// threadSafeStore is a ThreadSafeStore over a store.
type threadSafeStore struct{ *table }

var _ ThreadSafeStoreWithTransaction = (*threadSafeStore)(nil)

// NewThreadSafeStore returns an empty ThreadSafeStore with these indexes; see
// NewIndexer for its guarantees. indices is ignored, since the contents of an
// index follow from its objects, and there are none yet.
func NewThreadSafeStore(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) ThreadSafeStore {
	return &threadSafeStore{newTable(indexers, newStoreConfig(opts).version)}
}

// The store of a threadSafeStore has no key function, so no write is refused.

// Add stores an object under a key and replaces any.
func (s *threadSafeStore) Add(key string, obj any) { _ = s.put(store.ParseKey(key), obj) }

// Update is Add.
func (s *threadSafeStore) Update(key string, obj any) { _ = s.put(store.ParseKey(key), obj) }

// Delete removes what is under a key. The resource version stays as it is: see
// DeleteWithObject.
func (s *threadSafeStore) Delete(key string) { _ = s.remove(store.ParseKey(key), nil) }

// DeleteWithObject removes what is under a key, and sets the resource version
// to that of the deleted object.
func (s *threadSafeStore) DeleteWithObject(key string, obj any) {
	_ = s.remove(store.ParseKey(key), obj)
}

// Get returns the object under a key.
func (s *threadSafeStore) Get(key string) (item any, exists bool) { return s.store.GetString(key) }

// Replace stores items and nothing else. Readers see all of it or nothing.
func (s *threadSafeStore) Replace(items map[string]any, resourceVersion string) {
	s.replace(func(yield func(store.Key, any) bool) {
		for key, obj := range items {
			if !yield(store.ParseKey(key), obj) {
				return
			}
		}
	}, resourceVersion)
}

// Transaction makes several writes. Readers see all of them or none.
func (s *threadSafeStore) Transaction(txns ...ThreadSafeStoreTransaction) {
	ops := make([]store.Op[any], 0, len(txns))
	for _, txn := range txns {
		if op, ok := operation(store.ParseKey(txn.Key), txn.Transaction); ok {
			ops = append(ops, op)
		}
	}
	s.transact(ops)
}

// storeConfig is what options say about a store.
type storeConfig struct {
	transform TransformFunc
	version   GaugeMetric // of the resource version; may be nil
}

func newStoreConfig(opts []func(*storeConfig)) (c storeConfig) {
	for _, opt := range opts {
		opt(&c)
	}
	return c
}

// StoreOption is an option of NewStore and NewIndexer.
type StoreOption = func(*storeConfig)

// ThreadSafeStoreOption is an option of NewThreadSafeStore.
type ThreadSafeStoreOption = func(*storeConfig)

// WithTransformer makes a store change every object by a function before it
// is added, updated or part of a Replace. The key is the one before the
// change. If the function fails, nothing is stored, and the write returns the
// error.
func WithTransformer(transformer TransformFunc) StoreOption {
	return func(c *storeConfig) { c.transform = transformer }
}

// WithStoreMetrics makes a store report its resource version as a metric of
// that name, through the given provider or, if it is nil, the one of
// SetInformerMetricsProvider. A name that is not reserved has no metrics.
func WithStoreMetrics(identifier InformerNameAndResource, metrics InformerMetricsProvider) StoreOption {
	return func(c *storeConfig) { c.version = versionMetric(identifier, metrics) }
}

// WithThreadSafeStoreMetrics is WithStoreMetrics for a ThreadSafeStore.
func WithThreadSafeStoreMetrics(identifier InformerNameAndResource, metricsProvider InformerMetricsProvider) ThreadSafeStoreOption {
	return WithStoreMetrics(identifier, metricsProvider)
}

// versionMetric returns the metric of a store's resource version, or nil: see providerFor.
func versionMetric(id InformerNameAndResource, own InformerMetricsProvider) GaugeMetric {
	if p := providerFor(id, own); p != nil {
		return p.NewStoreResourceVersionMetric(id)
	}
	return nil
}
