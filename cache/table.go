package cache

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/store"
)

// table is the common part of an Indexer and a ThreadSafeStore: a store with string
// keys and slices as results. The keys that it is given are the store's. Each read
// sees one version of the store; reads take no lock and no write waits for them.
type table struct {
	store *store.Store[any]
	// indexes adds indexes to store and removes them: store itself, or its informer.
	indexes indexed
	version GaugeMetric
	report  func(error) // for errors that no caller receives
	// scopes returns the scopes of an informer of several; nil for one of everything.
	scopes func() []string

	changing sync.Mutex // held while indexes are added or removed
	// indexers is replaced, under changing. What it points to does not change.
	indexers atomic.Pointer[Indexers]
}

// indexed adds and removes indexes.
type indexed interface {
	AddIndex(name string, fn store.IndexFunc[any]) error
	RemoveIndex(name string) error
}

// newTable returns a table with a store of its own, which has these indexes.
func newTable(indexers Indexers, version GaugeMetric) *table {
	s, err := store.New(store.Options[any]{
		RememberKeys: true,
		Indexers:     storeIndexers(indexers),
	})
	if err != nil {
		panic("BUG: cache: " + err.Error())
	}
	return tableOver(s, indexers, version, reportError)
}

// reportError handles errors that no caller receives.
func reportError(err error) {
	utilruntime.HandleErrorWithContext(context.Background(), err, "A store keeps an object for which a function failed")
}

// tableOver returns a table of a store that has the indexes.
func tableOver(s *store.Store[any], indexers Indexers, version GaugeMetric, report func(error)) *table {
	own := make(Indexers, len(indexers))
	maps.Copy(own, indexers)
	t := &table{store: s, indexes: s, version: version, report: report}
	t.indexers.Store(&own)
	return t
}

// refused returns err if it prevented a write. Errors of index functions are
// reported instead: client-go's methods do not return them.
func (t *table) refused(err error) error {
	for _, err := range store.Errors(err) {
		if _, made := err.(*store.IndexError); !made {
			return err
		}
		t.report(err)
	}
	return nil
}

// reportAll reports the errors of a write that returns nothing.
func (t *table) reportAll(err error) {
	for _, err := range store.Errors(err) {
		t.report(err)
	}
}

// put writes an object, and sets the table's version to the object's.
func (t *table) put(key store.Key, obj any) error {
	version := versionOf(obj)
	err := t.store.Write(store.Op[any]{Key: key, Object: obj, ResourceVersion: version})
	t.saw(version)
	return t.refused(err)
}

// remove deletes what is under key. obj may be the deleted object; its version then
// becomes the table's.
func (t *table) remove(key store.Key, obj any) error {
	version := versionOf(obj)
	err := t.store.Write(store.Op[any]{Key: key, Delete: true, ResourceVersion: version})
	t.saw(version)
	return err
}

// replace makes the table hold objs and nothing else. Readers see all of it or
// nothing.
func (t *table) replace(objs iter.Seq2[store.Key, any], version string) {
	err := t.store.ReplaceSeq(store.Batch[any]{ResourceVersion: version, Reason: store.Relist, Rewrite: true},
		func(yield func(store.Op[any]) bool) {
			for key, obj := range objs {
				if !yield(store.Op[any]{Key: key, Object: obj}) {
					return
				}
			}
		}, nil)
	if version == "" {
		t.store.SetResourceVersion("", "")
	}
	t.saw(version)
	t.reportAll(err)
}

// transact makes several writes. Readers see all of them or none.
func (t *table) transact(ops []store.Op[any]) {
	if len(ops) == 0 {
		return
	}
	version := ops[len(ops)-1].ResourceVersion
	_, err := t.store.Apply(store.Batch[any]{Ops: ops, AtOnce: true, ResourceVersion: version}, nil)
	t.saw(version)
	t.reportAll(err)
}

// operation converts one write of a transaction. ok is false if its type is unknown.
func operation(key store.Key, txn Transaction) (op store.Op[any], ok bool) {
	op = store.Op[any]{Key: key, Object: txn.Object, ResourceVersion: versionOf(txn.Object)}
	switch txn.Type {
	case TransactionTypeAdd, TransactionTypeUpdate:
	case TransactionTypeDelete:
		op.Delete, op.HasObject = true, true
	default:
		return op, false
	}
	return op, true
}

// versionOf returns an object's resource version; empty if it has none.
func versionOf(obj any) string {
	switch o := obj.(type) {
	case metav1.Object:
		return o.GetResourceVersion()
	case metav1.ObjectMetaAccessor:
		if m := o.GetObjectMeta(); m != nil {
			return m.GetResourceVersion()
		}
	}
	return ""
}

// saw reports the version in the metric, if there is one. It reports the last 15
// digits, which a float64 holds exactly.
func (t *table) saw(version string) {
	if t.version == nil || version == "" {
		return
	}
	if n, err := strconv.ParseInt(version[max(0, len(version)-15):], 10, 64); err == nil {
		t.version.Set(float64(n))
	}
}

// List returns all objects, ordered by key.
func (t *table) List() []any {
	return t.store.AppendAll([]any{})
}

// ListKeys returns all keys, ordered by namespace and name. A key that is kept keeps
// a kilobyte of them alive.
func (t *table) ListKeys() []string {
	keys := make([]string, 0, t.store.Len())
	var strs keyStrings
	for key := range t.store.Keys() {
		keys = append(keys, strs.of(key))
	}
	return keys
}

// Bookmark sets the version that LastStoreSyncResourceVersion returns.
func (t *table) Bookmark(rv string) {
	t.store.SetResourceVersion("", rv)
	t.saw(rv)
}

// LastStoreSyncResourceVersion returns the version of the latest write, list
// or bookmark that had one. For an informer of several scopes it is the oldest of the
// scopes' versions, and empty while one of them has none or if they have no order.
func (t *table) LastStoreSyncResourceVersion() string {
	if t.scopes == nil {
		return t.store.ResourceVersion("")
	}
	oldest := ""
	snap := t.store.Snapshot()
	for i, scope := range t.scopes() {
		version := snap.ResourceVersion(scope)
		if i == 0 {
			oldest = version
		}
		switch order, ok := resourceversion.Compare(version, oldest); {
		case !ok && (version == "" || version != oldest):
			return ""
		case order < 0:
			oldest = version
		}
	}
	return oldest
}

// Resync does nothing.
func (t *table) Resync() error { return nil }

// GetIndexers returns a copy of the index functions.
func (t *table) GetIndexers() Indexers { return maps.Clone(t.current()) }

// current returns the index functions, which must not be changed.
func (t *table) current() Indexers { return *t.indexers.Load() }

// AddIndexers adds indexes and fills them, or none of them if one of the names is in
// use or one of the functions is refused. Reads go on meanwhile.
func (t *table) AddIndexers(newIndexers Indexers) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	all := t.GetIndexers()
	inUse := sets.Set[string]{}
	for name, fn := range newIndexers {
		if _, ok := all[name]; ok {
			inUse.Insert(name)
		}
		all[name] = fn
	}
	if inUse.Len() > 0 {
		return &wordedError{fmt.Sprintf("indexer conflict: %v", inUse), store.ErrIndexExists}
	}
	var added []string
	for name, fn := range storeIndexers(newIndexers) {
		if err := t.refused(t.indexes.AddIndex(name, fn)); err != nil {
			for _, name := range added {
				_ = t.indexes.RemoveIndex(name) // it is there, see above
			}
			return fmt.Errorf("indexer conflict: %w", err)
		}
		added = append(added, name)
	}
	t.indexers.Store(&all)
	return nil
}

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
	objs, err := t.store.AppendIndex([]any{}, indexName, indexedValue)
	if err != nil {
		return nil, noIndex(indexName)
	}
	return objs, nil
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
	seq, err := t.store.IndexValues(indexName)
	if err != nil {
		return values
	}
	return slices.AppendSeq(values, seq)
}

// removeIndexer removes an index.
func (t *table) removeIndexer(name string) error {
	t.changing.Lock()
	defer t.changing.Unlock()
	if err := t.indexes.RemoveIndex(name); err != nil {
		return err
	}
	left := t.GetIndexers()
	delete(left, name)
	t.indexers.Store(&left)
	return nil
}
