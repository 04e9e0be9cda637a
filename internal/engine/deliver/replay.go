package deliver

import (
	"context"
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// replay is the state with which a handler begins: a snapshot, taken in one
// step with the decision to queue everything that is committed after it.
//
// Why the history is legal: No change leaves the queue while the replay runs. So every
// pending change happened after the snapshot, and the handler has received none of
// them. For an object of the snapshot, the first pending change can only be an
// Updated or a Deleted. When the replay reaches the object:
//
//	pending          the handler receives
//	nothing          Added, as in the snapshot
//	Updated          Added, newest
//	Deleted,Added    Added, newest
//	Deleted          nothing: it never received the object
//
// and the record is removed. With EveryVersion, the handler receives Added as in the
// snapshot, and the records stay. Later pending changes of an object build on the
// state that the handler has received. An object that the snapshot does not have
// begins with an Added, in the queue. So at the end of the replay the queue holds
// exactly the changes since the states that the handler has received.
type replay[T any] struct {
	// snapshot is nil until the replay begins, and again once the goroutine has it.
	snapshot store.Reader[T]
	// version is the snapshot's.
	version string
	// left is how many of its objects have not been delivered, and since is when they
	// began to wait.
	left  int
	since time.Duration
	// handled: the handler has returned from the last object.
	handled bool
}

// begin returns the state that a handler begins with, and its exceptions.
func (h *Hub[T]) begin() (store.Reader[T], exceptions) {
	if h.opts.Begin == nil {
		return h.opts.Snapshot(), nil
	}
	return h.opts.Begin()
}

// beginReplay is called under Hub.mu.
func (r *Registration[T]) beginReplay(version string) {
	snapshot, byHand := r.hub.begin()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.replay = replay[T]{snapshot: snapshot, version: version, left: snapshot.Len(), since: r.hub.now()}
	r.queue.version = version
	r.exceptions = byHand
	r.wakeLocked()
}

// runReplay waits until the replay begins and delivers it. It returns false
// if the handler's context ended before that was done.
func (r *Registration[T]) runReplay(ctx context.Context) bool {
	snapshot, version := r.awaitReplay(ctx)
	if snapshot == nil {
		return false
	}
	for obj := range snapshot.All() {
		key, err := r.hub.opts.KeyFunc(obj)
		if err != nil {
			r.hub.opts.Report(fmt.Errorf("handler %q, initial state: %w", r.opts.Name,
				&store.KeyError{Object: fmt.Sprintf("%T", obj), Err: err}))
			r.mu.Lock()
			r.replay.left = max(0, r.replay.left-1)
			r.mu.Unlock()
			continue
		}
		r.batch = append(r.batch, store.Change[T]{
			Type: store.Added, Key: key, New: obj, ResourceVersion: version, Reason: store.Initial,
		})
		if len(r.batch) >= r.opts.MaxBatch && !r.callReplay(ctx) {
			return false
		}
	}
	if !r.callReplay(ctx) {
		return false
	}
	r.mu.Lock()
	r.replay.handled = true
	r.mu.Unlock()
	close(r.synced)
	return true
}

// awaitReplay returns nil if the handler's context ends first.
func (r *Registration[T]) awaitReplay(ctx context.Context) (store.Reader[T], string) {
	for ctx.Err() == nil {
		r.mu.Lock()
		snapshot, version := r.replay.snapshot, r.replay.version
		r.replay.snapshot = nil
		r.idle = snapshot == nil
		r.mu.Unlock()
		if snapshot != nil {
			return snapshot, version
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
		}
	}
	return nil, ""
}

// callReplay folds pending changes into the objects in r.batch, and delivers them.
func (r *Registration[T]) callReplay(ctx context.Context) bool {
	r.mu.Lock()
	r.replay.left = max(0, r.replay.left-len(r.batch))
	kept := r.batch[:0]
	for _, c := range r.batch {
		if c, ok := r.queue.foldInto(c); ok {
			kept = append(kept, c)
		}
	}
	clear(r.batch[len(kept):])
	r.batch = kept
	if len(kept) > 0 {
		r.flight = flight{records: len(kept), key: kept[0].Key, since: r.hub.now()}
	}
	r.mu.Unlock()
	return r.call(ctx) && ctx.Err() == nil
}

// exceptions are keys of which a handler knows something else than the other handlers
// do, since a write that went around the hub put or removed their objects before the
// handler began: whether it has received the object.
type exceptions map[store.Key]bool

// asReceived returns the change that a handler receives for c; nil if it is the delete
// of an object that the handler has not received.
func asReceived[T any](e exceptions, c *store.Change[T]) *store.Change[T] {
	others := c.Type != store.Added && !c.ByHand
	received, is := e[c.Key]
	if is {
		delete(e, c.Key)
	} else {
		received = others
	}
	own := *c
	own.ByHand = false
	switch {
	case !received && c.Type == store.Deleted:
		return nil
	case !received && c.Type == store.Updated:
		var none T
		own.Type, own.Old = store.Added, none
	case !c.ByHand:
		return c
	}
	return &own
}
