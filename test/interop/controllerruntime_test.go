package interop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/source"
)

// closuresOf are the closures that a controller-runtime cache makes for obj.
func closuresOf(t *testing.T, cfg *rest.Config, obj client.Object) source.ListerWatcher {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	var closures source.ListerWatcher
	c := must(cache.New(cfg, cache.Options{
		Scheme: scheme.Scheme, Mapper: mapper,
		NewInformer: func(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, ix toolscache.Indexers) toolscache.SharedIndexInformer {
			closures = lw
			return toolscache.NewSharedIndexInformer(lw, obj, resync, ix)
		},
	}))
	// It was not started, so this only makes the informer.
	if _, err := c.GetInformer(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	return closures
}

func TestAControllerRuntimeCachesClosuresGoThroughAnInterceptor(t *testing.T) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	t.Run("typed", func(t *testing.T) { testControllerRuntime[*corev1.Pod](t, &corev1.Pod{}) })
	t.Run("unstructured", func(t *testing.T) { testControllerRuntime[*unstructured.Unstructured](t, u) })
	// These set the kind on each object, and through an interceptor there is none to
	// set it on: see source.WrapTransport.
	t.Run("metadata", func(t *testing.T) {
		p := &metav1.PartialObjectMetadata{}
		p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		got, want := testControllerRuntime[*metav1.PartialObjectMetadata](t, p)
		for i, it := range want.Items {
			if got.Items[i].Object.Kind != "" || it.Object.Kind != "Pod" {
				t.Fatalf("the kinds are %q through the interceptor and %q without", got.Items[i].Object.Kind, it.Object.Kind)
			}
		}
	})
}

// testControllerRuntime compares all but the kind, which it returns lists for.
func testControllerRuntime[T client.Object](t *testing.T, obj T) (got, want source.Page[T]) {
	s := newAPIServer(t)
	fill(t, s, 30)
	plain := must(source.FromListerWatcher[T](closuresOf(t, s.config(), obj), source.Options{}))
	cfg := s.config()
	cfg.Wrap(source.WrapTransport)
	src := recorded(must(source.FromListerWatcher[T](closuresOf(t, cfg, obj), source.Options{Intercept: true})))
	got, err := list(t, src, source.ListRequest[T]{Limit: 20})
	if err != nil {
		t.Fatal(err)
	}
	if want, err = list(t, plain, source.ListRequest[T]{Limit: 20}); err != nil {
		t.Fatal(err)
	}
	bare := cmp.Comparer(func(a, b metav1.TypeMeta) bool { return true })
	if diff := cmp.Diff(want, got, bare); diff != "" {
		t.Error(diff)
	}
	req := source.WatchRequest[T]{SendInitialEvents: true}
	gotEvents, wantEvents := watchN(t, src, req, 31), watchN(t, plain, req, 31)
	for i := range gotEvents {
		gotEvents[i].Bytes = 0
	}
	if diff := cmp.Diff(wantEvents, gotEvents, bare); diff != "" {
		t.Error(diff)
	}
	src.check(t, 2)
	return got, want
}
