package interop

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// apiServer is kinglettest's, of pods and widgets, over TLS and HTTP/2, for whoever
// has today's token.
type apiServer struct {
	srv     *httptest.Server
	storage *apiserver.Storage
	token   string // the file that holds today's

	mu sync.Mutex
	// throttled is how many requests yet are told to come again. guarded by mu
	throttled int
	requests  []seen // guarded by mu

	end context.CancelFunc // of all answers
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
	widgets := apiserver.Resource{GroupVersionResource: widgetGVR, Kind: "Widget"}
	s := &apiServer{storage: apiserver.NewStorage(apiserver.Pods, widgets), token: filepath.Join(dir, "token")}
	served, end := context.WithCancel(context.Background())
	s.end = end
	s.rotate("the first")
	collections := apiserver.New(s.storage, apiserver.Options{})
	s.srv = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.admit(w, r) {
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(served, cancel)()
		collections.ServeHTTP(w, r.WithContext(ctx))
	}))
	s.srv.EnableHTTP2 = true
	s.srv.StartTLS()
	return s
}

func (s *apiServer) stop() {
	s.end()
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
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.srv.Certificate().Raw})
	return &rest.Config{Host: s.srv.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: certificate}}
}

// put adds or replaces obj.
func (s *apiServer) put(obj runtime.Object) { must(s.storage.Put(obj)) }

// admit reports whether a request has today's token and need not come again. If it
// does not, it is answered.
func (s *apiServer) admit(w http.ResponseWriter, r *http.Request) bool {
	token, err := os.ReadFile(s.token)
	var refusal *apierrors.StatusError
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil || r.Header.Get("Authorization") != "Bearer "+string(token):
		refusal = apierrors.NewUnauthorized("not today's token")
	case s.throttled > 0:
		s.throttled--
		w.Header().Set("Retry-After", "1")
		refusal = apierrors.NewTooManyRequests("come again", 1)
	}
	code := http.StatusOK
	if refusal != nil {
		code = int(refusal.ErrStatus.Code)
		media := runtime.ContentTypeJSON
		if strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
			media = runtime.ContentTypeProtobuf
		}
		info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
		encoder := scheme.Codecs.EncoderForVersion(info.Serializer, schema.GroupVersion{Version: "v1"})
		w.Header().Set("Content-Type", media)
		w.WriteHeader(code)
		must(0, encoder.Encode(&refusal.ErrStatus, w))
	}
	s.requests = append(s.requests, seen{r.Proto, r.Header.Get("Accept"), code})
	return refusal == nil
}

func must[V any](v V, err error) V {
	if err != nil {
		panic(err)
	}
	return v
}

func widget(namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("example.com/v1")
	u.SetKind("Widget")
	u.SetNamespace(namespace)
	u.SetName(name)
	u.Object["spec"] = map[string]any{"size": int64(3), "weight": 1.5, "parts": []any{"a", map[string]any{"b": nil}}}
	return u
}
