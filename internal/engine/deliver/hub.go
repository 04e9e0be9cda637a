package deliver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinglet-go/kinglet/internal/diagnostics/uniquename"
	"github.com/kinglet-go/kinglet/store"
)

// pushChunk is how many changes are queued under one hold of a registration's
// lock, so that its handler can begin on a large batch while the rest is
// still being queued.
const pushChunk = 1024

// DefaultGrace is Options.Grace if that is 0.
const DefaultGrace = 10 * time.Second

// Options of a Hub. KeyFunc, Snapshot and Report are required.
type Options[T any] struct {
	// KeyFunc is the store's.
	KeyFunc store.KeyFunc[T]

	// Snapshot returns the store's present state, immutable. It is called
	// under the hub's lock: it must be O(1) and must not call into the hub.
	Snapshot func() store.Reader[T]

	// Begin returns the state that a handler begins with, and the keys of which the
	// earlier handlers know something else: store.Begin. It is called under the hub's lock.
	// If it is nil, nobody writes around the hub.
	Begin func() (state store.Reader[T], byHand map[store.Key]bool)

	// Report is called with each *HandlerPanicError, *HandlerExitError,
	// *OverflowError, *StuckHandlerError and *store.KeyError, from the goroutine
	// that met the error, never under a lock, possibly from several at once.
	Report func(error)

	// Grace is how long after the end of the context Wait reports a handler
	// that has not returned; DefaultGrace if 0.
	Grace time.Duration
}

// Hub gives the changes of one store to any number of handlers. Make one with
// NewHub.
type Hub[T any] struct {
	opts Options[T]
	// origin is the zero of now: a nanosecond before the hub was made.
	origin time.Time
	// shown is what Statuses reads: a copy of regs, so that it waits for no Commit.
	shown atomic.Pointer[[]*Registration[T]]

	// mu keeps the store and the queues consistent:
	//
	// Invariant: for every registration that has begun its replay, and every key,
	// the changes that the handler has received (once the call under way returns),
	// followed by those in its queue (and the rest of its replay), lead to the
	// store's present state.
	mu sync.Mutex

	// The fields below are guarded by mu.

	// regs are the handlers that have not ended.
	regs  []*Registration[T]
	names uniquename.Names // of regs
	// synced: the first list has been published.
	synced bool
	// version is the collection's after the last Commit.
	version string
	// ctx is Start's; nil before.
	ctx context.Context
}

// NewHub returns a hub without handlers. It starts nothing.
func NewHub[T any](opts Options[T]) *Hub[T] {
	opts.Grace = cmp.Or(opts.Grace, DefaultGrace)
	return &Hub[T]{opts: opts, origin: time.Now().Add(-1)}
}

// Commit calls apply, which writes the store and returns what changed and the
// version that the collection is at now (empty: as before), and queues the
// changes for every handler, as one step: no View, replay or resync happens in
// between. A bookmark is a Commit without changes.
//
// The changes are not kept. They must be a legal history for what the store held,
// as store.Apply and store.Replace return it. Before Synced they are not queued,
// since every handler is still to receive the whole state.
//
// Commit never waits for a handler. It costs O(changes × handlers) beside
// apply, and allocates only where a queue has to grow.
func (h *Hub[T]) Commit(apply func() (changes []store.Change[T], version string)) {
	for _, err := range h.commit(apply) {
		h.opts.Report(err)
	}
}

// commit returns the errors to report once the lock is released.
func (h *Hub[T]) commit(apply func() ([]store.Change[T], string)) (overflows []error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	changes, version := apply()
	before := h.version
	if version != "" {
		h.version = version
	}
	if !h.synced {
		return nil
	}
	orphans := false
	clock := stamper{origin: h.origin}
	for _, r := range h.regs {
		err := r.push(changes, before, h.version, &clock)
		if err == nil {
			continue
		}
		overflows = append(overflows, err)
		orphans = r.end(err) || orphans
	}
	if orphans {
		h.regs = slices.DeleteFunc(h.regs, func(r *Registration[T]) bool {
			if r.orphan() {
				h.names.Free(r.opts.Name)
				return true
			}
			return false
		})
		h.showLocked()
	}
	return overflows
}

// View calls read while no Commit is under way, so that read sees one moment of
// everything that Commits write. It waits for at most one Commit. read must not call
// into the hub.
func (h *Hub[T]) View(read func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	read()
}

// Synced is called when the first list has been committed: every handler begins with
// the state that the store has now, and receives later commits after it. Calls after
// the first do nothing.
func (h *Hub[T]) Synced() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.synced {
		return
	}
	h.synced = true
	for _, r := range h.regs {
		r.beginReplay(h.version)
	}
}

// Add registers a handler, at any time. It receives the present state first, as Added
// with Reason Initial, once the hub is synced and started, and then every change.
//
// Add is O(1) and waits for at most one Commit. It fails with everything that is wrong
// with opts, or with ErrStopped once the hub's context has ended.
func (h *Hub[T]) Add(handler Handler[T], opts HandlerOptions) (*Registration[T], error) {
	err := opts.validate()
	if handler == nil {
		err = errors.Join(errors.New("handler is nil"), err)
	}
	if err != nil {
		return nil, fmt.Errorf("deliver: handler %q: %w", opts.Name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ctx != nil && h.ctx.Err() != nil {
		return nil, fmt.Errorf("deliver: handler %q: %w", opts.Name, ErrStopped)
	}
	opts = opts.withDefaults()
	opts.Name = h.names.Of(opts.Name)
	r := newRegistration(h, handler, opts)
	h.regs = append(h.regs, r)
	h.showLocked()
	if h.synced {
		r.beginReplay(h.version)
	}
	if h.ctx != nil {
		r.start(h.ctx)
	}
	return r, nil
}

// Handlers returns the handlers that may still be called or are being called,
// in the order in which they were added.
func (h *Hub[T]) Handlers() []*Registration[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.regs)
}

// forget removes a handler that has ended from the list.
func (h *Hub[T]) forget(r *Registration[T]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.Index(h.regs, r); i >= 0 {
		h.regs = slices.Delete(h.regs, i, i+1)
		h.names.Free(r.opts.Name)
		h.showLocked()
	}
}
