package connection

import (
	"context"
	"errors"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// plainRead is how much net/http reads of an own connection at a time. A TLS record holds
// no more, so that at the end of a chunk nothing is left in crypto/tls, where Stream
// could not see it.
const plainRead = 16 << 10

// answering is how long a server, or a proxy, has to begin the answer to a watch.
const answering = 10 * time.Second

// Wrap returns a transport that sends the requests of streams whose Route says so over
// connections of their own, and all others to base. Such a connection speaks HTTP/1.1, and
// is made with base's certificates, proxies and dialing, so that what rotates or is traced
// does so as before. It serves one request: the next one may reach another API server.
//
// If base is not a transport of client-go or of net/http, has no use for HTTP/1.1, or dials
// what is no TCP connection, all streams stay with base.
func Wrap(base http.RoundTripper) http.RoundTripper { return &split{base: base} }

type split struct {
	base http.RoundTripper

	mu sync.Mutex
	// own was made from made. client-go replaces its transport when the file of its
	// authorities changes. guarded by mu
	made, own *http.Transport
}

// WrappedRoundTripper returns the transport below, for apimachinery.
func (s *split) WrappedRoundTripper() http.RoundTripper { return s.base }

// RoundTrip implements http.RoundTripper.
func (s *split) RoundTrip(req *http.Request) (*http.Response, error) {
	if stream := streamOf(req.Context()); stream != nil && !stream.route.refused() {
		if own := s.ownTransport(); own != nil {
			if !stream.route.own.Load() {
				stream.movable = true
				return s.base.RoundTrip(req)
			}
			resp, err := own.RoundTrip(req)
			if err == nil {
				stream.route.own.Store(resp.StatusCode == http.StatusOK)
				return resp, nil
			}
			if req.Context().Err() != nil {
				stream.route.refuse() // for all that is known it would never have answered
				return nil, err
			}
			if resp, err = s.base.RoundTrip(req); err == nil {
				stream.route.refuse() // else there may be no server
			}
			return resp, err
		}
	}
	return s.base.RoundTrip(req)
}

func (s *split) ownTransport() *http.Transport {
	t := httpTransport(s.base)
	if t == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made != t {
		s.made, s.own = t, own(t)
	}
	return s.own
}

// caches are the types of client-go's that only pass requests on. Its others add what a
// request needs: a token, another user's name.
var caches = []string{"trackedTransport", "atomicTransportHolder"}

// httpTransport returns what is below client-go's caches; nil if something else is above it.
func httpTransport(rt http.RoundTripper) *http.Transport {
	for {
		if t, ok := rt.(*http.Transport); ok {
			return t
		}
		wrapper, ok := rt.(utilnet.RoundTripperWrapper)
		if !ok || packageOf(rt) != reflect.TypeFor[transport.Config]().PkgPath() ||
			!slices.Contains(caches, reflect.Indirect(reflect.ValueOf(rt)).Type().Name()) {
			return nil
		}
		rt = wrapper.WrappedRoundTripper()
	}
}

// packageOf returns the package of v's type, or of what v points to.
func packageOf(v any) string {
	t := reflect.TypeOf(v)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.PkgPath()
}

var errUnknown = errors.New("a connection that is not TCP's")

// own returns nil if t's connections would not speak HTTP/1.1, or are made in a way that
// shows nothing of them.
func own(t *http.Transport) *http.Transport {
	//lint:ignore SA1019 net/http still uses them where they are set
	if !canRead || t.DialTLSContext != nil || t.DialTLS != nil || t.Dial != nil {
		return nil
	}
	if p := t.Protocols; p != nil && !p.HTTP1() {
		return nil
	}
	if c := t.TLSClientConfig; c != nil && len(c.NextProtos) > 0 && !slices.Contains(c.NextProtos, "http/1.1") {
		return nil
	}
	t = t.Clone()
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second}).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		tcp := tcpOf(c)
		if tcp == nil {
			_ = c.Close()
			return nil, errUnknown
		}
		// A dialer that is not client-go's may have set it; a watch needs it.
		_ = tcp.SetKeepAliveConfig(keepAlive)
		return buffered(c, tcp), nil
	}
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.ForceAttemptHTTP2 = false
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}
	t.DisableKeepAlives = true
	t.ResponseHeaderTimeout = answering
	// Watches last, so the first would keep all others waiting.
	t.MaxConnsPerHost = 0
	t.ReadBufferSize = plainRead
	// A request is one write of some hundred bytes.
	t.WriteBufferSize = 1 << 10
	return t
}

// keepAlive detects a dead peer after 30 + 3*5 = 45 s, like the pings of client-go's HTTP/2
// with 30 + 15 s. Go's own settings, which client-go leaves in place, take 30 + 9*15 =
// 165 s.
//
// TCP_USER_TIMEOUT is not needed: it bounds how long sent bytes may stay
// unacknowledged, and a reader has sent none. Keep-alive does not notice a request
// that is lost with its peer; the reflector gives that up.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}

// EnablePings makes client-go create a transport for cfg that pings over HTTP/2. If cfg
// sets nothing about TLS, as with a certificate that the system trusts, client-go would
// use http.DefaultTransport, which does not ping.
func EnablePings(cfg *rest.Config) {
	if !strings.HasPrefix(cfg.Host, "https://") || cfg.Transport != nil {
		return
	}
	// An error in cfg is reported when the client is made.
	tc, err := cfg.TransportConfig()
	if err != nil || tc.DialHolder != nil || tc.Proxy != nil {
		return
	}
	if tlsConfig, err := transport.TLSConfigFor(tc); err == nil && tlsConfig == nil {
		cfg.NextProtos = []string{"h2", "http/1.1"}
	}
}
