package source

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// peers counts the connections of a server's requests.
type peers struct {
	mu sync.Mutex
	// lists and watches have the HTTP version of each connection.
	lists, watches map[string]int
	// user is whom requests have to be for.
	user string
	// front, if it is set, answers HTTP/1.1, and fronted is when it did.
	front   http.HandlerFunc
	fronted []time.Time
}

// serve starts a server of pods that speaks HTTP/2 and wants a token. A watch sends events
// from its version on, some thousands a second.
func (p *peers) serve(t *testing.T) *rest.Config {
	p.lists, p.watches = map[string]int{}, map[string]int{}
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Impersonate-User") != p.user {
			t.Errorf("HTTP/%d as %q with %q", r.ProtoMajor, r.Header.Get("Impersonate-User"), r.Header.Get("Authorization"))
			http.Error(w, "who?", http.StatusUnauthorized)
			return
		}
		watch := r.URL.Query().Get("watch") != ""
		p.mu.Lock()
		if p.front != nil && r.ProtoMajor == 1 {
			p.fronted = append(p.fronted, time.Now())
			p.mu.Unlock()
			p.front(w, r)
			return
		}
		if watch {
			p.watches[r.RemoteAddr] = r.ProtoMajor
		} else {
			p.lists[r.RemoteAddr] = r.ProtoMajor
		}
		p.mu.Unlock()
		if !watch {
			answer("application/json", jsonBytes(podList("12", "a", "b")))(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		version, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
		_, _ = w.Write(jsonFrame("BOOKMARK", pod("", "", strconv.Itoa(version))))
		again := time.NewTicker(5 * time.Millisecond)
		defer again.Stop()
		for {
			for range 10 {
				version++
				_, _ = w.Write(jsonFrame("MODIFIED", pod("ns", "a", strconv.Itoa(version))))
			}
			w.(http.Flusher).Flush()
			select {
			case <-again.C:
			case <-r.Context().Done():
				return
			}
		}
	}))
	srv.EnableHTTP2 = true
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL, BearerToken: "secret", QPS: -1, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// own returns how many watches had a connection that no list had, over HTTP/1.1.
func (p *peers) own(t *testing.T) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for peer, major := range p.watches {
		if _, shared := p.lists[peer]; !shared && major == 1 {
			n++
		} else if major != 2 {
			t.Errorf("a watch over HTTP/%d", major)
		}
	}
	return n
}

var errWatched = errors.New("watched for long enough")

// follow watches on from version, whenever a watch ends, until enough returns true. Every
// version has to come, in order.
func follow(t *testing.T, src Source[*corev1.Pod], version int, enough func() bool) error {
	for {
		err := src.Watch(t.Context(), WatchRequest[*corev1.Pod]{ResourceVersion: strconv.Itoa(version)}, func(batch []Event[*corev1.Pod]) error {
			for _, e := range batch {
				if e.Type == Bookmark {
					continue
				}
				if version++; e.ResourceVersion != strconv.Itoa(version) {
					t.Errorf("%s came after %d", e.ResourceVersion, version-1)
				}
			}
			if enough() || t.Failed() {
				return errWatched
			}
			return nil
		})
		if errors.Is(err, errWatched) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// TestABusyWatchMovesToAConnectionOfItsOwn has two sources list, and watch a stream that is
// busy. Every one that can move does, without an event that is missing or comes twice.
func TestABusyWatchMovesToAConnectionOfItsOwn(t *testing.T) {
	if runtime.GOOS != "linux" {
		return
	}
	var all sync.WaitGroup
	never := new(time.Duration)
	for name, c := range map[string]struct {
		source func(cfg *rest.Config) Source[*corev1.Pod]
		moves  bool
		front  http.HandlerFunc
	}{
		"a configuration": {func(cfg *rest.Config) Source[*corev1.Pod] {
			return must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
		}, true, nil},
		"a configuration with a wrapper": {func(cfg *rest.Config) Source[*corev1.Pod] {
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return passing{rt} })
			return must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
		}, true, nil},
		"no delay": {func(cfg *rest.Config) Source[*corev1.Pod] {
			return must(FromConfig[*corev1.Pod](cfg, podGVR, Options{MaxDelay: never}))
		}, false, nil},
		"closures of a client with WrapTransport": {func(cfg *rest.Config) Source[*corev1.Pod] {
			src, _ := intercepted(podClosures(wrapped(cfg)))
			return src
		}, true, nil},
		"a wrapper below that is not known": {func(cfg *rest.Config) Source[*corev1.Pod] {
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return passing{rt} })
			src, _ := intercepted(podClosures(wrapped(cfg)))
			return src
		}, false, nil},
		"a copy of a client with a token and another's name": {func(cfg *rest.Config) Source[*corev1.Pod] {
			cfg.Impersonate.UserName = "jane"
			client := must(kubernetes.NewForConfig(cfg)).CoreV1().RESTClient().(*rest.RESTClient)
			src, _ := intercepted(closuresOf(typedcorev1.New(WrapClient(client)).Pods("ns")))
			return src
		}, true, nil},
		"a client of a wrapper that knows schemes": {func(cfg *rest.Config) Source[*corev1.Pod] {
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &particular{rt, "secret"} })
			cfg.BearerToken = ""
			return must(FromREST[*corev1.Pod](must(kubernetes.NewForConfig(cfg)).CoreV1().RESTClient(), "pods", Options{}))
		}, false, nil},
		"a client": {func(cfg *rest.Config) Source[*corev1.Pod] {
			return must(FromREST[*corev1.Pod](must(kubernetes.NewForConfig(cfg)).CoreV1().RESTClient(), "pods", Options{}))
		}, true, nil},
		"a client that was wrapped already": {func(cfg *rest.Config) Source[*corev1.Pod] {
			client := must(kubernetes.NewForConfig(wrapped(cfg))).CoreV1().RESTClient().(*rest.RESTClient)
			return must(FromREST[*corev1.Pod](WrapClient(client), "pods", Options{}))
		}, true, nil},
		"a tunnel that is no TCP connection": {func(cfg *rest.Config) Source[*corev1.Pod] {
			return must(FromConfig[*corev1.Pod](tunnelled(cfg), podGVR, Options{}))
		}, false, nil},
		"such a tunnel, of a client that was wrapped already": {func(cfg *rest.Config) Source[*corev1.Pod] {
			client := must(kubernetes.NewForConfig(wrapped(tunnelled(cfg)))).CoreV1().RESTClient().(*rest.RESTClient)
			src, _ := intercepted(closuresOf(typedcorev1.New(WrapClient(client)).Pods("ns")))
			return src
		}, false, nil},
		"a configuration, and HTTP/1.1 is refused": {source: func(cfg *rest.Config) Source[*corev1.Pod] {
			return must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
		}, front: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "HTTP/2 only", http.StatusHTTPVersionNotSupported)
		}},
		"closures, and HTTP/1.1 is sent away": {source: func(cfg *rest.Config) Source[*corev1.Pod] {
			src, _ := intercepted(podClosures(wrapped(cfg)))
			return src
		}, front: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) }},
		"closures, and HTTP/1.1 gets a page": {source: func(cfg *rest.Config) Source[*corev1.Pod] {
			src, _ := intercepted(podClosures(wrapped(cfg)))
			return src
		}, front: answer("text/html", []byte("<title>Log in</title>"))},
	} {
		p := peers{front: c.front}
		cfg := p.serve(t)
		src := c.source(cfg)
		p.user = cfg.Impersonate.UserName
		got, err := list(t, src, ListRequest[*corev1.Pod]{})
		if err != nil || len(got.items) != 2 {
			t.Fatalf("%s: %v: %d items", name, err, len(got.items))
		}
		began := time.Now()
		all.Go(func() {
			if err := follow(t, src, 12, func() bool {
				if own := p.own(t); c.front == nil {
					return own > 0 || !c.moves && time.Since(began) > 11*time.Second
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				return len(p.fronted) > 0 && time.Since(p.fronted[0]) > 12*time.Second
			}); err != nil || !c.moves && p.own(t) > 0 || len(p.fronted) > 1 {
				t.Errorf("%s: %v, or it moved, or tried to more than once (%v)", name, err, p.fronted)
			}
		})
	}
	all.Wait()
}

func tunnelled(cfg *rest.Config) *rest.Config {
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return struct{ net.Conn }{c}, err
	}
	return cfg
}

// passing is a wrapper of somebody else's.
type passing struct{ http.RoundTripper }

// particular adds its token to what it takes for safe.
type particular struct {
	http.RoundTripper
	token string
}

func (p *particular) WrappedRoundTripper() http.RoundTripper { return p.RoundTripper }

func (p *particular) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "https" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	return p.RoundTripper.RoundTrip(req)
}
