package cluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// cutListener is a TCP listener that can be cut off at once, as a killed
// process is: accepted connections are reset and new ones are refused.
//
// The API server panics when Accept fails before it has been told to stop, so
// after the cut Accept blocks until the server closes the listener itself.
type cutListener struct {
	*net.TCPListener
	conns     connections
	closed    chan struct{}
	closeOnce sync.Once
}

func newCutListener(l *net.TCPListener) *cutListener {
	return &cutListener{TCPListener: l, closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *cutListener) Accept() (net.Conn, error) {
	tcp, err := l.AcceptTCP()
	if err != nil {
		<-l.closed
		return nil, err
	}
	// What the server's own listener would set on a *net.TCPConn.
	_ = tcp.SetKeepAlive(true)
	_ = tcp.SetKeepAlivePeriod(3 * time.Minute)
	return l.conns.track(tcp), nil
}

// Close implements net.Listener. Accepted connections live on.
func (l *cutListener) Close() error {
	err := l.TCPListener.Close()
	l.closeOnce.Do(func() { close(l.closed) })
	return err
}

// cut refuses new connections and resets the accepted ones.
func (l *cutListener) cut() {
	_ = l.TCPListener.Close()
	l.conns.cutAll()
}

// Ports below every system's range for outgoing connections: while the API
// server is stopped, no connection of anybody's can take its port by chance.
const (
	firstPort = 20000
	lastPort  = 32000
)

// listen returns a listener on address, or on a free port of the loopback
// interface if address is empty.
func listen(address string) (*net.TCPListener, error) {
	if address != "" {
		return listenTCP(address)
	}
	var errs []error
	for range 20 {
		port := firstPort + rand.IntN(lastPort-firstPort)
		l, err := listenTCP(fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return l, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("no free port: %w", errors.Join(errs...))
}

func listenTCP(address string) (*net.TCPListener, error) {
	addr, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, err
	}
	return net.ListenTCP("tcp4", addr)
}

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
