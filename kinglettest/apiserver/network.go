package apiserver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// connections knows all connections of a server, so that they can be broken
// off, each by who answers on it.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{} // guarded by mu
	// gone is signalled when open gets smaller.
	gone *sync.Cond
}

type connectionKey struct{}

func newConnections() *connections {
	c := &connections{open: map[net.Conn]struct{}{}}
	c.gone = sync.NewCond(&c.mu)
	return c
}

func (c *connections) remember(ctx context.Context, conn net.Conn) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[conn] = struct{}{}
	return context.WithValue(ctx, connectionKey{}, conn)
}

func (c *connections) state(conn net.Conn, state http.ConnState) {
	if state == http.StateClosed || state == http.StateHijacked {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, conn)
		c.gone.Broadcast()
	}
}

// cut breaks off the connection that a request came on.
func (c *connections) cut(ctx context.Context) {
	if conn, ok := ctx.Value(connectionKey{}).(net.Conn); ok {
		reset(conn)
	}
}

// cutAll breaks all connections off.
func (c *connections) cutAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		reset(conn)
	}
}

// reset closes a connection in such a way that the other side sees that it was
// not in good order, where there is a difference.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// wait returns once every connection is gone.
func (c *connections) wait() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) > 0 {
		c.gone.Wait()
	}
}
