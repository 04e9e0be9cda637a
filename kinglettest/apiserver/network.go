package apiserver

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// connections are the open connections of a server, so that any of them can be closed.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{} // guarded by mu
	// gone is signalled when a connection has ended.
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

// cut closes the connection of a request.
func (c *connections) cut(ctx context.Context) {
	if conn, ok := ctx.Value(connectionKey{}).(net.Conn); ok {
		reset(conn)
	}
}

// cutAll closes all connections.
func (c *connections) cutAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		reset(conn)
	}
}

// reset closes a connection by RST, where there is such a thing.
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
