package deliver

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// call hands r.batch to the handler, at most MaxBatch changes at a time, and
// forgets it. It returns false if the handler's context has ended.
func (r *Registration[T]) call(ctx context.Context) bool {
	var delivered ReasonCounts
	alive, called := true, false
	for rest := r.batch; len(rest) > 0; {
		if called {
			r.nextCall(&delivered, rest[0].Key)
		}
		// Remove and the end of the hub end the context before anything else.
		if alive = ctx.Err() == nil; !alive {
			called = false
			break
		}
		n := min(len(rest), r.opts.MaxBatch)
		called = true
		for i := range n {
			if reason := int(rest[i].Reason); reason < len(delivered) {
				delivered[reason]++
			}
		}
		r.invoke(ctx, rest[:n:n])
		rest = rest[n:]
	}
	clear(r.batch)
	r.batch = r.batch[:0]
	if called {
		r.last = r.hub.now()
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	if called {
		r.returnedLocked(&delivered, r.last)
	}
	if !alive {
		// Changes that are not delivered keep DeliveredThrough where it is.
		r.flight.records, r.flight.since = 0, 0
		return false
	}
	r.flight = flight{}
	return true
}

// nextCall ends one call and begins the next one for the same r.batch. key is that of
// the next call's first change.
func (r *Registration[T]) nextCall(delivered *ReasonCounts, key store.Key) {
	now := r.hub.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.returnedLocked(delivered, now)
	r.flight.key, r.flight.since = key, now
}

// returnedLocked counts the call that has just returned and the changes it delivered.
func (r *Registration[T]) returnedLocked(delivered *ReasonCounts, now time.Duration) {
	r.counts.calls.Add(now - r.flight.since)
	for reason, n := range delivered {
		r.counts.changes[reason] += n
	}
	*delivered = ReasonCounts{}
}

// invoke calls the handler once.
func (r *Registration[T]) invoke(ctx context.Context, changes []store.Change[T]) {
	returned := false
	defer func() {
		if !returned {
			r.contain(changes, recover())
		}
	}()
	r.handler(ctx, changes)
	returned = true
}

// contain handles a handler that panicked with value, or ended its goroutine, in
// which case value is nil: since Go 1.21 no panic has a nil value.
func (r *Registration[T]) contain(changes []store.Change[T], value any) {
	if value == nil {
		err := &HandlerExitError{Handler: r.opts.Name, Key: changes[0].Key}
		r.end(err)
		r.hub.opts.Report(err)
		return
	}
	err := &HandlerPanicError{Handler: r.opts.Name, Value: value, Stack: debug.Stack()}
	for i := range changes {
		err.Keys = append(err.Keys, changes[i].Key)
	}
	err.Key = err.Keys[0]
	r.mu.Lock()
	r.counts.panics++
	r.counts.lastPanic = time.Now()
	r.mu.Unlock()
	if !r.opts.RecoverPanics {
		panic(err)
	}
	r.hub.opts.Report(err)
}
