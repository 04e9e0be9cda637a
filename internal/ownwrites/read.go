package ownwrites

import (
	"github.com/kinglet-go/kinglet/internal/overlay"
	"github.com/kinglet-go/kinglet/store"
)

// Any reports whether reads have to merge writes with the store.
func (w *Writes[T]) Any() bool { return w.over.Load() != nil }

// Get returns the object under key. It does not allocate.
func (w *Writes[T]) Get(key store.Key) (T, bool) {
	over := w.over.Load()
	scope, has := over.Scope(key)
	if !has {
		return w.opts.Store.Get(key)
	}
	// The store is read after the version, so its state is as new or newer.
	at := w.opts.Store.ResourceVersion(scope)
	held, ok := w.opts.Store.Get(key)
	return over.Resolve(&w.opts.Rules, key, at, held, ok)
}

// Snapshot returns the store's latest snapshot, and its view merged with the writes,
// nil if there is nothing to merge. It reads the writes before the snapshot, since an
// entry is removed once the store shows its write.
func (w *Writes[T]) Snapshot() (base *store.Snapshot[T], merged *overlay.View[T]) {
	over := w.over.Load()
	if over == nil {
		return w.opts.Store.Snapshot(), nil
	}
	generation := w.generation.Load()
	base = w.opts.Store.Snapshot()
	return base, overlay.NewView(base, over, &w.opts.Rules, generation)
}

// IndexesChanged records that an index was added to the store or removed from it.
func (w *Writes[T]) IndexesChanged() { w.generation.Add(1) }
