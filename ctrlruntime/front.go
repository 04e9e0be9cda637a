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
)

// front is the informer of a kind that programs receive: its holding's informer, with
// the handlers and indexes of this kind, and with objects in its form.
type front struct {
	kingletcache.SharedIndexInformer
	kingletcache.Observable
	holding *holding
	// show returns an object in the form of the kind, and false if the kind does not
	// have the object. It is nil if the object itself has that form.
	show func(held any) (any, bool)
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
	_ kingletcache.SharedIndexInformer = (*front)(nil)
	_ kingletcache.Observable          = (*front)(nil)
)

// newFront returns the front of a kind in form f.
func newFront(h *holding, f form) *front {
	fr := &front{SharedIndexInformer: h.informer, Observable: h.informer, holding: h,
		registrations: make(map[toolscache.ResourceEventHandlerRegistration]struct{}), indexers: toolscache.Indexers{}}
	switch {
	case f == metadataOnly && h.form != metadataOnly:
		gvk := h.gvk
		fr.prefix = "metadata/"
		fr.show = func(held any) (any, bool) { return metadataOf(gvk, held), true }
	case h.full != nil:
		fr.show, fr.hides = whole, true
	}
	return fr
}

// metadataOf returns the metadata of an object, and shares its memory.
func metadataOf(gvk schema.GroupVersionKind, held any) any {
	if m, is := held.(*metav1.PartialObjectMetadata); is {
		return m
	}
	m := &metav1.PartialObjectMetadata{}
	if obj, err := meta.Accessor(held); err == nil {
		m = meta.AsPartialObjectMetadata(obj)
	}
	m.SetGroupVersionKind(gvk)
	return m
}

// whole is the show function of a front that hides the objects held as metadata.
func whole(held any) (any, bool) {
	_, partial := held.(*metav1.PartialObjectMetadata)
	return held, !partial
}

// shown returns an object in the form of the kind.
func (f *front) shown(held any) (any, bool) {
	if f.show == nil {
		return held, true
	}
	return f.show(held)
}

// close ends the handlers and removes the indexes.
func (f *front) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for r := range f.registrations {
		_ = f.SharedIndexInformer.RemoveEventHandler(r) // it is one of this informer
	}
	clear(f.registrations)
	for name := range f.indexers {
		_ = f.holding.informer.RemoveIndexer(f.prefix + name) // an informer that has ended needs none
	}
	clear(f.indexers)
}

// IsStopped implements SharedInformer. It is true once the kind has been removed, even
// if another kind keeps the informer running.
func (f *front) IsStopped() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closed || f.SharedIndexInformer.IsStopped()
}

// AddEventHandler implements SharedInformer.
func (f *front) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod implements SharedInformer.
func (f *front) AddEventHandlerWithResyncPeriod(handler toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return f.AddEventHandlerWithOptions(handler, toolscache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions implements SharedInformer.
func (f *front) AddEventHandlerWithOptions(handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	if f.show != nil && handler != nil {
		handler = &shownHandler{handler, f.show}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, fmt.Errorf("informer of %s: a handler was added after RemoveInformer: %w", f.holding.gvk, kinglet.ErrStopped)
	}
	r, err := f.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)
	if err != nil {
		return nil, err
	}
	f.registrations[r] = struct{}{}
	return r, nil
}

// RemoveEventHandler implements SharedInformer.
func (f *front) RemoveEventHandler(handle toolscache.ResourceEventHandlerRegistration) error {
	f.mu.Lock()
	delete(f.registrations, handle)
	f.mu.Unlock()
	return f.SharedIndexInformer.RemoveEventHandler(handle)
}

// AddIndexers implements SharedIndexInformer. Their functions receive objects in the
// form of the kind.
func (f *front) AddIndexers(indexers toolscache.Indexers) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fmt.Errorf("informer of %s: an index was added after RemoveInformer: %w", f.holding.gvk, kinglet.ErrStopped)
	}
	held := make(toolscache.Indexers, len(indexers))
	for name, fn := range indexers {
		if _, twice := f.indexers[name]; twice || name == toolscache.NamespaceIndex {
			return fmt.Errorf("indexer conflict: map[%s:{}]", name)
		}
		held[f.prefix+name] = f.indexed(fn)
	}
	if err := f.SharedIndexInformer.AddIndexers(held); err != nil {
		return err
	}
	for name, fn := range indexers {
		f.indexers[name] = fn
	}
	return nil
}

// indexed returns fn as an index function of what the informer holds.
func (f *front) indexed(fn toolscache.IndexFunc) toolscache.IndexFunc {
	if f.show == nil {
		return fn
	}
	return func(held any) ([]string, error) {
		obj, ok := f.show(held)
		if !ok {
			return nil, nil
		}
		return fn(obj)
	}
}

// indexName returns the informer's name for an index of the kind.
func (f *front) indexName(name string) string {
	if name == toolscache.NamespaceIndex {
		return name
	}
	return f.prefix + name
}

// SetTransform implements SharedInformer. It fails for an informer that shows what
// another one holds, or only the whole objects of it.
func (f *front) SetTransform(transform toolscache.TransformFunc) error {
	if f.show != nil {
		return errors.New("this informer shows what another holds: set a Transform in cache.Options")
	}
	err := f.SharedIndexInformer.SetTransform(transform)
	if err == nil {
		f.holding.transformed.Store(true)
	}
	return err
}

// GetStore implements SharedInformer.
func (f *front) GetStore() toolscache.Store { return f.GetIndexer() }

// GetIndexer implements SharedIndexInformer.
func (f *front) GetIndexer() toolscache.Indexer {
	if f.show == nil {
		return f.SharedIndexInformer.GetIndexer()
	}
	return &shownIndexer{f.SharedIndexInformer.GetIndexer(), f}
}

// shownHandler calls a handler with objects in the form of a kind. An update that
// brings an object into the kind is an add, and one that takes it out is a delete.
type shownHandler struct {
	handler toolscache.ResourceEventHandler
	show    func(any) (any, bool)
}

// Unwrap returns the handler that is called, for its name.
func (h *shownHandler) Unwrap() toolscache.ResourceEventHandler { return h.handler }

// OnAdd implements ResourceEventHandler.
func (h *shownHandler) OnAdd(held any, isInInitialList bool) {
	if obj, ok := h.show(held); ok {
		h.handler.OnAdd(obj, isInInitialList)
	}
}

// OnUpdate implements ResourceEventHandler.
func (h *shownHandler) OnUpdate(heldOld, heldNew any) {
	before, was := h.show(heldOld)
	now, is := before, was
	if heldOld != heldNew { // a resync has one object twice
		now, is = h.show(heldNew)
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

// OnDelete implements ResourceEventHandler.
func (h *shownHandler) OnDelete(held any) {
	tombstone, lost := held.(toolscache.DeletedFinalStateUnknown)
	if lost {
		held = tombstone.Obj
	}
	obj, ok := h.show(held)
	switch {
	case ok && lost:
		h.handler.OnDelete(toolscache.DeletedFinalStateUnknown{Key: tombstone.Key, Obj: obj})
	case ok:
		h.handler.OnDelete(obj)
	}
}

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
