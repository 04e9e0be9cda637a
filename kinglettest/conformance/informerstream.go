package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
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

// story replays the notifications of a handler, and finds those that are not allowed.
type story struct {
	mu     sync.Mutex
	state  map[string]string // version by key; guarded by mu
	faults []string          // guarded by mu
}

func (s *story) fault(format string, args ...any) {
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

func (s *story) OnAdd(obj any, _ bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := obj.(*corev1.Pod)
	if v, ok := s.state[p.Name]; ok {
		s.fault("add of %s, which is there at %s", describe(p), v)
	}
	s.state[p.Name] = p.ResourceVersion
}

func (s *story) OnUpdate(before, after any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, p := before.(*corev1.Pod), after.(*corev1.Pod)
	if s.state[p.Name] != old.ResourceVersion || old.Name != p.Name {
		s.fault("update of %s to %s, at %s", describe(old), describe(p), s.state[p.Name])
	}
	s.state[p.Name] = p.ResourceVersion
}

func (s *story) OnDelete(obj any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, ok := obj.(kc.DeletedFinalStateUnknown); ok {
		obj = d.Obj
	}
	p := obj.(*corev1.Pod)
	if _, ok := s.state[p.Name]; !ok {
		s.fault("delete of %s, which is not there", describe(p))
	}
	delete(s.state, p.Name)
}

func (s *story) check(t *testing.T, who string, want []string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	same(t, who+" was told what no handler may be told", s.faults)
	var got []string
	for name, version := range s.state {
		got = append(got, "ns/"+name+"@"+version)
	}
	same(t, who+" ends with", sorted(got), want...)
}

func informerEndsEqual(t *testing.T, im Implementation, o *origin) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 6))
	informer := podInformer(im, o)
	stories := []*story{{state: map[string]string{}}}
	value(informer.AddEventHandler(stories[0]))(t)
	running(t, informer.RunWithContext)
	write := func() {
		name := fmt.Sprint("p", r.IntN(6))
		o.mu.Lock()
		_, there := o.objects["ns/"+name]
		o.mu.Unlock()
		if there && r.IntN(3) == 0 {
			o.remove("ns", name)
		} else {
			o.put(pod("ns", name, on(fmt.Sprint("n", r.IntN(3)))))
		}
	}
	for range 300 {
		switch n := r.IntN(100); {
		case n < 60:
			write()
		case n < 70:
			o.bookmark()
		case n < 76:
			o.end()
		case n < 80:
			o.behindItsBack(func() { write(); write(); write() })
		case n < 85:
			o.failWatches(failures(r)...)
			o.end()
		case n < 88:
			o.failLists(failures(r)...)
		case n < 90:
			status := apierrors.NewInternalError(errBad).Status()
			o.send(watch.Event{Type: watch.Error, Object: &status})
			o.end()
		case n < 92 && len(stories) < 4:
			s := &story{state: map[string]string{}}
			stories = append(stories, s)
			value(informer.AddEventHandler(s))(t)
		default:
			testbubble.Elapse(time.Duration(r.IntN(5000)) * time.Millisecond)
		}
	}
	// At worst some 60 failures are still to come, each with a wait of at most a
	// minute.
	testbubble.Elapse(3 * time.Hour)
	o.mu.Lock()
	var want []any
	for _, obj := range o.objects {
		want = append(want, obj)
	}
	o.mu.Unlock()
	same(t, "objects", names(informer.GetStore().List()), names(want)...)
	for i, s := range stories {
		s.check(t, fmt.Sprint("handler ", i), names(want))
	}
	for _, node := range []string{"n0", "n1", "n2"} {
		var on []any
		for _, obj := range want {
			if obj.(*corev1.Pod).Spec.NodeName == node {
				on = append(on, obj)
			}
		}
		same(t, "on "+node, names(value(informer.GetIndexer().ByIndex("node", node))(t)), names(on)...)
	}
	if t.Failed() {
		t.Log(strings.Join(o.verbs(), "\n"))
	}
}

// failures returns some failures of a server or of the network.
func failures(r *rand.Rand) []error {
	all := []error{
		apierrors.NewInternalError(errBad),
		apierrors.NewTooManyRequests("slow down", 1),
		apierrors.NewServiceUnavailable("starting"),
		apierrors.NewResourceExpired("too old"),
		apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errBad),
		apierrors.NewGenericServerResponse(502, "get", schema.GroupResource{Resource: "pods"}, "", "bad gateway", 0, false),
		fmt.Errorf("connection reset by peer"),
	}
	var list []error
	for range 1 + r.IntN(3) {
		list = append(list, all[r.IntN(len(all))])
	}
	return slices.Clone(list)
}
