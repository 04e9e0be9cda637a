package interop

//lint:file-ignore SA1019 older generated code sets the deprecated fields

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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	kc "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
)

// Generated informers and listers and the fake clients work the same with
// client-go's tools/cache and with kinglet's cache. This is the part of the
// contract in kinglettest/conformance that needs these packages, which take
// minutes to compile.

// implementation is what is tested of a package cache.
type implementation struct {
	name          string
	newInformer   func(kc.ListerWatcher, runtime.Object, time.Duration, kc.Indexers) kc.SharedIndexInformer
	listerWatcher func(lw kc.ListWatch, client any) kc.ListerWatcher
}

// overBoth runs test over client-go's package and over kinglet's, in a bubble
// each.
func overBoth(t *testing.T, test func(*testing.T, implementation)) {
	for _, im := range []implementation{
		{"client-go", kc.NewSharedIndexInformer, func(lw kc.ListWatch, client any) kc.ListerWatcher {
			return kc.ToListWatcherWithWatchListSemantics(&lw, client)
		}},
		{"kinglet", cache.NewSharedIndexInformer, func(lw kc.ListWatch, client any) kc.ListerWatcher {
			return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
				ListFunc: lw.ListFunc, WatchFunc: lw.WatchFunc,
				ListWithContextFunc: lw.ListWithContextFunc, WatchFuncWithContext: lw.WatchFuncWithContext,
			}, client)
		}},
	} {
		t.Run(im.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, im) })
		})
	}
}

// calls is a handler that remembers its calls, in words.
type calls struct {
	mu   sync.Mutex
	list []string // guarded by mu
}

func (c *calls) write(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, what)
}

func (c *calls) OnAdd(obj any, initial bool) {
	what := "add " + nameOf(obj)
	if initial {
		what += " initial"
	}
	c.write(what)
}

func (c *calls) OnUpdate(before, after any) {
	c.write("update " + nameOf(before) + " to " + nameOf(after))
}

func (c *calls) OnDelete(obj any) {
	if unknown, ok := obj.(kc.DeletedFinalStateUnknown); ok {
		c.write("delete " + nameOf(unknown.Obj) + ", final state unknown")
		return
	}
	c.write("delete " + nameOf(obj))
}

// were checks the calls since the last time, in their order.
func (c *calls) were(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.list, want) {
		t.Errorf("the handler was called with %q, not with %q", c.list, want)
	}
	c.list = nil
}

// nameOf is the key of an object, and its version where it has one.
func nameOf(obj any) string {
	name := must(kc.MetaNamespaceKeyFunc(obj))
	if rv := obj.(metav1.Object).GetResourceVersion(); rv != "" {
		name += "@" + rv
	}
	return name
}

// found checks which objects a store or a lister returns, in any order.
func found[T any](t *testing.T, what string, objects []T, want ...string) {
	t.Helper()
	var names []string
	for _, obj := range objects {
		names = append(names, nameOf(obj))
	}
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("%s: %q, not %q", what, names, want)
	}
}

// run adds a handler and runs the informer until the test ends.
func run(t *testing.T, informer kc.SharedIndexInformer) (*calls, kc.ResourceEventHandlerRegistration) {
	c := &calls{}
	registration := must(informer.AddEventHandler(c))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	synctest.Wait()
	return c, registration
}

// podIn is a pod with the labels and on the node, if they are given.
func podIn(namespace, name, node string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Spec: corev1.PodSpec{NodeName: node},
	}
}

// allPods is what the generated informer of pods lists and watches.
func allPods(im implementation, client kubernetes.Interface) kc.ListerWatcher {
	pods := client.CoreV1().Pods(metav1.NamespaceAll)
	return im.listerWatcher(kc.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		WatchFuncWithContext: pods.Watch,
	}, client)
}

func byNamespace() kc.Indexers { return kc.Indexers{kc.NamespaceIndex: kc.MetaNamespaceIndexFunc} }

// factoryOf makes an informer factory whose informer of pods is under test.
func factoryOf(im implementation, client kubernetes.Interface) (informers.SharedInformerFactory, kc.SharedIndexInformer) {
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.InformerFor(&corev1.Pod{}, func(c kubernetes.Interface, resync time.Duration) kc.SharedIndexInformer {
		return im.newInformer(allPods(im, c), &corev1.Pod{}, resync, byNamespace())
	})
	return factory, informer
}

// start starts a factory until the test ends.
func start(t *testing.T, factory informers.SharedInformerFactory) {
	stop := make(chan struct{})
	factory.Start(stop)
	t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	synctest.Wait()
}

func TestAnInformerFactoryTakesAnInformerThroughInformerForAndGeneratedListersReadIt(t *testing.T) {
	overBoth(t, func(t *testing.T, im implementation) {
		web := map[string]string{"app": "web"}
		client := fake.NewClientset(podIn("ns", "a", "", web), podIn("other", "b", "", nil))
		factory, informer := factoryOf(im, client)
		generated := factory.Core().V1().Pods()
		if generated.Informer().GetIndexer() != informer.GetIndexer() {
			t.Fatal("the factory's informer of pods reads another indexer")
		}
		lister := generated.Lister()
		start(t, factory)
		found(t, "all pods", must(lister.List(labels.Everything())), "ns/a", "other/b")
		found(t, "web pods", must(lister.List(labels.SelectorFromSet(web))), "ns/a")
		found(t, "pods of other", must(lister.Pods("other").List(labels.Everything())), "other/b")
		found(t, "one pod", []any{must(lister.Pods("ns").Get("a"))}, "ns/a")
		if _, err := lister.Pods("ns").Get("b"); !apierrors.IsNotFound(err) {
			t.Errorf("a pod that is not there: %v", err)
		}
		must(client.CoreV1().Pods("ns").Create(t.Context(), podIn("ns", "c", "", nil), metav1.CreateOptions{}))
		must(0, client.CoreV1().Pods("other").Delete(t.Context(), "b", metav1.DeleteOptions{}))
		synctest.Wait()
		found(t, "all pods", must(lister.List(labels.Everything())), "ns/a", "ns/c")
	})
}

func TestTheFakeClientsetWhichKnowsNoWatchListIsFollowed(t *testing.T) {
	overBoth(t, func(t *testing.T, im implementation) {
		client := fake.NewClientset(podIn("ns", "a", "", nil))
		indexers := byNamespace()
		indexers["node"] = func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }
		informer := im.newInformer(allPods(im, client), &corev1.Pod{}, 0, indexers)
		c, registration := run(t, informer)
		if !informer.HasSynced() || !registration.HasSynced() {
			t.Error("not synced")
		}
		c.were(t, "add ns/a initial")
		pods := client.CoreV1().Pods("ns")
		must(pods.Create(t.Context(), podIn("ns", "b", "n1", nil), metav1.CreateOptions{}))
		must(pods.Update(t.Context(), podIn("ns", "b", "n2", nil), metav1.UpdateOptions{}))
		must(0, pods.Delete(t.Context(), "a", metav1.DeleteOptions{}))
		synctest.Wait()
		c.were(t, "add ns/b", "update ns/b to ns/b", "delete ns/a")
		found(t, "on n2", must(informer.GetIndexer().ByIndex("node", "n2")), "ns/b")
		// The fake ends no watch and has no versions: an informer that gives a
		// watch up and watches again is sent all that exists.
		testbubble.Elapse(time.Hour)
		c.were(t)
		found(t, "objects after an hour", informer.GetStore().List(), "ns/b")
		must(pods.Create(t.Context(), podIn("ns", "c", "", nil), metav1.CreateOptions{}))
		testbubble.Elapse(time.Minute)
		found(t, "objects after another minute", informer.GetStore().List(), "ns/b", "ns/c")
	})
}

// A fake has no transport, so that nothing of it can be read from the wire.
func TestTheStatusOfAnInformerOverAFakeSaysThatItsClientReads(t *testing.T) {
	client := fake.NewClientset(podIn("ns", "a", "", nil))
	pods := client.CoreV1().Pods("ns")
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return pods.List(ctx, o) },
		WatchFuncWithContext: pods.Watch,
	}, client)
	for _, c := range []struct{ verbosity, lines int }{{0, 0}, {2, 1}} {
		informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{})
		log := &testkit.Log{}
		ctx, stop := context.WithCancel(klog.NewContext(t.Context(),
			textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(log), textlogger.Verbosity(c.verbosity)))))
		ended := make(chan struct{})
		go func() { defer close(ended); informer.RunWithContext(ctx) }()
		if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			t.Fatal("not synced")
		}
		status := informer.(cache.Observable).Status()
		stop()
		<-ended
		if got := status.ReadPath; got.Path != source.PathClient || !errors.Is(got.Why, source.ErrNotIntercepted) || got.Since.IsZero() {
			t.Errorf("%v since %v because of %v", got.Path, got.Since, got.Why)
		}
		if n := log.Count("Objects are read another way"); n != c.lines {
			t.Errorf("%d lines at verbosity %d, want %d", n, c.verbosity, c.lines)
		}
	}
}
