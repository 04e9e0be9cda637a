package interop

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
)

var (
	podGVR    = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	widgetGVR = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

// listWatch has the closures that informers of a client with such methods
// have.
func listWatch[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error), watch func(context.Context, metav1.ListOptions) (watch.Interface, error)) source.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) },
		WatchFuncWithContext: watch,
	}
}

func typedPods(cfg *rest.Config) source.ListerWatcher {
	pods := must(kubernetes.NewForConfig(cfg)).CoreV1().Pods("ns")
	return listWatch(pods.List, pods.Watch)
}

func typedJSONPods(cfg *rest.Config) source.ListerWatcher {
	cfg.AcceptContentTypes = runtime.ContentTypeJSON
	return typedPods(cfg)
}

func dynamicOf(gvr schema.GroupVersionResource) func(*rest.Config) source.ListerWatcher {
	return func(cfg *rest.Config) source.ListerWatcher {
		r := must(dynamic.NewForConfig(cfg)).Resource(gvr).Namespace("ns")
		return listWatch(r.List, r.Watch)
	}
}

func metadataOf(gvr schema.GroupVersionResource) func(*rest.Config) source.ListerWatcher {
	return func(cfg *rest.Config) source.ListerWatcher {
		r := must(metadata.NewForConfig(cfg)).Resource(gvr).Namespace("ns")
		return listWatch(r.List, r.Watch)
	}
}

// fill gives the server n pods, as strange as apimachinery's round trip tests
// make them, and n widgets.
func fill(t *testing.T, s *apiServer, n int) {
	seed := int64(testkit.Seed(t))
	fuzz := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.New(rand.NewSource(seed)), scheme.Codecs)
	for i := range n {
		p := &corev1.Pod{}
		fuzz.Fill(p)
		// What no server sends: it keeps protobuf, which has no empty lists.
		p.ManagedFields, p.ResourceVersion = nil, ""
		raw := must(p.Marshal())
		if *p = (corev1.Pod{}); p.Unmarshal(raw) != nil {
			t.Fatal("the pod does not survive protobuf")
		}
		p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
		p.Namespace, p.Name = "ns", fmt.Sprintf("pod-%03d", i)
		s.put(p)
		s.put(widget("ns", fmt.Sprintf("widget-%03d", i)))
	}
}

func TestThroughAnInterceptor(t *testing.T) {
	t.Run("a generated client", func(t *testing.T) { testInterceptor[*corev1.Pod](t, typedPods) })
	t.Run("a generated client of JSON", func(t *testing.T) { testInterceptor[*corev1.Pod](t, typedJSONPods) })
	t.Run("a dynamic client, built-in kind", func(t *testing.T) { testInterceptor[*unstructured.Unstructured](t, dynamicOf(podGVR)) })
	t.Run("a dynamic client, custom kind", func(t *testing.T) {
		testInterceptor[*unstructured.Unstructured](t, dynamicOf(widgetGVR))
	})
	t.Run("a metadata client, built-in kind", func(t *testing.T) { testInterceptor[*metav1.PartialObjectMetadata](t, metadataOf(podGVR)) })
	t.Run("a metadata client, custom kind", func(t *testing.T) {
		testInterceptor[*metav1.PartialObjectMetadata](t, metadataOf(widgetGVR))
	})
}

// testInterceptor holds what comes through an interceptor against what the closures of a
// client return, and sees that a list is sent again when the server asks for it.
func testInterceptor[T any](t *testing.T, lw func(*rest.Config) source.ListerWatcher) {
	s := newAPIServer(t)
	fill(t, s, 50)
	plain := must(source.FromListerWatcher[T](lw(s.config()), source.Options{}))
	cfg := s.config()
	cfg.Wrap(source.WrapTransport)
	src := recorded(must(source.FromListerWatcher[T](lw(cfg), source.Options{Intercept: true})))
	var read int64

	// Paged, with a credential that ran out and a server that is busy.
	s.rotate("the second")
	_, err := list(t, src, source.ListRequest[T]{Limit: 20})
	if err == nil {
		// The plugin was not asked before, so it gave the second token.
		read++
		s.rotate("the third")
		_, err = list(t, src, source.ListRequest[T]{Limit: 20})
	}
	if !apierrors.IsUnauthorized(err) {
		t.Errorf("with an old token: %v", err)
	}
	if _, err := list(t, plain, source.ListRequest[T]{}); err != nil {
		t.Errorf("without an interceptor: %v", err)
	}
	var token string
	for page := range 3 {
		if page == 1 {
			s.throttle(1)
		}
		s.forget()
		req := source.ListRequest[T]{Limit: 20, Continue: token}
		got, err := list(t, src, req)
		if err != nil {
			t.Fatal(err)
		}
		read++
		want, err := list(t, plain, req)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("page %d: %s", page, diff)
		}
		for i, r := range s.forget() {
			if r.proto != "HTTP/2.0" || (r.code == 429) != (page == 1 && i == 0) {
				t.Errorf("page %d, request %d: %+v", page, i, r)
			}
		}
		token = got.Continue
	}
	if token != "" {
		t.Error("there is a fourth page")
	}

	// A watch from a version and a watch-list, each refused once: a client alone would try
	// again, and the source says so.
	for _, req := range []source.WatchRequest[T]{{ResourceVersion: "130"}, {SendInitialEvents: true}} {
		s.throttle(1)
		if err := src.Watch(t.Context(), req, func([]source.Event[T]) error { return nil }); !apierrors.IsTooManyRequests(err) {
			t.Errorf("refused: %v", err)
		}
		got := watchN(t, src, req, 35)
		want := watchN(t, plain, req, 35)
		for i := range got {
			got[i].Bytes, got[i].Size = 0, 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		read++
	}
	src.check(t, read)
}

// recorder counts how many answers its source has read, and has left to the client.
type recorder[T any] struct {
	source.Source[T]
	read, left int64
}

func recorded[T any](src source.Source[T]) *recorder[T] { return &recorder[T]{Source: src} }

func (r *recorder[T]) path(onPath func(source.ReadPath)) func(source.ReadPath) {
	return func(p source.ReadPath) {
		if p.Path == source.PathClient {
			r.left++
		} else {
			r.read++
		}
		if onPath != nil {
			onPath(p)
		}
	}
}

func (r *recorder[T]) List(ctx context.Context, req source.ListRequest[T], yield func(source.Page[T]) error) error {
	req.OnPath = r.path(req.OnPath)
	return r.Source.List(ctx, req, yield)
}

func (r *recorder[T]) Watch(ctx context.Context, req source.WatchRequest[T], yield func([]source.Event[T]) error) error {
	req.OnPath = r.path(req.OnPath)
	return r.Source.Watch(ctx, req, yield)
}

func (r *recorder[T]) check(t *testing.T, read int64) {
	t.Helper()
	if r.read != read || r.left != 0 {
		t.Errorf("%d were read and %d left to the client, want %d read", r.read, r.left, read)
	}
}

// list puts the pages of one answer together.
func list[T any](t *testing.T, src source.Source[T], req source.ListRequest[T]) (source.Page[T], error) {
	t.Helper()
	var all source.Page[T]
	err := src.List(t.Context(), req, func(p source.Page[T]) error {
		for i := range p.Items {
			p.Items[i].Size = 0
		}
		p.Items = append(all.Items, p.Items...)
		p.Bytes = 0
		all = p
		return nil
	})
	return all, err
}

var errEnough = errors.New("enough")

// watchN returns the first n events.
func watchN[T any](t *testing.T, src source.Source[T], req source.WatchRequest[T], n int) []source.Event[T] {
	t.Helper()
	var got []source.Event[T]
	err := src.Watch(t.Context(), req, func(events []source.Event[T]) error {
		if got = append(got, events...); len(got) >= n {
			return errEnough
		}
		return nil
	})
	if err != errEnough {
		t.Errorf("after %d events: %v", len(got), err)
	}
	return got[:min(n, len(got))]
}
