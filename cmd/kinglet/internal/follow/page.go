package follow

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/kinglet-go/kinglet"
)

// servePage serves the page of the set, if that is asked for, until stop is called,
// which waits for its end.
func (s *session) servePage(set *kinglet.Set) (stop func(), err error) {
	if s.opts.HTTP == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", s.opts.HTTP)
	if err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	s.opts.Screen.Note("page: " + pageAddress(listener.Addr()))
	server := &http.Server{Handler: set.Handler(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Screen.Note("error: the page is no longer served: " + err.Error())
		}
	}()
	return func() { _ = server.Close(); <-ended }, nil
}

// pageAddress is where a browser on this machine finds the page.
func pageAddress(a net.Addr) string {
	host, port, err := net.SplitHostPort(a.String())
	if err != nil {
		return "http://" + a.String() + "/"
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}
