package deliver

import (
	"context"
	"time"
)

// Start starts one goroutine for each handler, now and whenever one is added,
// until ctx ends. The handlers' contexts are made from ctx. Start does not block; its
// caller must call Wait. An informer saves a goroutine in this way, since its own has
// other work. It is called once.
func (h *Hub[T]) Start(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx = ctx
	for _, r := range h.regs {
		r.start(ctx)
	}
}

// Wait blocks until Start's context has ended, and then until every goroutine
// that the hub started has ended, with the handler on it. Changes that are still queued
// then are not delivered. A handler that does not return within Options.Grace is
// reported as *StuckHandlerError, again after twice that time, and so on. Wait keeps
// waiting, since a goroutine cannot be ended from outside and must not be left behind
// unseen.
func (h *Hub[T]) Wait() {
	h.mu.Lock()
	ctx := h.ctx
	h.mu.Unlock()
	<-ctx.Done()
	// Add fails from here on, so that the list can only become shorter.
	left := h.Handlers()
	waited := h.opts.Grace
	late := time.After(waited)
	for len(left) > 0 {
		select {
		case <-left[0].done:
			left = left[1:]
		case <-late:
			for _, r := range left {
				if err := r.stuck(waited); err != nil {
					h.opts.Report(err)
				}
			}
			late = time.After(waited)
			waited *= 2
		}
	}
}
