package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// proxy forwards TCP connections to the API server, with faults. Its methods are safe for
// concurrent use.
type proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup

	// refuse resets new connections, and delay is how long each piece waits.
	refuse atomic.Bool
	delay  atomic.Int64

	mu     sync.Mutex
	open   map[*tunnel]struct{} // guarded by mu
	closed bool                 // guarded by mu
}

// tunnel is one connection and its other half.
type tunnel struct {
	client, server net.Conn
	// frozen drops what comes from either side without closing the connection, as when a
	// host has vanished.
	frozen atomic.Bool
	// torn forwards a part of the next piece from the server, and resets the
	// connection.
	torn atomic.Bool
}

func newProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, target: target, open: map[*tunnel]struct{}{}}
	p.running.Go(p.serve)
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

// dial is for clients with their own connection.
func (p *proxy) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", p.address())
}

func (p *proxy) serve() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		p.running.Go(func() { p.forward(conn) })
	}
}

// forward forwards one connection until it ends.
func (p *proxy) forward(client net.Conn) {
	if p.refuse.Load() {
		reset(client)
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		reset(client) // the server is away
		return
	}
	t := &tunnel{client: client, server: server}
	if !p.add(t) {
		t.reset()
		return
	}
	defer p.remove(t)
	var up sync.WaitGroup
	up.Go(func() { p.pump(t, server, client) })
	p.pump(t, client, server)
	up.Wait()
	t.reset()
}

func (p *proxy) add(t *tunnel) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.open[t] = struct{}{}
	return true
}

func (p *proxy) remove(t *tunnel) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, t)
}

// pump copies from src to dst until either has ended.
func (p *proxy) pump(t *tunnel, dst, src net.Conn) {
	buf := make([]byte, 16<<10)
	for {
		n, err := src.Read(buf)
		if d := time.Duration(p.delay.Load()); d > 0 && n > 0 {
			<-time.After(d)
		}
		switch {
		case t.frozen.Load():
			if err != nil && src == t.server {
				return // the client is not told
			}
		case t.torn.Load() && src == t.server && n > 1:
			_, _ = dst.Write(buf[:n/2])
			t.reset()
			return
		case n > 0:
			if _, werr := dst.Write(buf[:n]); werr != nil {
				err = werr
			}
		}
		if err != nil {
			if err != io.EOF {
				t.reset()
			}
			// What was in flight in the other direction is lost.
			t.close()
			return
		}
	}
}

func (t *tunnel) close() { _, _ = t.client.Close(), t.server.Close() }

func (t *tunnel) reset() { reset(t.client); reset(t.server) }

// reset closes conn with a RST.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// some calls do for one in n of the open tunnels that are not frozen, at least one, and
// returns their number.
func (p *proxy) some(random *rand.Rand, n int, do func(*tunnel)) int {
	p.mu.Lock()
	var alive []*tunnel
	for t := range p.open {
		if !t.frozen.Load() {
			alive = append(alive, t)
		}
	}
	p.mu.Unlock()
	if n > 1 && len(alive) > 0 {
		random.Shuffle(len(alive), func(i, j int) { alive[i], alive[j] = alive[j], alive[i] })
		alive = alive[:(len(alive)+n-1)/n]
	}
	for _, t := range alive {
		do(t)
	}
	return len(alive)
}

// heal ends the faults of future connections. Frozen ones stay frozen.
func (p *proxy) heal() {
	p.refuse.Store(false)
	p.delay.Store(0)
}

// hangUp resets every connection, the frozen ones too, and so empties the
// connection pools of all clients.
func (p *proxy) hangUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for t := range p.open {
		t.reset()
	}
}

// stop ends everything.
func (p *proxy) stop() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.hangUp()
	p.running.Wait()
}
