package ctrlruntime

import (
	"errors"
	"maps"

	toolscache "k8s.io/client-go/tools/cache"
)

// shownIndexer is an informer's store with objects in the form of a kind. It is
// read-only.
type shownIndexer struct {
	toolscache.Indexer
	front *front
}

var errShown = errors.New("this store shows what another informer holds, and cannot be written to")

// Add implements Store: it fails, as all writes do.
func (*shownIndexer) Add(any) error { return errShown }

// Update implements Store.
func (*shownIndexer) Update(any) error { return errShown }

// Delete implements Store.
func (*shownIndexer) Delete(any) error { return errShown }

// Replace implements Store.
func (*shownIndexer) Replace([]any, string) error { return errShown }

// Bookmark implements Store. It does nothing.
func (*shownIndexer) Bookmark(string) {}

// List implements Store.
func (i *shownIndexer) List() []any { return i.all(i.Indexer.List()) }

// all returns the objects of held that the kind has, in its form.
func (i *shownIndexer) all(held []any) []any {
	objs := make([]any, 0, len(held))
	for _, one := range held {
		if obj, ok := i.front.show(one); ok {
			objs = append(objs, obj)
		}
	}
	return objs
}

// ListKeys implements Store.
func (i *shownIndexer) ListKeys() []string { return i.keys(i.Indexer.ListKeys()) }

// keys returns the keys in held whose objects the kind has.
func (i *shownIndexer) keys(held []string) []string {
	keys := make([]string, 0, len(held))
	for _, key := range held {
		if _, ok, err := i.GetByKey(key); ok && err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Get implements Store.
func (i *shownIndexer) Get(obj any) (any, bool, error) { return i.one(i.Indexer.Get(obj)) }

// GetByKey implements Store.
func (i *shownIndexer) GetByKey(key string) (any, bool, error) { return i.one(i.Indexer.GetByKey(key)) }

func (i *shownIndexer) one(held any, exists bool, err error) (any, bool, error) {
	if !exists || err != nil {
		return nil, false, err
	}
	obj, ok := i.front.show(held)
	if !ok {
		return nil, false, nil
	}
	return obj, true, nil
}

// Index implements Indexer.
func (i *shownIndexer) Index(name string, obj any) ([]any, error) {
	held, err := i.Indexer.Index(i.front.indexName(name), obj)
	return i.all(held), err
}

// IndexKeys implements Indexer.
func (i *shownIndexer) IndexKeys(name, value string) ([]string, error) {
	held, err := i.Indexer.IndexKeys(i.front.indexName(name), value)
	return i.keys(held), err
}

// ByIndex implements Indexer.
func (i *shownIndexer) ByIndex(name, value string) ([]any, error) {
	held, err := i.Indexer.ByIndex(i.front.indexName(name), value)
	return i.all(held), err
}

// ListIndexFuncValues implements Indexer. The namespace index may have values of
// objects that the kind does not have.
func (i *shownIndexer) ListIndexFuncValues(name string) []string {
	return i.Indexer.ListIndexFuncValues(i.front.indexName(name))
}

// GetIndexers implements Indexer.
func (i *shownIndexer) GetIndexers() toolscache.Indexers {
	i.front.mu.Lock()
	defer i.front.mu.Unlock()
	all := maps.Clone(i.front.indexers)
	all[toolscache.NamespaceIndex] = toolscache.MetaNamespaceIndexFunc
	return all
}

// AddIndexers implements Indexer.
func (i *shownIndexer) AddIndexers(indexers toolscache.Indexers) error {
	return i.front.AddIndexers(indexers)
}
