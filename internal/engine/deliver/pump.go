package deliver

import (
	"context"
	"time"

	"github.com/kinglet-go/kinglet/internal/proflabel"
)

// keepMemoryFor is how long an idle handler keeps the memory of a burst. It is a
// second because bursts come in series: a handler that receives 256 changes every few
// milliseconds would otherwise allocate 60 KiB each time.
const keepMemoryFor = time.Second

// start gives the handler its goroutine. It is called under Hub.mu.
func (r *Registration[T]) start(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	ctx, r.cancel = context.WithCancelCause(ctx)
	go r.run(ctx)
}

// run is the handler's goroutine.
func (r *Registration[T]) run(ctx context.Context) {
	defer r.finish()
	ctx = proflabel.Handler(ctx, r.opts.Name)
	if !r.runReplay(ctx) {
		return
	}
	var period time.Duration
	var ticks <-chan time.Time
	for {
		if now := time.Duration(r.period.Load()); now != period {
			period, ticks = now, time.Tick(now) // nil for 0
		}
		due := false
		select {
		case <-ticks:
			due = true
		default:
			// A busy handler must not miss its resyncs.
		}
		switch {
		case due:
		case r.dequeue() > 0:
			if !r.call(ctx) {
				return
			}
			continue
		default:
			due = r.wait(ctx, ticks)
		}
		if ctx.Err() != nil || due && !r.runResync(ctx) {
			return
		}
	}
}

// wait blocks until there is something to do, or the context has ended. It
// returns true if a resync is due.
func (r *Registration[T]) wait(ctx context.Context, ticks <-chan time.Time) (due bool) {
	r.last = 0
	parked, large := r.park()
	if !parked {
		return false
	}
	var unused <-chan time.Time
	if large {
		if r.keep == nil {
			r.keep = time.NewTimer(keepMemoryFor)
		} else {
			r.keep.Reset(keepMemoryFor)
		}
		defer r.keep.Stop()
		unused = r.keep.C
	}
	select {
	case <-ctx.Done():
	case <-r.wake:
	case <-ticks:
		return true
	case <-unused:
		r.releaseMemory()
	}
	return false
}

// drain delivers the changes that are pending now; later ones wait for the next
// drain. It returns false if the handler's context has ended.
func (r *Registration[T]) drain(ctx context.Context) bool {
	r.mu.Lock()
	n := r.queue.len()
	r.mu.Unlock()
	r.last = 0
	for n > 0 {
		taken := r.dequeue()
		if taken == 0 {
			break
		}
		if !r.call(ctx) {
			return false
		}
		n -= taken
	}
	return ctx.Err() == nil
}

// dequeue moves records from the queue to r.batch, and returns how many.
func (r *Registration[T]) dequeue() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.queue.len()
	if had == 0 {
		return 0
	}
	before := r.queue.through()
	r.batch = r.queue.take(r.batch[:0], r.opts.MaxBatch)
	taken := had - r.queue.len()
	if r.last == 0 {
		r.last = r.hub.now()
	}
	r.flight = flight{records: taken, key: r.batch[0].Key, before: before, holds: true, since: r.last}
	return taken
}

// park prepares to wait for wake. It returns false if there is something to do.
// large is set if more memory is held than an idle handler should hold.
func (r *Registration[T]) park() (parked, large bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queue.len() > 0 {
		return false, false
	}
	r.idle = true
	return true, r.queue.large() || cap(r.batch) > keepRecords
}

// releaseMemory frees the memory of a burst, unless the next has begun.
func (r *Registration[T]) releaseMemory() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queue.len() > 0 {
		return
	}
	r.queue.release()
	r.batch, r.keep = nil, nil
}

// finish ends the registration together with its goroutine.
func (r *Registration[T]) finish() {
	r.mu.Lock()
	if !r.ended {
		r.endLocked()
	}
	r.batch, r.idle, r.flight.records, r.flight.since = nil, false, 0, 0
	cancel := r.cancel
	r.mu.Unlock()

	r.hub.forget(r)
	cancel(nil)
	close(r.done)
}
