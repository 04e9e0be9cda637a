package cache

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"
)

// mine is a ListerWatcher of the program that filters what a ListWatch from a client returns,
// as those do that share objects out among replicas.
type mine struct {
	lw interface {
		kc.ListerWatcher
		kc.ListerWatcherWithContext
	}
}

func wants(obj runtime.Object) bool {
	m, err := meta.Accessor(obj)
	return err != nil || m.GetName() != "b"
}

func (w mine) List(o metav1.ListOptions) (runtime.Object, error) {
	return w.ListWithContext(context.Background(), o)
}

func (w mine) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := w.lw.ListWithContext(ctx, o)
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	return list, meta.SetList(list, slices.DeleteFunc(items, func(o runtime.Object) bool { return !wants(o) }))
}

func (w mine) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return w.WatchWithContext(context.Background(), o)
}

func (w mine) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if o.SendInitialEvents != nil {
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
	}
	return w.lw.WatchWithContext(ctx, o) // nothing changes
}

func TestAListerWatcherThatFiltersAListWatchFromAClientIsHeard(t *testing.T) {
	client := podServer(t, runtime.ContentTypeJSON)
	inner := NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "ns", notGone)
	filtered := mine{inner}
	for who, inf := range map[string]SharedIndexInformer{
		"kinglet's ListWatch around one": NewSharedIndexInformer(&ListWatch{ListWithContextFunc: filtered.ListWithContext, WatchFuncWithContext: filtered.WatchWithContext}, &corev1.Pod{}, 0, Indexers{}),
		"client-go":                      kc.NewSharedIndexInformer(mine{kc.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "ns", notGone)}, &corev1.Pod{}, 0, kc.Indexers{}),
		"kinglet":                        NewSharedIndexInformer(filtered, &corev1.Pod{}, 0, Indexers{}),
	} {
		stop := start(inf.RunWithContext)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if !WaitForCacheSync(ctx.Done(), inf.HasSynced) {
			t.Fatal(who, "not synced")
		}
		cancel()
		keys := inf.GetStore().ListKeys()
		if !slices.Equal(keys, []string{"ns/a"}) {
			t.Errorf("%s: the store has %v; the program's ListerWatcher leaves ns/b out", who, keys)
		}
		stop()
	}
}
