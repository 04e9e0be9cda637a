package ctrlruntime

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/internal/objectmeta"
	"github.com/kinglet-go/kinglet/source"
)

// kindInformer is the informer of a kind that programs receive: its storage's informer,
// with the handlers and indexes of this kind, and with objects in its form. In this file,
// methods without a comment are those of client-go's interfaces.
type kindInformer struct {
	kingletcache.SharedIndexInformer
	kingletcache.Observable
	storage *storage
	// convert returns an object in the form of the kind, and false if the kind does not
	// have the object. It is nil if the object itself has that form.
	convert func(stored any) (any, bool)
	// hides is set if the informer may hold objects that the kind does not have.
	hides bool
	// prefix begins the names of the kind's indexes in the informer.
	prefix string

	mu sync.Mutex
	// What follows is guarded by mu.

	closed        bool
	registrations map[toolscache.ResourceEventHandlerRegistration]struct{}
	indexers      toolscache.Indexers
}

var (
	_ kingletcache.SharedIndexInformer = (*kindInformer)(nil)
	_ kingletcache.Observable          = (*kindInformer)(nil)
)

// newKindInformer returns the informer of a kind in form f.
func newKindInformer(h *storage, f form) *kindInformer {
	inf := &kindInformer{SharedIndexInformer: h.informer, Observable: h.informer, storage: h,
		registrations: make(map[toolscache.ResourceEventHandlerRegistration]struct{}), indexers: toolscache.Indexers{}}
	switch {
	case f == metadataOnly && h.form != metadataOnly:
		gvk := h.gvk
		inf.prefix = "metadata/"
		inf.convert = func(stored any) (any, bool) { return metadataOf(gvk, stored), true }
	case h.lean.hides():
		inf.convert, inf.hides = h.lean.shown, true
	}
	return inf
}

// metadataOf returns the metadata of an object, and shares its memory.
func metadataOf(gvk schema.GroupVersionKind, stored any) any {
	if m, is := stored.(*metav1.PartialObjectMetadata); is {
		return m
	}
	m := &metav1.PartialObjectMetadata{}
	if obj, err := meta.Accessor(stored); err == nil {
		m = meta.AsPartialObjectMetadata(obj)
		if source.IsPartial(m) {
			objectmeta.MarkWhole(m) // as metadata it is
		}
	}
	m.SetGroupVersionKind(gvk)
	return m
}

// partial reports whether of an object of a kind that hides others only metadata is held.
func (f *kindInformer) partial(stored any) bool {
	m, err := meta.Accessor(stored)
	return f.hides && err == nil && source.IsPartial(m)
}

// converted returns an object in the form of the kind.
func (f *kindInformer) converted(stored any) (any, bool) {
	if f.convert == nil {
		return stored, true
	}
	return f.convert(stored)
}

// close ends the handlers and removes the indexes.
func (f *kindInformer) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for r := range f.registrations {
		_ = f.SharedIndexInformer.RemoveEventHandler(r) // it is one of this informer
	}
	clear(f.registrations)
	for name := range f.indexers {
		_ = f.storage.informer.RemoveIndexer(f.prefix + name) // an informer that has ended needs none
	}
	clear(f.indexers)
}

// IsStopped implements SharedInformer. It is true once the kind has been removed, even
// if another kind keeps the informer running.
func (f *kindInformer) IsStopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed || f.SharedIndexInformer.IsStopped()
}

func (f *kindInformer) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{})
}

func (f *kindInformer) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{ResyncPeriod: &period})
}

func (f *kindInformer) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	if f.convert != nil && handler != nil {
		handler = &convertingHandler{handler, f.convert}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("informer of %s: a handler was added after RemoveInformer: %w", f.storage.gvk, kinglet.ErrStopped)
	}
	r, err := f.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
	if err != nil {
		return nil, err
	}
	f.registrations[r] = struct{}{}
	return r, nil
}

func (f *kindInformer) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	f.mu.Lock()
	delete(f.registrations, handle)
	f.mu.Unlock()
	return f.SharedIndexInformer.RemoveEventHandler(handle)
}

// AddIndexers implements SharedIndexInformer. Their functions receive objects in the
// form of the kind.
func (f *kindInformer) AddIndexers(indexers toolscache.Indexers) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fmt.Errorf("informer of %s: an index was added after RemoveInformer: %w", f.storage.gvk, kinglet.ErrStopped)
	}
	stored := make(toolscache.Indexers, len(indexers))
	for name, fn := range indexers {
		if _, twice := f.indexers[name]; twice || name == toolscache.NamespaceIndex {
			return fmt.Errorf("indexer conflict: map[%s:{}]", name)
		}
		stored[f.prefix+name] = f.indexed(fn)
	}
	if err := f.SharedIndexInformer.AddIndexers(stored); err != nil {
		return err
	}
	maps.Copy(f.indexers, indexers)
	return nil
}

// indexed returns fn as an index function of what the informer holds.
func (f *kindInformer) indexed(fn toolscache.IndexFunc) toolscache.IndexFunc {
	if f.convert == nil {
		return fn
	}
	return func(stored any) ([]string, error) {
		obj, ok := f.convert(stored)
		if !ok || f.partial(stored) {
			return nil, nil
		}
		return fn(obj)
	}
}

// indexName returns the informer's name for an index of the kind.
func (f *kindInformer) indexName(name string) string {
	if name == toolscache.NamespaceIndex {
		return name
	}
	return f.prefix + name
}

var errShown = errors.New("a Transform cannot be set while a metadata informer shows the objects of the kind: remove that informer first, or set a Transform in cache.Options")

// SetTransform implements SharedInformer. It fails for an informer that shows what
// another one holds, or only the whole objects of it, and for one that another shows.
func (f *kindInformer) SetTransform(transform toolscache.TransformFunc) error {
	if f.convert != nil {
		return errors.New("this informer shows what another holds: set a Transform in cache.Options")
	}
	if f.storage.shown() {
		return errShown
	}
	err := f.SharedIndexInformer.SetTransform(transform)
	if err == nil {
		f.storage.transformed.Store(true)
	}
	return err
}

func (f *kindInformer) GetStore() toolscache.Store { return f.GetIndexer() }

func (f *kindInformer) GetIndexer() toolscache.Indexer {
	if f.convert == nil {
		return f.SharedIndexInformer.GetIndexer()
	}
	return &convertingIndexer{f.SharedIndexInformer.GetIndexer(), f}
}

// convertingHandler calls a handler with objects in the form of a kind. An update that
// brings an object into the kind is an add, and one that takes it out is a delete.
type convertingHandler struct {
	handler toolscache.ResourceEventHandler
	convert func(any) (any, bool)
}

// Unwrap returns the handler that is called, for its name.
func (h *convertingHandler) Unwrap() toolscache.ResourceEventHandler { return h.handler }

func (h *convertingHandler) OnAdd(stored any, isInInitialList bool) {
	if obj, ok := h.convert(stored); ok {
		h.handler.OnAdd(obj, isInInitialList)
	}
}

func (h *convertingHandler) OnUpdate(storedOld, storedNew any) {
	before, was := h.convert(storedOld)
	now, is := before, was
	if storedOld != storedNew { // a resync has one object twice
		now, is = h.convert(storedNew)
	}
	switch {
	case was && is:
		h.handler.OnUpdate(before, now)
	case is:
		h.handler.OnAdd(now, false)
	case was:
		h.handler.OnDelete(before)
	}
}

// OnDelete implements ResourceEventHandler. An informer calls OnDeleteAfter.
func (h *convertingHandler) OnDelete(stored any) {
	last := stored
	if tombstone, lost := stored.(toolscache.DeletedFinalStateUnknown); lost {
		last = tombstone.Obj
	}
	h.OnDeleteAfter(last, stored)
}

// OnDeleteAfter is OnDelete with what the handler received last: whether it knows the object
// does not depend on the final state, which it has not received.
func (h *convertingHandler) OnDeleteAfter(last, stored any) {
	obj, was := h.convert(last)
	if !was {
		return
	}
	tombstone, lost := stored.(toolscache.DeletedFinalStateUnknown)
	if lost {
		h.handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: tombstone.Key, Obj: obj})
		return
	}
	if final, is := h.convert(stored); is {
		obj = final
	}
	h.handler.OnDelete(obj)
}

// convertingIndexer is an informer's store with objects in the form of a kind. It is
// read-only.
type convertingIndexer struct {
	toolscache.Indexer
	kindInformer *kindInformer
}

var errConverted = errors.New("this store shows what another informer holds, and cannot be written to")

// Add implements Store: it fails, as all writes do.
func (*convertingIndexer) Add(any) error               { return errConverted }
func (*convertingIndexer) Update(any) error            { return errConverted }
func (*convertingIndexer) Delete(any) error            { return errConverted }
func (*convertingIndexer) Replace([]any, string) error { return errConverted }

// Bookmark implements Store. It does nothing.
func (*convertingIndexer) Bookmark(string) {}

func (i *convertingIndexer) List() []any { return i.all(i.Indexer.List()) }

// all returns the objects of held that the kind has, in its form.
func (i *convertingIndexer) all(stored []any) []any {
	objs := make([]any, 0, len(stored))
	for _, one := range stored {
		if obj, ok := i.kindInformer.convert(one); ok {
			objs = append(objs, obj)
		}
	}
	return objs
}

func (i *convertingIndexer) ListKeys() []string { return i.keys(i.Indexer.ListKeys()) }

// keys returns the keys in held whose objects the kind has.
func (i *convertingIndexer) keys(stored []string) []string {
	keys := make([]string, 0, len(stored))
	for _, key := range stored {
		if _, ok, err := i.GetByKey(key); ok && err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}

func (i *convertingIndexer) Get(obj any) (any, bool, error) { return i.one(i.Indexer.Get(obj)) }

func (i *convertingIndexer) GetByKey(key string) (any, bool, error) {
	return i.one(i.Indexer.GetByKey(key))
}

func (i *convertingIndexer) one(stored any, exists bool, err error) (any, bool, error) {
	if !exists || err != nil {
		return nil, false, err
	}
	obj, ok := i.kindInformer.convert(stored)
	if !ok {
		return nil, false, nil
	}
	return obj, true, nil
}

func (i *convertingIndexer) Index(name string, obj any) ([]any, error) {
	stored, err := i.Indexer.Index(i.kindInformer.indexName(name), obj)
	return i.all(stored), err
}

func (i *convertingIndexer) IndexKeys(name, value string) ([]string, error) {
	stored, err := i.Indexer.IndexKeys(i.kindInformer.indexName(name), value)
	return i.keys(stored), err
}

func (i *convertingIndexer) ByIndex(name, value string) ([]any, error) {
	stored, err := i.Indexer.ByIndex(i.kindInformer.indexName(name), value)
	return i.all(stored), err
}

// ListIndexFuncValues implements Indexer. The namespace index may have values of
// objects that the kind does not have.
func (i *convertingIndexer) ListIndexFuncValues(name string) []string {
	return i.Indexer.ListIndexFuncValues(i.kindInformer.indexName(name))
}

func (i *convertingIndexer) GetIndexers() toolscache.Indexers {
	i.kindInformer.mu.Lock()
	defer i.kindInformer.mu.Unlock()
	all := maps.Clone(i.kindInformer.indexers)
	all[toolscache.NamespaceIndex] = toolscache.MetaNamespaceIndexFunc
	return all
}

func (i *convertingIndexer) AddIndexers(indexers toolscache.Indexers) error {
	return i.kindInformer.AddIndexers(indexers)
}
