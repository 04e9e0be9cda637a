package cluster

import (
	"net"
	"sync"
	"time"
)

// cutListener is a TCP listener whose connections can be cut at once, as a
// killed process's are: the peers see a reset, and new ones are refused.
//
// The API server panics when Accept fails before it has been told to stop, so
// after the cut Accept blocks until the server closes the listener itself.
type cutListener struct {
	*net.TCPListener
	closed    chan struct{}
	closeOnce sync.Once

	mu    sync.Mutex
	conns map[*cutConn]struct{} // guarded by mu; nil once cut
}

func newCutListener(l *net.TCPListener) *cutListener {
	return &cutListener{TCPListener: l, closed: make(chan struct{}), conns: map[*cutConn]struct{}{}}
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
	conn := &cutConn{TCPConn: tcp, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		conn.reset()
		return conn, nil
	}
	l.conns[conn] = struct{}{}
	return conn, nil
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
	l.mu.Lock()
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	for conn := range conns {
		conn.reset()
	}
}

type cutConn struct {
	*net.TCPConn
	listener *cutListener
}

func (c *cutConn) reset() {
	_ = c.SetLinger(0) // closing now sends RST and discards what is unsent
	_ = c.TCPConn.Close()
}

// Close implements net.Conn.
func (c *cutConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.TCPConn.Close()
}
