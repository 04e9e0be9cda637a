package apiserver

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/kinglettest/internal/pipes"
)

// Options of a Server. With the zero value it has no faults.
type Options struct {
	// Version is the version of Kubernetes to behave as; 1.36 if 0. New panics if it is
	// not among [Versions].
	Version Version
	// Inject decides what goes wrong.
	Inject Inject
	// BookmarkInterval is the time between the bookmarks of a watch that asked for them;
	// a minute if 0, as on a real server. Below 0 there are none.
	BookmarkInterval time.Duration
	// WithoutWatchList refuses watch-lists, whatever the Version, as many
	// aggregated servers do.
	WithoutWatchList bool
	// Token, if not empty, is required of every request; see also [Server.SetToken].
	Token string
	// Replicas answer in turn with this server, as the replicas of a control plane behind
	// one address do. They should have the same Storage; Hold one to have it lag behind
	// the others. Close does not close them.
	Replicas []*Server
	// GzipAbove is the size in bytes from which answers are compressed for clients that
	// accept that; 128 KiB if 0, as on a real server.
	GzipAbove int
}

// Server answers requests from a Storage. It is an http.Handler; Config and
// Listen make it reachable. All methods are safe for concurrent use.
type Server struct {
	opts    Options
	storage *Storage
	http    *http.Server
	pipes   *pipes.Listener
	// closing ends with Close, and with it everything that is being answered.
	closing context.Context
	close   context.CancelFunc
	serving sync.WaitGroup
	// conns are all connections, so that they can be broken off.
	conns *connections

	injecting sync.Mutex // held while Inject is called, which may call the Server
	mu        sync.Mutex
	// token is asked of every request. Guarded by mu, as all below.
	token string
	// held is set while the server knows no more than the revision seen.
	held bool
	seen int64
	// moved is closed and replaced when held or seen change.
	moved    chan struct{}
	requests int
	// turn counts what came to this address.
	turn int
}

// New returns a Server of what storage has. It starts nothing before Config or
// Listen.
func New(storage *Storage, opts Options) *Server {
	opts.Version = opts.Version.orDefault()
	if opts.BookmarkInterval == 0 {
		opts.BookmarkInterval = time.Minute
	}
	if opts.GzipAbove == 0 {
		opts.GzipAbove = 128 << 10
	}
	s := &Server{opts: opts, storage: storage, token: opts.Token, moved: make(chan struct{}), conns: newConnections()}
	s.closing, s.close = context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler:           s,
		ConnContext:       s.conns.remember,
		ConnState:         s.conns.state,
		ReadHeaderTimeout: time.Minute,
	}
	return s
}

// Config starts serving over connections in memory, and returns a config that uses them.
func (s *Server) Config() *rest.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pipes == nil {
		s.pipes = pipes.Listen()
		s.serve(s.pipes)
	}
	return &rest.Config{Host: "http://apiserver.test", Dial: s.pipes.Dial, BearerToken: s.token, QPS: -1}
}

// Listen starts serving on a TCP address, such as "127.0.0.1:0", and returns a config for
// it.
func (s *Server) Listen(address string) (*rest.Config, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serve(l)
	return &rest.Config{Host: "http://" + l.Addr().String(), BearerToken: s.token, QPS: -1}, nil
}

// serve starts the one goroutine of a listener.
func (s *Server) serve(l net.Listener) {
	s.serving.Go(func() {
		// It always ends with an error: that of having been closed.
		_ = s.http.Serve(l)
	})
}

// Close stops serving, closes all connections, and returns when all goroutines of the
// server have ended.
func (s *Server) Close() {
	s.close()
	_ = s.http.Close()
	s.conns.cutAll()
	s.serving.Wait()
	s.conns.wait()
}

// Disconnect closes all connections, as a restart or a load balancer does. The server goes
// on.
func (s *Server) Disconnect() { s.conns.cutAll() }

// watchLists reports whether the server answers watch-lists.
func (s *Server) watchLists() bool { return s.opts.Version.watchLists() && !s.opts.WithoutWatchList }

// Storage returns the Storage that the server answers from.
func (s *Server) Storage() *Storage { return s.storage }

// SetToken changes the token that later requests must have. Open watches go on, as on a
// real server.
func (s *Server) SetToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// Hold makes the server lag: it sees no later writes. Lists at any version and watches stay
// at the present revision, and a request for a newer one finds that the server does not
// have it.
func (s *Server) Hold() {
	s.move(func(latest int64) { s.held, s.seen = true, s.visibleLocked(latest) })
}

// Advance lets a server that is held see the next n revisions, and returns the last one
// that it then knows.
func (s *Server) Advance(n int64) int64 {
	return s.move(func(latest int64) {
		s.held, s.seen = true, min(s.visibleLocked(latest)+n, latest)
	})
}

// Release ends Hold.
func (s *Server) Release() { s.move(func(int64) { s.held = false }) }

func (s *Server) move(change func(latest int64)) int64 {
	latest := s.storage.Revision()
	s.mu.Lock()
	defer s.mu.Unlock()
	change(latest)
	close(s.moved)
	s.moved = make(chan struct{})
	return s.visibleLocked(latest)
}

func (s *Server) visibleLocked(latest int64) int64 {
	if s.held {
		return min(s.seen, latest)
	}
	return latest
}

// visible returns the revision that the server knows, and a channel that is closed when
// it may have changed.
func (s *Server) visible() (revision int64, held bool, moved <-chan struct{}) {
	latest := s.storage.Revision()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visibleLocked(latest), s.held, s.moved
}

// Requests returns how many requests there have been.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// next returns the replica whose turn it is.
func (s *Server) next() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	if i := s.turn % (len(s.opts.Replicas) + 1); i > 0 {
		return s.opts.Replicas[i-1]
	}
	return s
}

// inject numbers a request and returns its fault.
func (s *Server) inject(r *Request) *Fault {
	s.injecting.Lock()
	defer s.injecting.Unlock()
	s.mu.Lock()
	s.requests++
	r.Number = s.requests
	s.mu.Unlock()
	if s.opts.Inject == nil {
		return &Fault{}
	}
	if f := s.opts.Inject(r); f != nil {
		return f
	}
	return &Fault{}
}

// authorized reports whether a request has the token.
func (s *Server) authorized(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token == "" || r.Header.Get("Authorization") == "Bearer "+s.token
}
