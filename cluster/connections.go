package cluster

import (
	"net"
	"sync"
)

// connections are a server's open connections, which can be cut at once, as
// those of a killed process are.
type connections struct {
	mu   sync.Mutex
	open map[net.Conn]struct{} // guarded by mu
	cut  bool                  // guarded by mu
}

// track returns conn such that it is known until it is closed. Once the
// connections have been cut, conn is cut as well.
func (c *connections) track(conn net.Conn) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		reset(conn)
		return conn
	}
	if c.open == nil {
		c.open = map[net.Conn]struct{}{}
	}
	c.open[conn] = struct{}{}
	return &trackedConn{Conn: conn, in: c}
}

// cutAll cuts the connections that are open, and all that follow.
func (c *connections) cutAll() {
	c.mu.Lock()
	open := c.open
	c.open, c.cut = nil, true
	c.mu.Unlock()
	for conn := range open {
		reset(conn)
	}
}

// reset closes conn and discards what is unsent; over TCP, the peer gets a RST.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

type trackedConn struct {
	net.Conn
	in *connections
}

// Close implements net.Conn.
func (t *trackedConn) Close() error {
	t.in.mu.Lock()
	delete(t.in.open, t.Conn)
	t.in.mu.Unlock()
	return t.Conn.Close()
}
