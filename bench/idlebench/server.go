package main

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/bench/internal/apart"
	"github.com/kinglet-go/kinglet/bench/internal/loopback"
)

// maxStreams on one connection is kube-apiserver's default.
const maxStreams = 100

// Endpoint is where the server is and by what it is known.
type Endpoint struct {
	URL string
	CA  []byte
}

// serveStdio serves until its input ends, having said where.
func serveStdio(ctx context.Context, objects int) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s, err := newServer(ln, objects)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.endpoint); err != nil {
		return err
	}
	return s.serve(apart.UntilInputEnds(ctx))
}

// server is an API server as far as an informer of ConfigMaps looks.
type server struct {
	endpoint Endpoint
	http     *http.Server
	listener net.Listener
	wire     *wire
	objects  int

	mu sync.Mutex
	// What follows is guarded by mu.

	rv int
	// moved is closed when rv grows.
	moved chan struct{}
	// open counts the watches on each connection.
	open map[string]int
	// protocols counts the requests of each.
	protocols map[string]int
}

func newServer(ln net.Listener, objects int) (*server, error) {
	s := &server{
		listener: ln, wire: newWire(), objects: objects,
		rv: firstRV, moved: make(chan struct{}), open: map[string]int{}, protocols: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/configmaps", s.configMaps)
	mux.HandleFunc("GET /api/v1/streams", s.streams)
	mux.HandleFunc("POST /api/v1/bookmark", s.bookmark)
	tls, ca, err := loopback.Certificate()
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{Handler: mux, TLSConfig: tls, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}}
	s.endpoint = Endpoint{URL: "https://" + ln.Addr().String(), CA: ca}
	return s, nil
}

// serve returns when ctx has ended and every connection is closed.
func (s *server) serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { s.http.Close() })
	defer stop()
	if err := s.http.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *server) configMaps(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case !strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeProtobuf):
		http.Error(w, "this server speaks protobuf", http.StatusNotAcceptable)
	case q.Get("watch") == "" || q.Get("watch") == "false" || q.Get("watch") == "0":
		b, err := s.wire.list(r.PathValue("namespace"), s.objects)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		// A client that has gone needs no answer.
		_, _ = w.Write(b)
	default:
		s.watch(w, r, q.Get("sendInitialEvents") == "true")
	}
}

// watch sends the initial events if they are wanted, and then a bookmark each
// time that the version moves.
func (s *server) watch(w http.ResponseWriter, r *http.Request, initial bool) {
	rv, moved := s.enter(r)
	defer s.leave(r)
	var b []byte
	var err error
	if initial {
		b, err = s.wire.initial(r.PathValue("namespace"), s.objects, rv)
	}
	w.Header().Set("Content-Type", streamType)
	for {
		if err != nil {
			return
		}
		if _, err = w.Write(b); err != nil {
			return
		}
		if err = http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-moved:
		}
		rv, moved = s.version()
		b, err = s.wire.later(rv)
	}
}

func (s *server) version() (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rv, s.moved
}

func (s *server) enter(r *http.Request) (int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[r.RemoteAddr]++
	s.protocols[r.Proto]++
	return s.rv, s.moved
}

func (s *server) leave(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[r.RemoteAddr]--; s.open[r.RemoteAddr] == 0 {
		delete(s.open, r.RemoteAddr)
	}
	s.protocols[r.Proto]--
}

// Streams says what is open.
type Streams struct {
	Connections int
	Watches     int
	// HTTP2 is how many of the watches speak it.
	HTTP2 int
	// Version is what the last bookmark said.
	Version string
}

func (s *server) streams(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	st := Streams{Connections: len(s.open), HTTP2: s.protocols["HTTP/2.0"], Version: version(s.rv)}
	for _, n := range s.open {
		st.Watches += n
	}
	s.mu.Unlock()
	answer(w, st)
}

// bookmark moves the version, of which every watch is told.
func (s *server) bookmark(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.rv++
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
	s.streams(w, r)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(v)
}
