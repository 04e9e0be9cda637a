package deliver

import (
	"context"
	"slices"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// resyncChunk is how many objects a resync examines in one step. A Commit may have to
// wait for 128 lookups in the queue.
const resyncChunk = 128

// SetResync implements kinglet.Registration.
func (r *Registration[T]) SetResync(period time.Duration) {
	r.period.Store(int64(max(period, 0)))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.signalLocked()
}

// runResync delivers every object again. It returns false if the handler's context
// has ended.
//
// The pass follows the keys of a snapshot taken at its start, but not the states,
// which may be outdated when the pass reaches them. For each chunk, in one step under
// Hub.mu, it takes a fresh snapshot and determines which keys have nothing pending. It
// delivers the objects that the snapshot has under those keys.
//
// Why the history is legal: By the invariant of Hub.mu, the changes that the handler
// has received, then those that are pending, lead to the state of the store. No call
// is under way, since this is the handler's own goroutine. So for a key with nothing
// pending, the handler has last received exactly what the snapshot has. If that is an
// object, receiving it again takes nothing backwards. If there is none, the handler has
// received its delete, or never received it, and the key is skipped. Later commits are
// queued, and the queue is not touched until the chunk has been handled; so they come
// after, and their Old is what the handler has received. The queue is drained before
// each chunk, so that neither a long pass nor passes without a pause delay changes.
func (r *Registration[T]) runResync(ctx context.Context) bool {
	keys := make([]store.Key, 0, resyncChunk)
	for key := range r.hub.snapshot().Keys() {
		keys = append(keys, key)
		if len(keys) < resyncChunk {
			continue
		}
		if !r.drain(ctx) || !r.resync(ctx, keys) {
			return false
		}
		keys = keys[:0]
	}
	return r.drain(ctx) && r.resync(ctx, keys)
}

// resync delivers the objects under keys, which it overwrites.
func (r *Registration[T]) resync(ctx context.Context, keys []store.Key) bool {
	snapshot, version, keys := r.withoutPending(keys)
	r.batch = slices.Grow(r.batch[:0], len(keys))
	for _, key := range keys {
		if obj, ok := snapshot.Get(key); ok {
			r.batch = append(r.batch, store.Change[T]{
				Type: store.Updated, Key: key, Old: obj, New: obj,
				ResourceVersion: version, Reason: store.Resync,
			})
		}
	}
	if len(r.batch) > 0 {
		r.mu.Lock()
		r.flight = flight{records: len(r.batch), key: r.batch[0].Key, since: r.hub.now()}
		r.mu.Unlock()
	}
	return r.call(ctx) && ctx.Err() == nil
}

// withoutPending returns the present state and its version, and those of keys for
// which nothing is pending.
func (r *Registration[T]) withoutPending(keys []store.Key) (store.Reader[T], string, []store.Key) {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hub.opts.Snapshot(), r.hub.version, slices.DeleteFunc(keys, r.queue.has)
}

// snapshot returns the store's present state.
func (h *Hub[T]) snapshot() store.Reader[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opts.Snapshot()
}
