package cache

import (
	"maps"
	"slices"

	"github.com/kinglet-go/kinglet/store"
)

// Reads of a table through its indexes.

// Index returns the objects that have one of obj's values in the index.
func (t *table) Index(indexName string, obj any) ([]any, error) {
	fn := t.current()[indexName]
	if fn == nil {
		return nil, noIndex(indexName)
	}
	values, err := fn(obj)
	if err != nil {
		return nil, err
	}
	if len(values) == 1 {
		return t.ByIndex(indexName, values[0])
	}
	// An object may be under several values, and is listed once.
	snap := t.store.Snapshot()
	list := []any{}
	seen := map[store.Key]bool{}
	for _, value := range values {
		keys, err := snap.IndexKeys(indexName, value)
		if err != nil {
			return nil, noIndex(indexName)
		}
		for key := range keys {
			if seen[key] {
				continue
			}
			seen[key] = true
			obj, _ := snap.Get(key)
			list = append(list, obj)
		}
	}
	return list, nil
}

// ByIndex returns the objects that the index has under the value.
func (t *table) ByIndex(indexName, indexedValue string) ([]any, error) {
	snap := t.store.Snapshot()
	objs, err := snap.ByIndex(indexName, indexedValue)
	if err != nil {
		return nil, noIndex(indexName)
	}
	n, _ := snap.IndexCount(indexName, indexedValue)
	return collect(make([]any, 0, n), objs), nil
}

// IndexKeys returns the keys, sorted, of the objects that the index has under
// the value.
func (t *table) IndexKeys(indexName, indexedValue string) ([]string, error) {
	snap := t.store.Snapshot()
	seq, err := snap.IndexKeys(indexName, indexedValue)
	if err != nil {
		return nil, noIndex(indexName)
	}
	n, _ := snap.IndexCount(indexName, indexedValue)
	keys := make([]string, 0, n)
	var strs keyStrings
	for key := range seq {
		keys = append(keys, strs.of(key))
	}
	slices.Sort(keys)
	return keys, nil
}

// ListIndexFuncValues returns the values that have at least one object, in no
// particular order; none if there is no such index.
func (t *table) ListIndexFuncValues(indexName string) []string {
	values := []string{}
	seq, err := t.store.Snapshot().IndexValues(indexName)
	if err != nil {
		return values
	}
	return slices.AppendSeq(values, seq)
}

// removeIndexer removes an index.
func (t *table) removeIndexer(name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.indexes.RemoveIndex(name); err != nil {
		return err
	}
	t.indexers = maps.Clone(t.indexers)
	delete(t.indexers, name)
	return nil
}
