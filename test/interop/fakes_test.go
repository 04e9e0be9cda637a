package interop

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kinglet-go/kinglet/cache"
)

// Unit tests of controllers run on client-go's fakes, which know no watch-list
// and forget what happened between a list and a watch.

// told is a handler that keeps what it was told, in words.
type told struct {
	mu    sync.Mutex
	words []string // guarded by mu
}

func (h *told) say(what string, obj any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		what, obj = what+" unseen", gone.Obj
	}
	h.words = append(h.words, what+" "+obj.(metav1.Object).GetName())
}

func (h *told) OnAdd(obj any, _ bool)  { h.say("add", obj) }
func (h *told) OnUpdate(_, newObj any) { h.say("update", newObj) }
func (h *told) OnDelete(obj any)       { h.say("delete", obj) }
func (h *told) is(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	slices.Sort(h.words)
	slices.Sort(want)
	if !slices.Equal(h.words, want) {
		t.Errorf("the handler was told of %q, not of %q", h.words, want)
	}
	h.words = nil
}

// runInBubble runs an informer, in a bubble, until use has returned.
func runInBubble(t *testing.T, informer cache.SharedIndexInformer, use func(*told)) {
	t.Helper()
	h := &told{}
	must(informer.AddEventHandler(h))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	use(h)
	stop()
	<-ended
}

// inBubble is a watch error handler that logs nothing: apimachinery's log of
// errors waits a moment since the last one, which in a bubble was years ahead.
func inBubble(*cache.Reflector, error) {}

func fakePod(name string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
	}
}

func asUnstructured(pod *corev1.Pod) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: must(runtime.DefaultUnstructuredConverter.ToUnstructured(pod))}
}

func asMetadata(pod *corev1.Pod) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: pod.TypeMeta, ObjectMeta: pod.ObjectMeta}
}

func TestInformersOverFakeClientsAreToldOfWhatATestDoes(t *testing.T) {
	t.Run("a fake clientset", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client := fake.NewClientset(fakePod("a"))
			pods := client.CoreV1().Pods("ns")
			testFake(t, client, client.Tracker(), closuresFor(pods.List, pods.Watch), &corev1.Pod{}, func(p *corev1.Pod) runtime.Object { return p })
		})
	})
	t.Run("a fake dynamic client", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, asUnstructured(fakePod("a")))
			pods := client.Resource(podGVR).Namespace("ns")
			testFake(t, client, client.Tracker(), closuresFor(pods.List, pods.Watch), &unstructured.Unstructured{},
				func(p *corev1.Pod) runtime.Object { return asUnstructured(p) })
		})
	})
	t.Run("a fake metadata client", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			known := metadatafake.NewTestScheme()
			must(0, metav1.AddMetaToScheme(known))
			client := metadatafake.NewSimpleMetadataClient(known, asMetadata(fakePod("a")))
			pods := client.Resource(podGVR).Namespace("ns")
			testFake(t, client, client.Tracker(), closuresFor(pods.List, pods.Watch), &metav1.PartialObjectMetadata{},
				func(p *corev1.Pod) runtime.Object { return asMetadata(p) })
		})
	})
}

// testFake runs an informer over the closures of a fake client whose tracker
// has the pod a.
func testFake(t *testing.T, client any, tracker clienttesting.ObjectTracker, lw *cache.ListWatch, example runtime.Object, shown func(*corev1.Pod) runtime.Object) {
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lw, client), example, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	runInBubble(t, informer, func(h *told) {
		began := time.Now()
		h.is(t, "add a")
		if !informer.HasSynced() {
			t.Error("not synced")
		}
		must(0, tracker.Create(podGVR, shown(fakePod("b")), "ns"))
		h.is(t, "add b")
		changed := fakePod("b")
		changed.Labels = map[string]string{"changed": "yes"}
		must(0, tracker.Update(podGVR, shown(changed), "ns"))
		h.is(t, "update b")
		must(0, tracker.Delete(podGVR, "ns", "a"))
		h.is(t, "delete a")
		lister := cache.NewGenericLister(informer.GetIndexer(), podGVR.GroupResource())
		if objs := must(lister.ByNamespace("ns").List(labels.SelectorFromSet(changed.Labels))); len(objs) != 1 {
			t.Errorf("%d pods are listed", len(objs))
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("it took %v", waited)
		}
	})
}

// A generated fake of years ago does not say what it cannot do.
func TestAFakeThatSaysNothingOfWatchListsIsListedAfterADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(fakePod("a"))
		pods := client.CoreV1().Pods("ns")
		informer := cache.NewSharedIndexInformer(closuresFor(pods.List, pods.Watch), &corev1.Pod{}, 0, cache.Indexers{})
		must(0, informer.SetWatchErrorHandler(inBubble))
		runInBubble(t, informer, func(h *told) {
			if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
				t.Fatal("not synced")
			}
			h.is(t, "add a")
		})
	})
}

func TestReactorsOfAFakeClientsetMayFailAndAreAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(fakePod("a"))
		failures := 0
		client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			failures++
			return failures <= 2, nil, apierrors.NewInternalError(errors.New("on purpose"))
		})
		factory := informers.NewSharedInformerFactory(client, 0)
		informer := factory.InformerFor(&corev1.Pod{}, fakePodInformer)
		var failed []error
		must(0, informer.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { failed = append(failed, err) }))
		runInBubble(t, informer, func(h *told) {
			if !cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced) {
				t.Fatal("not synced")
			}
			h.is(t, "add a")
			if len(failed) != 2 || !apierrors.IsInternalError(failed[0]) || !apierrors.IsInternalError(failed[1]) {
				t.Errorf("the error handler was told of %v", failed)
			}
			if pod := must(factory.Core().V1().Pods().Lister().Pods("ns").Get("a")); pod.Name != "a" {
				t.Errorf("the lister gets %v", pod)
			}
		})
	})
}

// A test that plays the server sends whatever it likes through a watch of its
// own.
func TestAWatchReactorsWatchIsFollowedThroughErrorsAndItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(fakePod("a"))
		watches := make(chan *watch.FakeWatcher, 10)
		client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) {
			w := watch.NewFake()
			watches <- w
			return true, w, nil
		})
		informer := fakePodInformer(client, 0)
		must(0, informer.SetWatchErrorHandler(inBubble))
		runInBubble(t, informer, func(h *told) {
			w := <-watches
			h.is(t, "add a")
			w.Add(versioned("b", "5"))
			w.Modify(versioned("b", "6"))
			w.Action(watch.Bookmark, versioned("", "7"))
			h.is(t, "add b", "update b")
			if v := informer.LastSyncResourceVersion(); v != "7" {
				t.Errorf("after a bookmark the version is %q", v)
			}
			// The version is gone, and a list must tell that b is as well. Of a,
			// which is what it was, it tells nobody.
			w.Error(&apierrors.NewResourceExpired("on purpose").ErrStatus)
			w = <-watches
			h.is(t, "delete unseen b")
			w.Delete(versioned("a", "8"))
			h.is(t, "delete a")
			// A watch that simply ends is begun again, without a list.
			w.Stop()
			w = <-watches
			w.Add(versioned("c", "9"))
			h.is(t, "add c")
		})
	})
}

func versioned(name, version string) *corev1.Pod {
	p := fakePod(name)
	p.ResourceVersion = version
	return p
}

// closuresFor are what informers of a client with such methods hand over.
func closuresFor[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error), watch func(context.Context, metav1.ListOptions) (watch.Interface, error)) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) },
		WatchFuncWithContext: watch,
	}
}

// fakePodInformer is what generated code has for pods.
func fakePodInformer(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
	pods := client.CoreV1().Pods(metav1.NamespaceAll)
	lw := cache.ToListWatcherWithWatchListSemantics(closuresFor(pods.List, pods.Watch), client)
	return cache.NewSharedIndexInformer(lw, &corev1.Pod{}, resync, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}
