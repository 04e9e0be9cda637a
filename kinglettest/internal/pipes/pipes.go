// Package pipes has listeners whose connections exist in memory, so that servers and
// their clients can be in a bubble of testing/synctest.
package pipes

import (
	"context"
	"errors"
	"net"
	"sync"
)

// ErrRefused is why Dial fails once the listener is closed.
var ErrRefused = errors.New("connection refused: nobody listens on the pipe")

// Listener is a net.Listener. Its methods are safe for concurrent use.
type Listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// Listen returns a Listener.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// Dial connects to whoever accepts, whatever the address. It blocks until somebody does.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Err: ErrRefused}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
