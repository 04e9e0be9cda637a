package source

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// peers counts the connections of a server's requests.
type peers struct {
	mu sync.Mutex
	// lists and watches have the HTTP version of each connection.
	lists, watches map[string]int
}

// serve starts a server of pods that speaks HTTP/2 and wants a token.
func (p *peers) serve(t *testing.T) *rest.Config {
	p.lists, p.watches = map[string]int{}, map[string]int{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		of, body := p.lists, jsonBytes(podList("12", "a", "b"))
		if r.URL.Query().Get("watch") != "" {
			of, body = p.watches, jsonFrame("ADDED", pod("ns", "a", "13"))
		}
		of[r.RemoteAddr] = r.ProtoMajor
		p.mu.Unlock()
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		answer("application/json", body)(w, r)
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL, BearerToken: "secret", QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// TestAWatchHasAConnectionOfItsOwn counts the connections of two sources that list and
// watch twice each.
func TestAWatchHasAConnectionOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		source func(cfg *rest.Config) Source[*corev1.Pod]
		own    bool
	}{
		"a configuration": {func(cfg *rest.Config) Source[*corev1.Pod] {
			return must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
		}, true},
		"a configuration with a wrapper": {func(cfg *rest.Config) Source[*corev1.Pod] {
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return passing{rt} })
			return must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
		}, true},
		"if it is to share": {func(cfg *rest.Config) Source[*corev1.Pod] {
			return must(FromConfig[*corev1.Pod](cfg, podGVR, Options{SharedConnection: true}))
		}, false},
		"closures of a client with WrapTransport": {func(cfg *rest.Config) Source[*corev1.Pod] {
			src, _ := intercepted(podClosures(wrapped(cfg)))
			return src
		}, true},
		"a wrapper below that is not known": {func(cfg *rest.Config) Source[*corev1.Pod] {
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return passing{rt} })
			src, _ := intercepted(podClosures(wrapped(cfg)))
			return src
		}, false},
		"a client": {func(cfg *rest.Config) Source[*corev1.Pod] {
			return must(FromREST[*corev1.Pod](must(kubernetes.NewForConfig(cfg)).CoreV1().RESTClient(), "pods", Options{}))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var p peers
			cfg := p.serve(t)
			for range 2 {
				src := c.source(rest.CopyConfig(cfg))
				for range 2 {
					got, err := list(t, src, ListRequest[*corev1.Pod]{})
					if err != nil || len(got.items) != 2 {
						t.Fatalf("%v: %d items", err, len(got.items))
					}
					events := 0
					err = src.Watch(t.Context(), WatchRequest[*corev1.Pod]{}, func(batch []Event[*corev1.Pod]) error {
						events += len(batch)
						return nil
					})
					if err != nil || events != 1 {
						t.Fatalf("%v: %d events", err, events)
					}
				}
			}
			wantWatches, wantMajor := 1, 2
			if c.own {
				wantWatches, wantMajor = 4, 1
			}
			if len(p.lists) != 1 || len(p.watches) != wantWatches {
				t.Errorf("lists over %v, watches over %v", p.lists, p.watches)
			}
			for peer, major := range p.watches {
				if major != wantMajor {
					t.Errorf("a watch over HTTP/%d", major)
				}
				if _, shared := p.lists[peer]; shared && c.own {
					t.Error("a list over a watch's connection")
				}
			}
		})
	}
}

// passing is a wrapper of somebody else's.
type passing struct{ http.RoundTripper }

// TestAWatchIsDialedAsItsConfigurationSays: through a tunnel, for example. A connection of
// another type than TCP's cannot be told to notice a dead peer, and its Read may do more than
// to read: watches then share one with lists, whose pings do.
func TestAWatchIsDialedAsItsConfigurationSays(t *testing.T) {
	for _, tunnel := range []bool{false, true} {
		var p peers
		cfg := p.serve(t)
		var dialed atomic.Int64
		cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			dialed.Add(1)
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if tunnel {
				c = struct{ net.Conn }{c}
			}
			return c, err
		}
		src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
		for range 2 {
			if err := src.Watch(t.Context(), WatchRequest[*corev1.Pod]{}, func([]Event[*corev1.Pod]) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		want, wantMajor := int64(2), 1
		if tunnel {
			// The first was given up.
			wantMajor = 2
		}
		if dialed.Load() != want {
			t.Errorf("%d connections were dialed, watches over %v", dialed.Load(), p.watches)
		}
		for _, major := range p.watches {
			if major != wantMajor {
				t.Errorf("tunnel %v: a watch over HTTP/%d", tunnel, major)
			}
		}
	}
}
