package interop

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// fakeClient is one of client-go's fakes, as what makes informers uses it.
type fakeClient struct {
	name    string
	example runtime.Object
	// made returns closures over a client that has pod "a", and what writes
	// another one.
	made func() (client any, lw *cache.ListWatch, create func(context.Context) error)
}

func fakeClients() []fakeClient {
	return []fakeClient{
		{"typed", &corev1.Pod{}, func() (any, *cache.ListWatch, func(context.Context) error) {
			client := fake.NewClientset(fakePod("a"))
			pods := client.CoreV1().Pods("ns")
			return client, &cache.ListWatch{
					ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
					WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
				}, func(ctx context.Context) error {
					_, err := pods.Create(ctx, fakePod("b"), metav1.CreateOptions{})
					return err
				}
		}},
		{"dynamic", asUnstructured(fakePod("")), func() (any, *cache.ListWatch, func(context.Context) error) {
			scheme := runtime.NewScheme()
			_ = corev1.AddToScheme(scheme)
			client := dynamicfake.NewSimpleDynamicClient(scheme, fakePod("a"))
			var pods dynamic.ResourceInterface = client.Resource(podGVR).Namespace("ns")
			return client, &cache.ListWatch{
					ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
					WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
				}, func(ctx context.Context) error {
					_, err := pods.Create(ctx, asUnstructured(fakePod("b")), metav1.CreateOptions{})
					return err
				}
		}},
		{"metadata", &metav1.PartialObjectMetadata{}, func() (any, *cache.ListWatch, func(context.Context) error) {
			scheme := metadatafake.NewTestScheme()
			_ = metav1.AddMetaToScheme(scheme)
			client := metadatafake.NewSimpleMetadataClient(scheme, asMetadata(fakePod("a")))
			var pods metadata.ResourceInterface = client.Resource(podGVR).Namespace("ns")
			return client, &cache.ListWatch{
				ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
				WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(ctx, o) },
			}, func(context.Context) error { return client.Tracker().Create(podGVR, asMetadata(fakePod("b")), "ns") }
		}},
	}
}

// TestAnInformerOfAFakeClientIsSyncedWithoutWaiting: a fake knows no watch-list
// and never sends a bookmark, and says so, where the closures pass that on.
// Where they do not, it takes the time in which an API server would have sent
// something.
func TestAnInformerOfAFakeClientIsSyncedWithoutWaiting(t *testing.T) {
	for _, c := range fakeClients() {
		for _, says := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) { followFake(t, c, says) })
		}
	}
}

func followFake(t *testing.T, c fakeClient, says bool) {
	client, closures, create := c.made()
	var lw source.ListerWatcher = closures
	if says {
		lw = cache.ToListWatcherWithWatchListSemantics(closures, client)
	}
	src, err := source.FromListerWatcher[any](lw, source.Options{Example: c.example})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[any]{KeyFunc: source.ObjectKey[any], OnError: func(error) {}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)
	go func() { ran <- inf.Run(ctx) }()
	start := time.Now()
	if err := inf.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); (took == 0) != says || took > time.Minute {
		t.Errorf("%s, says %v: synced after %v", c.name, says, took)
	}
	synctest.Wait()
	if err := create(ctx); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	for _, name := range []string{"a", "b"} {
		obj, ok := inf.Store().Get(store.Key{Namespace: "ns", Name: name})
		if got, want := typeOf(obj), typeOf(c.example); !ok || got != want {
			t.Errorf("%s, says %v: %s is %s, want %s: %+v", c.name, says, name, got, want, inf.Status())
		}
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

func typeOf(obj any) string { return fmt.Sprintf("%T", obj) }

// TestASourceOverAFakeClientsetKnowsWhatItCannotDo: a fake knows no watch-list,
// and says so.
func TestASourceOverAFakeClientsetKnowsWhatItCannotDo(t *testing.T) {
	client := fake.NewClientset(fakePod("a"), fakePod("b"))
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("ns").List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("ns").Watch(ctx, o)
		},
	}, client)
	src, err := source.FromListerWatcher[*corev1.Pod](lw, source.Options{LabelSelector: "x=y"})
	if err != nil {
		t.Fatal(err)
	}
	if !src.Traits().NoWatchList {
		t.Error("a fake clientset cannot do watch-lists, and the source does not say so")
	}
	if src.String() != "*v1.Pod, selector x=y" {
		t.Errorf("it is called %s", src)
	}
	if src, err = source.FromListerWatcher[*corev1.Pod](lw, source.Options{}); err != nil {
		t.Fatal(err)
	}
	var keys []string
	err = src.List(t.Context(), source.ListRequest[*corev1.Pod]{}, func(p source.Page[*corev1.Pod]) error {
		for _, it := range p.Items {
			keys = append(keys, it.Key.String())
		}
		return nil
	})
	if err != nil || fmt.Sprint(keys) != "[ns/a ns/b]" {
		t.Errorf("it lists %v: %v", keys, err)
	}
}
