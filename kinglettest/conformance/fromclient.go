package conformance

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"
)

// The part of the row "list and watch" that uses a server over HTTP, in real time.

func fromClientRequests(t *testing.T, im Implementation) {
	s := newServer(t, 0)
	s.put(t, pod("ns", "a"))
	s.put(t, pod("other", "b"))
	byName := im.NewListWatchFromClient(s.client, "pods", "ns", fields.OneTermEqualSelector("metadata.name", "a"))
	filtered := im.NewFilteredListWatchFromClient(s.client, "pods", metav1.NamespaceAll, func(o *metav1.ListOptions) {
		o.LabelSelector = "app=web"
		o.ResourceVersion = "7"
	})
	for _, c := range []struct {
		lw   kc.ListerWatcher
		want string
	}{
		{byName, `pods in "ns" fields=metadata.name=a labels= version=5`},
		{filtered, `pods in "" fields= labels=app=web version=7`},
	} {
		value(c.lw.List(metav1.ListOptions{ResourceVersion: "5"}))(t)
		value(c.lw.Watch(metav1.ListOptions{ResourceVersion: "5"}))(t).Stop()
		with := c.lw.(kc.ListerWatcherWithContext)
		value(with.ListWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "5"}))(t)
		value(with.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "5"}))(t).Stop()
		same(t, "requests", s.take(), "list "+c.want, "watch "+c.want, "list "+c.want, "watch "+c.want)
	}
}

func fromClientByItself(t *testing.T, im Implementation) {
	s := newServer(t, 0)
	s.put(t, pod("ns", "a"))
	lw := im.NewListWatchFromClient(s.client, "pods", "ns", fields.Everything())
	list, ok := value(lw.List(metav1.ListOptions{}))(t).(*corev1.PodList)
	if !ok || len(list.Items) != 1 || describe(&list.Items[0]) != "ns/a@101" || list.ResourceVersion != "101" {
		t.Fatalf("listed %v", list)
	}
	w := value(lw.Watch(metav1.ListOptions{ResourceVersion: list.ResourceVersion}))(t)
	s.put(t, pod("ns", "b"))
	if e := <-w.ResultChan(); e.Type != watch.Added || describe(e.Object) != "ns/b@102" {
		t.Errorf("watched %v", e)
	}
	w.Stop()
	// It ends. Its error about having been stopped is ignored.
	for range w.ResultChan() {
	}
	none := im.NewListWatchFromClient(s.client, "none", "ns", fields.Everything())
	if _, err := none.List(metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a list of a resource that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := lw.(kc.ListerWatcherWithContext).ListWithContext(ctx, metav1.ListOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a list whose context has ended: %v", err)
	}
}

// following runs an informer over HTTP and returns a channel of its notifications, with
// room for all that a test causes.
func following(t *testing.T, im Implementation, lw kc.ListerWatcher) (kc.SharedIndexInformer, <-chan string) {
	t.Helper()
	informer := podInformer(im, lw)
	told := make(chan string, 16)
	value(informer.AddEventHandler(kc.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { told <- "add " + describe(obj) },
		UpdateFunc: func(_, obj any) { told <- "update " + describe(obj) },
		DeleteFunc: func(obj any) { told <- "delete " + describe(obj) },
	}))(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { informer.RunWithContext(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })
	<-informer.HasSyncedChecker().Done()
	return informer, told
}

func fromClientInforms(t *testing.T, im Implementation) {
	for what, make := range map[string]func(kc.Getter) kc.ListerWatcher{
		"a namespace": func(c kc.Getter) kc.ListerWatcher {
			return im.NewListWatchFromClient(c, "pods", "ns", fields.Everything())
		},
		"a label": func(c kc.Getter) kc.ListerWatcher {
			return im.NewFilteredListWatchFromClient(c, "pods", metav1.NamespaceAll, func(o *metav1.ListOptions) { o.LabelSelector = "app=web" })
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newServer(t, 3)
			web := func(name string, change ...func(*corev1.Pod)) *corev1.Pod {
				return pod("ns", name, append(change, label("app", "web"), on("n1"))...)
			}
			s.put(t, web("a"))
			s.put(t, pod("other", "b"))
			informer, told := following(t, im, make(s.client))
			same(t, "objects", names(informer.GetStore().List()), "ns/a@101")
			s.put(t, web("c"))
			s.put(t, pod("other", "d"))
			s.put(t, web("a", label("changed", "yes")))
			s.remove(t, "ns", "c")
			for _, want := range []string{"add ns/a@101", "add ns/c@103", "update ns/a@105", "delete ns/c@106"} {
				equal(t, "told", <-told, want)
			}
			same(t, "on n1", names(value(informer.GetIndexer().ByIndex("node", "n1"))(t)), "ns/a@105")
			s.put(t, web("e"))
			equal(t, "told after the end of a watch", <-told, "add ns/e@107")
		})
	}
}

func fromClientReplaced(t *testing.T, im Implementation) {
	s := newServer(t, 0)
	s.put(t, pod("ns", "a"))
	lw := im.NewListWatchFromClient(s.client, "pods", "ns", fields.Everything())
	var lists, watches atomic.Int32
	im.ChangeListWatch(lw, func(lw *ListWatch) {
		list, watcher := lw.ListWithContextFunc, lw.WatchFuncWithContext
		lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			lists.Add(1)
			list, err := list(ctx, o)
			if err == nil {
				list.(*corev1.PodList).Items[0].Spec.NodeName = "changed"
			}
			return list, err
		}
		lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			watches.Add(1)
			return watcher(ctx, o)
		}
	})
	informer, _ := following(t, im, lw)
	if lists.Load() == 0 || watches.Load() == 0 {
		t.Errorf("the functions were called %d and %d times", lists.Load(), watches.Load())
	}
	same(t, "changed objects", names(value(informer.GetIndexer().ByIndex("node", "changed"))(t)), "ns/a@101")
}
