package deliver

import (
	"context"
	"runtime/debug"

	"github.com/kinglet-go/kinglet/store"
)

// call hands r.batch to the handler, at most MaxBatch changes at a time, and
// forgets it. It returns false if the handler's context has ended.
func (r *Registration[T]) call(ctx context.Context) bool {
	alive := true
	for rest := r.batch; len(rest) > 0; {
		// Remove and the end of the hub end the context before anything else.
		if alive = ctx.Err() == nil; !alive {
			break
		}
		n := min(len(rest), r.opts.MaxBatch)
		r.invoke(ctx, rest[:n:n])
		rest = rest[n:]
	}
	clear(r.batch)
	r.batch = r.batch[:0]

	r.mu.Lock()
	defer r.mu.Unlock()
	if !alive {
		// Changes that are not delivered keep DeliveredThrough where it is.
		r.flight.records = 0
		return false
	}
	r.flight = flight{}
	return true
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
	if !r.opts.RecoverPanics {
		panic(err)
	}
	r.hub.opts.Report(err)
}
