package follow

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/kinglet-go/kinglet"
)

// servePage serves the page of the set, if there is a listener for it, until stop is
// called, which waits for its end.
func (s *session) servePage(set *kinglet.Set) (stop func()) {
	listener := s.opts.Page
	if listener == nil {
		return func() {}
	}
	s.opts.Screen.Note("page: " + pageAddress(listener.Addr()))
	// Nothing else is served: a request for /metrics must not be answered with a page.
	paths := http.NewServeMux()
	paths.Handle("/{$}", set.Handler())
	server := &http.Server{Handler: paths, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.opts.Screen.Note("error: the page is no longer served: " + err.Error())
		}
	}()
	return func() { _ = server.Close(); <-ended }
}

// pageAddress is the address of the page for a browser on this machine.
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
