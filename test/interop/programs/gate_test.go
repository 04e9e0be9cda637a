//go:build e2e

package programs

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// gate is the wire between a client and the server. While it is shut, what was
// open breaks off, and nothing new gets an answer.
type gate struct {
	mu sync.Mutex
	// open ends when the gate is shut, shut when it is opened. guarded by mu
	open, shut       context.Context
	endOpen, endShut context.CancelFunc // guarded by mu
}

func newGate() *gate {
	g := &gate{}
	g.open, g.endOpen = context.WithCancel(context.Background())
	g.shut, g.endShut = context.WithCancel(context.Background())
	g.endShut()
	return g
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.endShut = context.WithCancel(context.Background())
	g.endOpen()
}

func (g *gate) reopen() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open, g.endOpen = context.WithCancel(context.Background())
	g.endShut()
}

// enter returns when the gate is open, with what ends when it is shut, or when
// ctx ends.
func (g *gate) enter(ctx context.Context) (open context.Context, err error) {
	for {
		g.mu.Lock()
		open, shut := g.open, g.shut
		g.mu.Unlock()
		if open.Err() == nil {
			return open, nil
		}
		select {
		case <-shut.Done():
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// wrap is for rest.Config.Wrap.
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper { return gated{g, next} }

type gated struct {
	*gate
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g gated) RoundTrip(req *http.Request) (*http.Response, error) {
	open, err := g.enter(req.Context())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(open, cancel)
	leave := func() { stop(); cancel() }
	resp, err := g.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		leave()
		return nil, err
	}
	resp.Body = gatedBody{resp.Body, leave}
	return resp, nil
}

type gatedBody struct {
	io.ReadCloser
	leave func()
}

// Close implements io.Closer.
func (b gatedBody) Close() error {
	b.leave()
	return b.ReadCloser.Close()
}
