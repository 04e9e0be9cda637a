package connection

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// ownRead is how much a connection of a source's own reads at a time.
const ownRead = 128 << 10

// Own returns a client with connections of its own, over HTTP/1.1. It uses cfg's
// authentication, proxies and dialing, except that it reads client certificates
// from files once, and not again when the files change.
//
// Reading one 6.3 KB event costs, on one core: over HTTP/1.1 as client-go sets it
// up 4 µs in pieces of 4 KB, with large reads 2; with TLS 5; with TLS and HTTP/2,
// whose every read also sends a window update, 9.
func Own(cfg *rest.Config) (*http.Client, error) {
	tc, err := cfg.TransportConfig()
	if err != nil {
		return nil, err
	}
	tlsConfig, err := transport.TLSConfigFor(tc)
	if err != nil {
		return nil, err
	}
	if tlsConfig != nil {
		tlsConfig.NextProtos = []string{"http/1.1"}
	}
	rt := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAliveConfig: ownKeepAlive()}).DialContext,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  tc.DisableCompression,
		ReadBufferSize:      ownRead,
		// An idle connection would keep its buffers and two goroutines.
		IdleConnTimeout: 10 * time.Second,
		// Not nil: no HTTP/2.
		TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{},
	}
	if tc.DialHolder != nil {
		rt.DialContext = tc.DialHolder.Dial
	}
	if tc.Proxy != nil {
		rt.Proxy = tc.Proxy
	}
	wrapped, err := transport.HTTPWrappersForConfig(tc, rt)
	if err != nil {
		return nil, fmt.Errorf("a connection of its own: %w", err)
	}
	return &http.Client{Transport: wrapped}, nil
}

// ownKeepAlive returns settings that detect a dead peer after 30 + 3*5 = 45 s, like
// the pings of client-go's HTTP/2 with 30 + 15 s. Go's own settings, which client-go
// leaves in place, take 30 + 9*15 = 165 s.
//
// TCP_USER_TIMEOUT is not needed: it bounds how long sent bytes may stay
// unacknowledged, and a reader has sent none. Keep-alive does not notice a request
// that is lost with its peer; the reflector gives that up. A connection can be
// reused for 10 s at most (IdleConnTimeout).
func ownKeepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}
}

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
