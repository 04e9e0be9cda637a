package conformance

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	fakedynamic "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	fakemetadata "k8s.io/client-go/metadata/fake"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

func interplayRow() row {
	return row{
		id:    "interplay",
		needs: []string{"NewSharedIndexInformer", "NewListWatch", "ToListWatcherWithWatchListSemantics", "NewGenericLister"},
		tests: []test{
			{sentence: "an informer factory takes it through InformerFor, and generated listers read it", run: factoryInformerFor},
			{sentence: "a factory starts, waits for and shuts down what it made of it", run: factoryLife},
			{sentence: "generated informers and listers of one namespace read it", run: factoryNamespace},
			{sentence: "the fake clientset, which knows no watch-list, can be followed", run: fakeClientset},
			{sentence: "unstructured objects of a dynamic client can be followed", run: dynamicClient},
			{sentence: "metadata of a metadata client can be followed", run: metadataClient},
		},
	}
}

// podsOf is what the generated informer of pods would list and watch.
func podsOf(im Implementation, client kubernetes.Interface) kc.ListerWatcher {
	return im.ToListWatcherWithWatchListSemantics(ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods(metav1.NamespaceAll).Watch(ctx, o)
		},
	}, client)
}

// factoryFor makes an informer factory whose informer of pods is under test.
func factoryFor(im Implementation, client kubernetes.Interface) (informers.SharedInformerFactory, kc.SharedIndexInformer) {
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.InformerFor(&corev1.Pod{}, func(c kubernetes.Interface, resync time.Duration) kc.SharedIndexInformer {
		return im.NewSharedIndexInformer(podsOf(im, c), &corev1.Pod{}, resync, kc.Indexers{kc.NamespaceIndex: kc.MetaNamespaceIndexFunc})
	})
	return factory, informer
}

// started starts a factory until the test ends.
func started(t *testing.T, factory informers.SharedInformerFactory) {
	stop := make(chan struct{})
	factory.Start(stop)
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	synctest.Wait()
}

func podNames(pods []*corev1.Pod, err error) []string {
	if err != nil {
		return []string{err.Error()}
	}
	var list []string
	for _, p := range pods {
		list = append(list, describe(p))
	}
	slices.Sort(list)
	return list
}

func factoryInformerFor(t *testing.T, im Implementation) {
	client := fake.NewClientset(pod("ns", "a", label("app", "web")), pod("other", "b"))
	factory, informer := factoryFor(im, client)
	generated := factory.Core().V1().Pods()
	if generated.Informer().GetIndexer() != informer.GetIndexer() {
		t.Fatal("the factory's informer of pods reads another indexer")
	}
	lister := generated.Lister()
	started(t, factory)
	same(t, "all pods", podNames(lister.List(labels.Everything())), "ns/a", "other/b")
	same(t, "web pods", podNames(lister.List(web)), "ns/a")
	same(t, "pods of other", podNames(lister.Pods("other").List(labels.Everything())), "other/b")
	equal(t, "one pod", describe(value(lister.Pods("ns").Get("a"))(t)), "ns/a")
	if _, err := lister.Pods("ns").Get("b"); !apierrors.IsNotFound(err) {
		t.Errorf("a pod that is not there: %v", err)
	}
	value(client.CoreV1().Pods("ns").Create(t.Context(), pod("ns", "c"), metav1.CreateOptions{}))(t)
	must(t, client.CoreV1().Pods("other").Delete(t.Context(), "b", metav1.DeleteOptions{}))
	synctest.Wait()
	same(t, "all pods", podNames(lister.List(labels.Everything())), "ns/a", "ns/c")
}

func factoryLife(t *testing.T, im Implementation) {
	factory, informer := factoryFor(im, fake.NewClientset(pod("ns", "a")))
	r, _ := handle(t, informer)
	stop := make(chan struct{})
	factory.Start(stop)
	synced := factory.WaitForCacheSync(t.Context().Done())
	if len(synced) != 1 {
		t.Errorf("synced: %v", synced)
	}
	for kind, ok := range synced {
		if !ok || !strings.HasSuffix(kind.String(), "Pod") {
			t.Errorf("%v has synced: %v", kind, ok)
		}
	}
	must(t, factory.WaitForCacheSyncWithContext(t.Context()).AsError())
	synctest.Wait()
	r.told(t, "add ns/a initial")
	close(stop)
	factory.Shutdown()
	equal(t, "stopped", informer.IsStopped(), true)
}

func factoryNamespace(t *testing.T, im Implementation) {
	client := fake.NewClientset(pod("ns", "a"), pod("other", "b"))
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("ns"))
	factory.InformerFor(&corev1.Pod{}, func(c kubernetes.Interface, resync time.Duration) kc.SharedIndexInformer {
		lw := im.ToListWatcherWithWatchListSemantics(ListWatch{
			ListFunc: func(o metav1.ListOptions) (runtime.Object, error) {
				return c.CoreV1().Pods("ns").List(context.Background(), o)
			},
			WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
				return c.CoreV1().Pods("ns").Watch(context.Background(), o)
			},
		}, c)
		return im.NewSharedIndexInformer(lw, &corev1.Pod{}, resync, kc.Indexers{kc.NamespaceIndex: kc.MetaNamespaceIndexFunc})
	})
	lister := factory.Core().V1().Pods().Lister()
	started(t, factory)
	same(t, "pods", podNames(lister.List(labels.Everything())), "ns/a")
}

func fakeClientset(t *testing.T, im Implementation) {
	client := fake.NewClientset(pod("ns", "a"))
	informer := im.NewSharedIndexInformer(podsOf(im, client), &corev1.Pod{}, 0, podIndexers())
	r, reg := handle(t, informer)
	running(t, informer.RunWithContext)
	equal(t, "synced", informer.HasSynced() && reg.HasSynced(), true)
	r.told(t, "add ns/a initial")
	pods := client.CoreV1().Pods("ns")
	value(pods.Create(t.Context(), pod("ns", "b", on("n1")), metav1.CreateOptions{}))(t)
	value(pods.Update(t.Context(), pod("ns", "b", on("n2")), metav1.UpdateOptions{}))(t)
	must(t, pods.Delete(t.Context(), "a", metav1.DeleteOptions{}))
	synctest.Wait()
	r.told(t, "add ns/b", "update ns/b to ns/b", "delete ns/a")
	same(t, "on n2", names(value(informer.GetIndexer().ByIndex("node", "n2"))(t)), "ns/b")
	// The fake ends no watch, and has no versions: whoever gives one up and
	// watches again is sent all that exists.
	testclock.Elapse(time.Hour)
	r.told(t)
	same(t, "objects after an hour", names(informer.GetStore().List()), "ns/b")
	value(pods.Create(t.Context(), pod("ns", "c"), metav1.CreateOptions{}))(t)
	testclock.Elapse(time.Minute)
	same(t, "objects after another", names(informer.GetStore().List()), "ns/b", "ns/c")
}

func dynamicClient(t *testing.T, im Implementation) {
	resource := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	widget := func(name, size string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"namespace": "ns", "name": name}, "spec": map[string]any{"size": size},
		}}
	}
	client := fakedynamic.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{resource: "WidgetList"}, widget("a", "small"))
	lw := im.ToListWatcherWithWatchListSemantics(ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.Resource(resource).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Resource(resource).Watch(ctx, o)
		},
	}, client)
	informer := im.NewSharedIndexInformer(lw, &unstructured.Unstructured{}, 0, kc.Indexers{
		kc.NamespaceIndex: kc.MetaNamespaceIndexFunc,
		"size": func(obj any) ([]string, error) {
			size, _, err := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, "spec", "size")
			return []string{size}, err
		},
	})
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.told(t, "add ns/a initial")
	value(client.Resource(resource).Namespace("ns").Create(t.Context(), widget("b", "large"), metav1.CreateOptions{}))(t)
	value(client.Resource(resource).Namespace("ns").Update(t.Context(), widget("a", "large"), metav1.UpdateOptions{}))(t)
	synctest.Wait()
	r.told(t, "add ns/b", "update ns/a to ns/a")
	same(t, "large ones", names(value(informer.GetIndexer().ByIndex("size", "large"))(t)), "ns/a", "ns/b")
	lister := im.NewGenericLister(informer.GetIndexer(), resource.GroupResource())
	equal(t, "one of a generic lister", describe(value(lister.ByNamespace("ns").Get("b"))(t)), "ns/b")
}

func metadataClient(t *testing.T, im Implementation) {
	client := fakemetadata.NewSimpleMetadataClient(metadataScheme(), metadataOf("a"))
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	lw := im.ToListWatcherWithWatchListSemantics(ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return client.Resource(pods).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Resource(pods).Watch(ctx, o)
		},
	}, client)
	informer := im.NewSharedIndexInformer(lw, &metav1.PartialObjectMetadata{}, 0, kc.Indexers{kc.NamespaceIndex: kc.MetaNamespaceIndexFunc})
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.told(t, "add ns/a initial")
	must(t, client.Resource(pods).Namespace("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}))
	synctest.Wait()
	r.told(t, "delete ns/a")
	same(t, "objects", informer.GetStore().List())
}

func metadataScheme() *runtime.Scheme {
	s := fakemetadata.NewTestScheme()
	if err := metav1.AddMetaToScheme(s); err != nil {
		panic("BUG: metadata and a new scheme: " + err.Error())
	}
	return s
}

func metadataOf(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
	}
}
