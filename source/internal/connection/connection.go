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
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// plainRead is how much net/http reads of an own connection at a time. A TLS record holds
// no more, so that at the end of a chunk nothing is left in crypto/tls, where Stream
// could not see it.
const plainRead = 16 << 10

// answering is how long a server, or a proxy, has to begin the answer to a watch.
const answering = 10 * time.Second

// scheme is that of a request on its way through wrappers, which add a token or another user's
// name, to a connection of its own.
const scheme = "kinglet"

// most is how many connections of their own the watches of a process have, about. Other
// watches share one, as with client-go.
const most = 100

// open is how many there are.
var open atomic.Int32

// Wrap returns a transport that sends the requests of streams whose Route says so over
// connections of their own, and all others to base. Such a connection speaks HTTP/1.1, and
// is made with the certificates, proxies and dialing of the transport at base's bottom, so
// that what rotates or is traced does so as before. It serves one request: the next one may
// reach another API server.
//
// All streams stay with base if one of its wrappers is not client-go's, or if the transport at
// its bottom is not net/http's, has no use for HTTP/1.1, or dials what is no TCP connection.
func Wrap(base http.RoundTripper) http.RoundTripper { return &split{base: base} }

type split struct {
	base http.RoundTripper

	mu sync.Mutex
	// bottom is base's, and can is what enter returned for it. client-go replaces it when
	// the file of its authorities changes. guarded by mu
	bottom *http.Transport
	can    bool
}

// WrappedRoundTripper returns the transport below, for apimachinery.
func (s *split) WrappedRoundTripper() http.RoundTripper { return s.base }

func (s *split) RoundTrip(req *http.Request) (*http.Response, error) {
	stream := streamOf(req.Context())
	if stream == nil || req.Method != http.MethodGet || stream.scheme != "" || stream.route.refused() || !s.enter() {
		return s.base.RoundTrip(req)
	}
	room := open.Load() < most
	if own := stream.route.own.Load(); !own || !room {
		stream.route.own.Store(false)
		stream.movable = room
		return s.base.RoundTrip(req)
	}
	stream.scheme = req.URL.Scheme
	resp, err := s.base.RoundTrip(under(scheme, req))
	switch {
	case err != nil && req.Context().Err() != nil:
		stream.route.refuse() // for all that is known it would never have answered
		return nil, err
	case err != nil:
	case resp.StatusCode == http.StatusGone, resp.StatusCode == http.StatusTooManyRequests:
		stream.route.own.Store(false) // as an API server says, which must not be asked twice while it is busy
		return resp, nil
	case resp.StatusCode == http.StatusOK && encoding.OfMediaType(resp.Header.Get("Content-Type")) != nil:
		return resp, nil
	default:
		_ = resp.Body.Close() // perhaps of a proxy that sends HTTP/1.1 elsewhere
		stream.route.own.Store(false)
	}
	if resp, err = s.base.RoundTrip(req); err == nil && resp.StatusCode == http.StatusOK {
		stream.route.refuse() // else there may be no server
	}
	return resp, err
}

// under returns req with another scheme.
func under(scheme string, req *http.Request) *http.Request {
	other, url := *req, *req.URL
	other.URL, url.Scheme = &url, scheme
	other.Header = req.Header.Clone()
	return &other
}

// enter reports whether the transport at the bottom knows scheme.
func (s *split) enter() bool {
	t := bottom(s.base)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bottom != t {
		s.bottom, s.can = t, t != nil && enter(t)
	}
	return s.can
}

// clientGo is the package of the wrappers that do not look at a request's scheme. Others may: to
// add a token to https only, without which a server reads as somebody else.
var clientGo = reflect.TypeFor[transport.Config]().PkgPath()

// bottom returns the transport below all wrappers; nil if one of them is not client-go's.
func bottom(rt http.RoundTripper) *http.Transport {
	for {
		if t, ok := rt.(*http.Transport); ok {
			return t
		}
		wrapper, ok := rt.(utilnet.RoundTripperWrapper)
		if !ok || reflect.Indirect(reflect.ValueOf(rt)).Type().PkgPath() != clientGo {
			return nil
		}
		rt = wrapper.WrappedRoundTripper()
	}
}

// enter makes t send requests of scheme over connections of their own, and reports whether it
// can.
func enter(t *http.Transport) (ok bool) {
	alone := own(t)
	if alone == nil {
		return false
	}
	ok = true
	// It panics if an earlier call did it, and nothing else tells.
	defer func() { _ = recover() }()
	t.RegisterProtocol(scheme, below{alone})
	return ok
}

// below sends requests of scheme.
type below struct{ *http.Transport }

func (b below) RoundTrip(req *http.Request) (*http.Response, error) {
	stream := streamOf(req.Context())
	if stream == nil {
		return nil, errUnknown // a wrapper changed the context
	}
	return b.Transport.RoundTrip(under(stream.scheme, req))
}

var errUnknown = errors.New("no connection of its own")

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
	if t.TLSHandshakeTimeout == 0 {
		t.TLSHandshakeTimeout = answering
	}
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
