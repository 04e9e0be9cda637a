package fifo

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// gate is where producers and consumers meet: the lock, and the wake-ups of
// consumers.
//
// Wake-ups are a token in a channel of one. Invariant: if something can be
// taken and no consumer is between receiving the token and taking, then the
// token is in the channel. Every unlock after a change restores it, a
// consumer's own take included, so one token reaches all that wait.
type gate struct {
	mu     sync.Mutex
	closed bool // guarded by mu

	wake    chan struct{}
	closing chan struct{} // closed with closed
	synced  chan struct{} // closed once the first batch has been dealt with
}

func newGate() gate {
	return gate{wake: make(chan struct{}, 1), closing: make(chan struct{}), synced: make(chan struct{})}
}

// Close closes the queue and wakes all who wait. What is queued, or written later,
// can still be popped; when there is nothing left, the Pop methods return
// ErrClosed. Closing again does nothing. It does not block.
func (g *gate) Close() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.closing)
	}
	g.release(true, false)
}

// IsClosed reports whether Close was called.
func (g *gate) IsClosed() bool {
	select {
	case <-g.closing:
		return true
	default:
		return false
	}
}

// Synced returns a channel that is closed once HasSynced is true.
func (g *gate) Synced() <-chan struct{} { return g.synced }

// HasSynced reports whether the first batch has been popped and its process
// functions have returned, whatever they returned. The first batch is what the
// first Replace queued; it is empty if any other successful write came before.
// Resync does not count as a write here.
func (g *gate) HasSynced() bool {
	select {
	case <-g.synced:
		return true
	default:
		return false
	}
}

// release ends a change: it unlocks, and signals whether something can be taken
// now, and whether the first batch is done.
func (g *gate) release(ready, synced bool) {
	wake := ready || g.closed
	if synced && !g.HasSynced() {
		close(g.synced)
	}
	g.mu.Unlock()
	if wake {
		select {
		case g.wake <- struct{}{}:
		default:
		}
	}
}

// await locks the queue and returns nil once ready is true; the caller must then
// release it. try is called with the lock held, whenever something may have
// changed, and takes what it can. empty is whether nothing is queued, not even
// behind what is in flight.
//
// The error is ErrClosed or that of ctx, and then the queue is not locked.
func (g *gate) await(ctx context.Context, try func() (ready, empty bool)) error {
	if ctx.Err() != nil {
		return waitError(ctx)
	}
	for {
		g.mu.Lock()
		ready, empty := try()
		if ready {
			return nil
		}
		if err := g.wait(ctx, empty); err != nil {
			return err
		}
	}
}

// wait is for a consumer that holds the lock and can take nothing. It unlocks, and
// returns nil when something may have changed. empty is whether nothing is queued;
// otherwise what is queued waits for what is in flight.
func (g *gate) wait(ctx context.Context, empty bool) error {
	closing := g.closing
	if g.closed {
		if empty {
			g.release(true, false) // another waiting consumer wakes, and returns as well
			return ErrClosed
		}
		// The end of that flight wakes this consumer. The closed channel would only
		// make it spin.
		closing = nil
	}
	// Not release: it would wake another consumer, which cannot take anything
	// either, and would wake this one in turn.
	g.mu.Unlock()

	select {
	case <-g.wake:
	case <-closing:
	case <-ctx.Done():
		return waitError(ctx)
	}
	return nil
}

func waitError(ctx context.Context) error {
	return fmt.Errorf("fifo: waiting for an item: %w", context.Cause(ctx))
}

// run calls process, if it is not nil, with an item that was taken, and then settle
// with whether the item comes back. It does not if process panics or ends its
// goroutine, or returns an error other than ErrRequeue.
func run[I any](process ProcessFunc[I], item I, initial bool, settle func(back bool)) (err error) {
	back := false
	defer func() { settle(back) }()
	if process == nil {
		return nil
	}
	if err = process(item, initial); err != nil {
		back, err = requeued(err)
	}
	return err
}

// requeued returns whether err puts the item back, and what Pop returns.
func requeued(err error) (bool, error) {
	var again ErrRequeue
	if errors.As(err, &again) {
		return true, again.Err
	}
	return false, err
}
