package interop

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientcache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

// A client that knows nothing of kinglet is above, WrapTransport below; in
// between it shows who has decoded.
func TestInformersOfTheDropInReadTheWireWhereTheClientPassesWrapTransport(t *testing.T) {
	for _, c := range []struct {
		name string
		lw   func(*testing.T, *rest.Config) source.ListerWatcher
		obj  runtime.Object
		// kindless: the closures set the kind on each object, and from the wire there is
		// none to set it on (source.WrapTransport).
		kindless bool
	}{
		{"a generated client", alone(typedPods), &corev1.Pod{}, false},
		{"a generated client of JSON", alone(typedJSONPods), &corev1.Pod{}, false},
		{"a dynamic client", alone(dynamicOf(widgetGVR)), &unstructured.Unstructured{}, false},
		{"a metadata client", alone(metadataOf(podGVR)), &metav1.PartialObjectMetadata{}, false},
		{"controller-runtime", closuresFor(&corev1.Pod{}), &corev1.Pod{}, false},
		{"controller-runtime, unstructured", closuresFor(ofPods(&unstructured.Unstructured{})), &unstructured.Unstructured{}, false},
		{"controller-runtime, metadata", closuresFor(ofPods(&metav1.PartialObjectMetadata{})), &metav1.PartialObjectMetadata{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newAPIServer(t)
			fill(t, s, 30)
			var objects [2]map[string]any
			for i, wrap := range []bool{false, true} {
				cfg := s.bearer()
				if wrap {
					cfg.Wrap(source.WrapTransport)
				}
				m := &meter{}
				cfg.Wrap(m.wrap)
				objects[i] = synced(t, cache.NewSharedIndexInformer(c.lw(t, cfg), c.obj, 0, cache.Indexers{}))
				if n := m.objects(); wrap && n != 0 || !wrap && n < 30 {
					t.Errorf("wrapped %v: the client itself has read %d objects", wrap, n)
				}
			}
			if c.kindless {
				for _, obj := range objects[0] {
					gvk := obj.(runtime.Object).GetObjectKind()
					if gvk.GroupVersionKind().Kind != "Pod" {
						t.Errorf("the kind is %v", gvk.GroupVersionKind())
					}
					gvk.SetGroupVersionKind(schema.GroupVersionKind{})
				}
			}
			if diff := cmp.Diff(objects[0], objects[1]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func alone(lw func(*rest.Config) source.ListerWatcher) func(*testing.T, *rest.Config) source.ListerWatcher {
	return func(_ *testing.T, cfg *rest.Config) source.ListerWatcher { return lw(cfg) }
}

// ofPods sets the kind of obj.
func ofPods(obj client.Object) client.Object {
	obj.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	return obj
}

// closuresFor returns what makes the closures of a controller-runtime cache for obj.
func closuresFor(obj client.Object) func(*testing.T, *rest.Config) source.ListerWatcher {
	return func(t *testing.T, cfg *rest.Config) (closures source.ListerWatcher) {
		t.Helper()
		mapper := meta.NewDefaultRESTMapper(nil)
		mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
		c := must(ctrlcache.New(cfg, ctrlcache.Options{
			Scheme: scheme.Scheme, Mapper: mapper,
			NewInformer: func(lw clientcache.ListerWatcher, obj runtime.Object, resync time.Duration, ix clientcache.Indexers) clientcache.SharedIndexInformer {
				closures = lw
				return clientcache.NewSharedIndexInformer(lw, obj, resync, ix)
			},
		}))
		// It was not started, so this only makes the informer.
		if _, err := c.GetInformer(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		return closures
	}
}

// A server of both encodings is asked for protobuf first, also by a client that
// speaks JSON, unless its configuration names what it accepts.
func TestAListWatchFromAClientOfTheDropInReadsTheWireByItself(t *testing.T) {
	for accepts, asked := range map[string]string{"": runtime.ContentTypeProtobuf, runtime.ContentTypeJSON: runtime.ContentTypeJSON} {
		s := newAPIServer(t)
		fill(t, s, 30)
		cfg := s.bearer()
		cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, accepts
		pods := kubernetes.NewForConfigOrDie(cfg).CoreV1().RESTClient()
		got := synced(t, cache.NewSharedIndexInformer(
			cache.NewListWatchFromClient(pods, "pods", "ns", fields.Everything()), &corev1.Pod{}, 0, cache.Indexers{}))
		for _, r := range s.forget() {
			if first, _, _ := strings.Cut(r.accept, ","); first != asked {
				t.Errorf("by a client that accepts %q the server was asked for %q", accepts, r.accept)
			}
		}
		want := synced(t, clientcache.NewSharedIndexInformer(
			clientcache.NewListWatchFromClient(pods, "pods", "ns", fields.Everything()), &corev1.Pod{}, 0, clientcache.Indexers{}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// synced runs an informer until it has synced, and returns what it has then.
func synced(t *testing.T, informer cache.SharedIndexInformer) map[string]any {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Error("not synced")
	}
	all := map[string]any{}
	for _, obj := range informer.GetStore().List() {
		all[must(cache.MetaNamespaceKeyFunc(obj))] = obj
	}
	stop()
	<-ended
	return all
}

// meter keeps what it sees pass.
type meter struct {
	mu   sync.Mutex
	seen bytes.Buffer // guarded by mu
}

// objects counts the names of those that fill makes.
func (m *meter) objects() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.seen.Bytes()
	return bytes.Count(b, []byte("pod-0")) + bytes.Count(b, []byte("widget-0"))
}

// Write implements io.Writer.
func (m *meter) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen.Write(b)
}

// wrap is for rest.Config.Wrap.
func (m *meter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(resp.Body, m), resp.Body}
		}
		return resp, err
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
