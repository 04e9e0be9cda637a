package interop

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// apiServer serves collections as an API server does, over TLS and HTTP/2, to
// whoever has today's token.
type apiServer struct {
	srv   *httptest.Server
	token string // the file that holds today's

	mu sync.Mutex
	// history is all that ever happened, per resource. guarded by mu
	history map[string][]change
	version int           // guarded by mu
	changed chan struct{} // closed by the next change. guarded by mu
	// throttled is how many requests yet are told to come again. guarded by mu
	throttled int
	dropped   chan struct{} // closed to end all watches. guarded by mu
	requests  []seen        // guarded by mu
}

type change struct {
	version int
	kind    string // ADDED, MODIFIED, DELETED
	obj     object
}

// seen is what the server saw of a request.
type seen struct {
	proto, accept string
	code          int
}

func newAPIServer(t *testing.T) *apiServer {
	s := startAPIServer(t.TempDir())
	t.Cleanup(s.stop)
	return s
}

// startAPIServer returns a server that keeps its token in dir.
func startAPIServer(dir string) *apiServer {
	s := &apiServer{
		token: filepath.Join(dir, "token"), version: 1000,
		history: map[string][]change{}, changed: make(chan struct{}), dropped: make(chan struct{}),
	}
	s.rotate("the first")
	s.srv = httptest.NewUnstartedServer(s)
	s.srv.EnableHTTP2 = true
	s.srv.StartTLS()
	return s
}

func (s *apiServer) stop() {
	s.drop()
	s.srv.CloseClientConnections()
	s.srv.Close()
}

// rotate makes token the only one that is taken.
func (s *apiServer) rotate(token string) {
	must(0, os.WriteFile(s.token, []byte(token), 0o600))
}

// throttle tells the next n requests to come again.
func (s *apiServer) throttle(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.throttled = n
}

// drop ends all watches.
func (s *apiServer) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.dropped)
	s.dropped = make(chan struct{})
}

// forget returns the requests since the last time.
func (s *apiServer) forget() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests
	s.requests = nil
	return r
}

// config reaches the server through a credential plugin, which is this
// program.
func (s *apiServer) config() *rest.Config {
	cfg := s.anonymous()
	cfg.ExecProvider = &clientcmdapi.ExecConfig{
		Command: os.Args[0], Env: []clientcmdapi.ExecEnvVar{{Name: tokenFile, Value: s.token}},
		APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}
	return cfg
}

// bearer reaches the server with the token of this moment.
func (s *apiServer) bearer() *rest.Config {
	cfg := s.anonymous()
	cfg.BearerToken = string(must(os.ReadFile(s.token)))
	return cfg
}

func (s *apiServer) anonymous() *rest.Config {
	return &rest.Config{Host: s.srv.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(s.srv.Certificate())}}
}

// put adds or replaces obj, and remove removes it.
func (s *apiServer) put(resource string, obj object) {
	kind := "ADDED"
	if slices.ContainsFunc(s.state(resource, 0), obj.is) {
		kind = "MODIFIED"
	}
	s.change(resource, kind, obj)
}

func (s *apiServer) remove(resource string, obj object) { s.change(resource, "DELETED", obj) }

func (s *apiServer) change(resource, kind string, obj object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	obj = obj.at(strconv.Itoa(s.version))
	s.history[resource] = append(s.history[resource], change{s.version, kind, obj})
	close(s.changed)
	s.changed = make(chan struct{})
}

// state is the collection as it was at version, or 0 for now, by name.
func (s *apiServer) state(resource string, version int) []object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var objs []object
	for _, c := range s.history[resource] {
		if version != 0 && c.version > version {
			break
		}
		objs = slices.DeleteFunc(objs, c.obj.is)
		if c.kind != "DELETED" {
			objs = append(objs, c.obj)
		}
	}
	slices.SortFunc(objs, func(a, b object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return objs
}

// since is what happened after version, the version of now, and a channel for
// what happens next.
func (s *apiServer) since(resource string, version int) ([]change, int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.history[resource]
	i, _ := slices.BinarySearchFunc(all, version, func(c change, v int) int {
		if c.version > v {
			return 1
		}
		return -1
	})
	return slices.Clone(all[i:]), s.version, s.changed
}

// admit answers those who have to come again, or with another token.
func (s *apiServer) admit(w http.ResponseWriter, r *http.Request, v view) bool {
	token, err := os.ReadFile(s.token)
	var refusal *apierrors.StatusError
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil || r.Header.Get("Authorization") != "Bearer "+string(token):
		refusal = apierrors.NewUnauthorized("not today's token")
	case s.throttled > 0:
		s.throttled--
		w.Header().Set("Retry-After", "0")
		refusal = apierrors.NewTooManyRequests("come again", 0)
	}
	code := http.StatusOK
	if refusal != nil {
		status := refusal.ErrStatus
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		code = int(status.Code)
		w.Header().Set("Content-Type", v.media)
		w.WriteHeader(code)
		w.Write(v.encode(&status))
	}
	s.requests = append(s.requests, seen{r.Proto, r.Header.Get("Accept"), code})
	return refusal == nil
}

// ServeHTTP implements http.Handler.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	v := viewFor(resource, r.Header.Get("Accept"))
	if !s.admit(w, r, v) {
		return
	}
	w.Header().Set("Content-Type", v.media)
	q := r.URL.Query()
	if q.Get("watch") == "true" || q.Get("watch") == "1" {
		s.watch(w, r, resource, v)
		return
	}
	_, version, _ := s.since(resource, 0)
	from := 0
	if token := q.Get("continue"); token != "" {
		fmt.Sscanf(token, "%d/%d", &version, &from)
	}
	objs := s.state(resource, version)
	lm := metav1.ListMeta{ResourceVersion: strconv.Itoa(version)}
	to := len(objs)
	if limit, _ := strconv.Atoi(q.Get("limit")); limit > 0 && from+limit < to {
		to = from + limit
		lm.Continue = fmt.Sprintf("%d/%d", version, to)
		lm.RemainingItemCount = new(int64(len(objs) - to))
	}
	w.Write(v.list(lm, objs[from:to]))
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, resource string, v view) {
	s.mu.Lock()
	dropped := s.dropped
	s.mu.Unlock()
	q := r.URL.Query()
	from, _ := strconv.Atoi(q.Get("resourceVersion"))
	if q.Get("sendInitialEvents") == "true" {
		_, from, _ = s.since(resource, 0)
		for _, obj := range s.state(resource, from) {
			w.Write(v.frame("ADDED", obj))
		}
		w.Write(v.bookmark(strconv.Itoa(from)))
	}
	for {
		changes, version, next := s.since(resource, from)
		for _, c := range changes {
			w.Write(v.frame(c.kind, c.obj))
		}
		from = version
		w.(http.Flusher).Flush()
		select {
		case <-next:
		case <-dropped:
			return
		case <-r.Context().Done():
			return
		}
	}
}
