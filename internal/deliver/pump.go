package deliver

import (
	"context"
	"time"
)

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
	if !r.runReplay(ctx) {
		return
	}
	var ticks <-chan time.Time
	if r.opts.Resync > 0 {
		ticker := time.NewTicker(r.opts.Resync)
		defer ticker.Stop()
		ticks = ticker.C
	}
	for {
		select {
		case <-ticks:
			if !r.runResync(ctx) {
				return
			}
		default:
		}
		switch {
		case r.takeOff() > 0:
			if !r.call(ctx) {
				return
			}
			continue
		case !r.park():
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-ticks:
			if !r.runResync(ctx) {
				return
			}
		}
	}
}

// drain delivers as much as is pending now; what keeps coming has to wait for
// the next time. It returns false if the handler's context has ended.
func (r *Registration[T]) drain(ctx context.Context) bool {
	r.mu.Lock()
	n := r.queue.len()
	r.mu.Unlock()
	for n > 0 {
		taken := r.takeOff()
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

// takeOff moves records from the queue to r.batch, and returns how many.
func (r *Registration[T]) takeOff() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.queue.len()
	if had == 0 {
		return 0
	}
	before := r.queue.through()
	r.batch = r.queue.take(r.batch[:0], r.opts.MaxBatch)
	taken := had - r.queue.len()
	r.flight = flight{records: taken, key: r.batch[0].Key, before: before, holds: true}
	return taken
}

// park gets ready to wait for wake, with no more memory than an idle handler
// should hold. It returns false if there is something to do.
func (r *Registration[T]) park() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queue.len() > 0 {
		return false
	}
	r.idle = true
	r.queue.trim()
	if cap(r.batch) > keepRecords {
		r.batch = nil
	}
	return true
}

// finish ends the registration together with its goroutine.
func (r *Registration[T]) finish() {
	r.mu.Lock()
	if !r.ended {
		r.endLocked()
	}
	r.batch, r.idle = nil, false
	cancel := r.cancel
	r.mu.Unlock()

	r.hub.forget(r)
	cancel(nil)
	close(r.done)
}
