package reflector

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
	"github.com/kinglet-go/kinglet/source"
)

// A Timeout of a client ends its watches in more than one way, by chance, and none is a refusal.
func TestAWatchThatTheClientsTimeoutEndsIsBrokenOff(t *testing.T) {
	for name, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			config := &rest.Config{Host: server.URL, QPS: -1, Timeout: 300 * time.Millisecond, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
			config.Wrap(source.WrapTransport)
			client, err := rest.HTTPClientFor(config)
			if err != nil {
				t.Fatal(err)
			}
			defer client.CloseIdleConnections()
			clients, err := kubernetes.NewForConfigAndClient(config, client)
			if err != nil {
				t.Fatal(err)
			}
			lw := kc.NewListWatchFromClient(clients.CoreV1().RESTClient(), "pods", "", fields.Everything())
			var watches sync.WaitGroup
			var broken atomic.Int64
			for range 50 {
				src, err := source.FromListerWatcher[*corev1.Pod](lw, source.Options{Intercept: true})
				if err != nil {
					t.Fatal(err)
				}
				watches.Go(func() {
					err := src.Watch(t.Context(), source.WatchRequest[*corev1.Pod]{ResourceVersion: "5", Timeout: time.Hour}, func([]source.Event[*corev1.Pod]) error { return nil })
					switch class := classify(err).Class; class {
					case machine.Transport:
						broken.Add(1)
					case machine.NoFailure: // it was not open yet, and client-go makes an empty watch of that
					default:
						t.Errorf("class %v: %v", class, err)
					}
				})
			}
			watches.Wait()
			if broken.Load() == 0 {
				t.Error("no watch was open when the timeout ended it")
			}
		})
	}
}

// Why a request failed is known, however often its client's config was wrapped.
func TestARefusedConnectionIsKnownThroughEveryWrapper(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for wrappers := range 3 {
		config := &rest.Config{Host: server.URL, QPS: -1}
		for range wrappers {
			config.Wrap(source.WrapTransport)
		}
		clients, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		lw := kc.NewListWatchFromClient(clients.CoreV1().RESTClient(), "pods", "", fields.Everything())
		src, err := source.FromListerWatcher[*corev1.Pod](lw, source.Options{Intercept: wrappers > 0})
		if err != nil {
			t.Fatal(err)
		}
		err = src.Watch(t.Context(), source.WatchRequest[*corev1.Pod]{ResourceVersion: "5"}, func([]source.Event[*corev1.Pod]) error { return nil })
		if f := classify(err); f.Class != machine.Transport || !f.Unreachable {
			t.Errorf("%d wrappers: %+v", wrappers, f)
		}
	}
}
