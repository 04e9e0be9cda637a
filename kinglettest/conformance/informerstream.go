package conformance

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testbubble"
)

func informerWrongType(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.take()
	reports.drain()
	o.send(watch.Event{Type: watch.Added, Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}})
	o.put(pod("ns", "b"))
	testbubble.Elapse(time.Minute)
	r.told(t, "add ns/b@102")
	same(t, "objects", names(informer.GetStore().List()), "ns/a@101", "ns/b@102")
	if len(reports.drain()) == 0 {
		t.Error("nothing was reported")
	}

	widget := func(name string, kind string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{}
		u.SetAPIVersion("example.com/v1")
		u.SetKind(kind)
		u.SetNamespace("ns")
		u.SetName(name)
		return u
	}
	o = newOrigin(widget("a", "Widget"))
	o.newList = func() runtime.Object {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("example.com/v1")
		list.SetKind("WidgetList")
		return list
	}
	o.newBookmark = func() runtime.Object { return widget("", "Widget") }
	informer = im.NewSharedIndexInformer(o, widget("", "Widget"), 0, kc.Indexers{})
	r, _ = handle(t, informer)
	running(t, informer.RunWithContext)
	r.told(t, "add ns/a@101 initial")
	reports.drain()
	o.put(widget("x", "Gadget"))
	o.put(widget("b", "Widget"))
	testbubble.Elapse(time.Minute)
	r.told(t, "add ns/b@103")
	if len(reports.drain()) == 0 {
		t.Error("nothing was reported of another kind")
	}
	any1 := im.NewSharedIndexInformer(o, &unstructured.Unstructured{}, 0, kc.Indexers{})
	running(t, any1.RunWithContext)
	same(t, "objects of any kind", names(any1.GetStore().List()), "ns/a@101", "ns/b@103", "ns/x@102")
	any2 := im.NewSharedIndexInformer(o, nil, 0, kc.Indexers{})
	running(t, any2.RunWithContext)
	same(t, "objects of any type", names(any2.GetStore().List()), "ns/a@101", "ns/b@103", "ns/x@102")
}

func informerTransform(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a", label("secret", "1")))
	informer := podInformer(im, o)
	must(t, informer.SetTransform(func(obj any) (any, error) {
		p := obj.(*corev1.Pod)
		p.Labels = nil
		p.Spec.NodeName = "n-" + p.Name
		return p, nil
	}))
	r, _ := handle(t, informer)
	check := func(count int) {
		t.Helper()
		objects := append(r.objects(), informer.GetStore().List()...)
		equal(t, "objects told and stored", len(objects), count)
		for _, obj := range objects {
			if p := obj.(*corev1.Pod); len(p.Labels) > 0 || p.Spec.NodeName != "n-"+p.Name {
				t.Errorf("%s has labels %v and is on %s", describe(p), p.Labels, p.Spec.NodeName)
			}
		}
	}
	running(t, informer.RunWithContext)
	check(2)
	o.put(pod("ns", "b", label("secret", "2")))
	o.put(pod("ns", "a", label("secret", "3")))
	synctest.Wait()
	check(4)
	same(t, "by index", names(value(informer.GetIndexer().ByIndex("node", "n-b"))(t)), "ns/b@102")
	o.remove("ns", "b")
	synctest.Wait()
	check(2)
	o.behindItsBack(func() { o.put(pod("ns", "c", label("secret", "4"))) })
	testbubble.Elapse(time.Minute)
	r.objects()
	check(2)
}
