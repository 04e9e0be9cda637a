package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
)

// audience is all handlers of one informer, and what they wait for.
type audience struct {
	listeners []*listener
	goal      atomic.Pointer[goal]
	// deletes are expected, and count; otherwise one is an error.
	deletes bool
	// each, if not nil, gets the version of each event.
	each atomic.Pointer[func(version string)]

	mu sync.Mutex
	// last is what went wrong last, by the engine's account. Guarded by mu.
	last error
}

// goal is reached when every listener has been called often enough.
type goal struct {
	// after: only versions that are greater count. All have as many digits,
	// so they compare as strings.
	after string
	// times is how often each listener must be called.
	times int
	// missing is how many listeners have not been.
	missing atomic.Int64
	reached chan struct{}
}

// listener is one handler, called from one goroutine.
type listener struct {
	audience *audience
	goal     *goal
	times    int
	calls    atomic.Int64
	// gate, once there is one, blocks the handler until it is closed.
	gate atomic.Pointer[chan struct{}]
}

var errDeleted = errors.New("a handler was called with a delete, and nothing is ever deleted")

func newAudience(n int) *audience {
	a := &audience{}
	for range n {
		a.listeners = append(a.listeners, &listener{audience: a})
	}
	return a
}

// expect sets a goal for the listeners that are not stalled; calls from now on count.
func (a *audience) expect(after string, times int) *goal {
	g := &goal{after: after, times: times, reached: make(chan struct{})}
	for _, l := range a.listeners {
		if l.gate.Load() == nil {
			g.missing.Add(1)
		}
	}
	a.goal.Store(g)
	return g
}

// stall blocks the handler from its next call on, until release is called.
func (l *listener) stall() (release func()) {
	gate := make(chan struct{})
	l.gate.Store(&gate)
	return func() { close(gate) }
}

// clientGoHandler is the listener as client-go has handlers.
func (l *listener) clientGoHandler() clientgo.ResourceEventHandler {
	handle := func(obj any) { l.handle(obj.(metav1.Object).GetResourceVersion()) }
	return clientgo.ResourceEventHandlerFuncs{
		AddFunc:    handle,
		UpdateFunc: func(_, obj any) { handle(obj) },
		DeleteFunc: func(any) { l.deleted() },
	}
}

// handle is called by a handler with an object's version.
func (l *listener) handle(version string) {
	if gate := l.gate.Load(); gate != nil {
		<-*gate
		return
	}
	l.calls.Add(1)
	if each := l.audience.each.Load(); each != nil {
		(*each)(version)
	}
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

// deleted is called by a handler with a delete.
func (l *listener) deleted() {
	l.calls.Add(1)
	if !l.audience.deletes {
		l.audience.failed(errDeleted)
	}
}

// calls is how often all listeners have been called.
func (a *audience) calls() (n int64) {
	for _, l := range a.listeners {
		n += l.calls.Load()
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
			g.missing.Load(), len(a.listeners), a.calls(), context.Cause(ctx), a.err())
	}
}
