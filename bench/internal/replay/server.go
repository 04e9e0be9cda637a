package replay

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// Endpoint is where a server is and by what it is known.
type Endpoint struct {
	// Plain is HTTP/1.1, Secure TLS with HTTP/2. Control talks to Plain.
	Plain, Secure string
	// CA is the certificate of Secure, in PEM.
	CA []byte
}

// Server is one server. Make it with NewServer.
type Server struct {
	endpoint  Endpoint
	listeners [2]net.Listener
	servers   [2]*http.Server
	pods      *testpods.Collection
	history   *history
	counters  counters

	mu sync.Mutex
	// shelves by encoding. Guarded by mu.
	shelves map[Encoding]*shelf
}

// NewServer returns a server of c that listens on 127.0.0.1, at ports of the
// system's choice, and answers once Serve runs.
func NewServer(c *testpods.Collection) (*Server, error) {
	s := &Server{pods: c, history: newHistory(), shelves: map[Encoding]*shelf{}}
	for i := range s.listeners {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.close()
			return nil, err
		}
		s.listeners[i] = ln
	}
	secure, ca, err := certificate()
	if err != nil {
		s.close()
		return nil, err
	}
	mux := http.NewServeMux()
	for _, e := range Encodings {
		for _, of := range [...]string{"/api/v1/pods", "/api/v1/namespaces/{namespace}/pods"} {
			mux.HandleFunc("GET /"+string(e)+of, func(w http.ResponseWriter, r *http.Request) { s.get(w, r, e) })
		}
	}
	s.control(mux)
	for i, cfg := range [...]*tls.Config{nil, secure} {
		s.servers[i] = &http.Server{Handler: mux, TLSConfig: cfg}
	}
	s.endpoint = Endpoint{
		Plain:  "http://" + s.listeners[0].Addr().String(),
		Secure: "https://" + s.listeners[1].Addr().String(),
		CA:     ca,
	}
	return s, nil
}

// Endpoint says where the server is.
func (s *Server) Endpoint() Endpoint { return s.endpoint }

// Serve answers until ctx ends. It returns when everything is closed, and may
// be called once.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, s.close)
	defer stop()
	errs := make([]error, len(s.servers))
	var wg sync.WaitGroup
	for i, srv := range s.servers {
		wg.Go(func() {
			var err error
			if srv.TLSConfig == nil {
				err = srv.Serve(s.listeners[i])
			} else {
				err = srv.ServeTLS(s.listeners[i], "", "")
			}
			if !errors.Is(err, http.ErrServerClosed) {
				errs[i] = err
				s.close()
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *Server) close() {
	for i, ln := range s.listeners {
		if s.servers[i] != nil {
			s.servers[i].Close()
		}
		if ln != nil {
			ln.Close()
		}
	}
}

// shelf returns that of an encoding.
func (s *Server) shelf(e Encoding) *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shelves[e] == nil {
		s.shelves[e] = newShelf(s.pods, e)
	}
	return s.shelves[e]
}

// only forgets all encodings but one.
func (s *Server) only(e Encoding) *shelf {
	s.mu.Lock()
	for other := range s.shelves {
		if other != e {
			delete(s.shelves, other)
		}
	}
	s.mu.Unlock()
	return s.shelf(e)
}
