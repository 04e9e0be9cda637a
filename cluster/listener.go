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
