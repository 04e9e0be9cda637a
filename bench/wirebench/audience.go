package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// audience is all handlers of one informer, and what they wait for.
type audience struct {
	listeners []*listener
	goal      atomic.Pointer[goal]
	// deletes are expected, and count; otherwise one is an error.
	deletes bool

	mu sync.Mutex
	// last is what went wrong last, by the engine's account. Guarded by mu.
	last error
}

// goal is reached when every listener has been told of enough.
type goal struct {
	// after: only versions that are greater count. All have as many digits,
	// so they compare as strings.
	after string
	// times is how often each listener must be told.
	times int
	// missing is how many listeners have not been.
	missing atomic.Int64
	reached chan struct{}
}

// listener is one handler. It is told from one goroutine.
type listener struct {
	audience *audience
	goal     *goal
	times    int
	told     atomic.Int64
}

var errDeleted = errors.New("a handler was told of a delete, and nothing is ever deleted")

func newAudience(n int) *audience {
	a := &audience{}
	for range n {
		a.listeners = append(a.listeners, &listener{audience: a})
	}
	return a
}

// expect sets a goal; what is told from now on counts.
func (a *audience) expect(after string, times int) *goal {
	g := &goal{after: after, times: times, reached: make(chan struct{})}
	g.missing.Store(int64(len(a.listeners)))
	a.goal.Store(g)
	return g
}

// heard is called by a handler with an object's version.
func (l *listener) heard(version string) {
	l.told.Add(1)
	g := l.audience.goal.Load()
	if l.goal != g {
		l.goal, l.times = g, 0
	}
	if g == nil || version <= g.after {
		return
	}
	if l.times++; l.times == g.times && g.missing.Add(-1) == 0 {
		close(g.reached)
	}
}

// deleted is called by a handler that is told of a delete.
func (l *listener) deleted() {
	l.told.Add(1)
	if !l.audience.deletes {
		l.audience.failed(errDeleted)
	}
}

// told is how often all listeners have been called.
func (a *audience) told() (n int64) {
	for _, l := range a.listeners {
		n += l.told.Load()
	}
	return n
}

// failed remembers an error that an engine reports and goes on after.
func (a *audience) failed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = err
}

// err is what went wrong last.
func (a *audience) err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// wait returns when the goal is reached.
func (a *audience) wait(ctx context.Context, g *goal) error {
	select {
	case <-g.reached:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d of %d handlers still wait, after %d calls: %w; the engine's last error: %v",
			g.missing.Load(), len(a.listeners), a.told(), context.Cause(ctx), a.err())
	}
}
