package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// fakeServer replaces a server as in unit tests: it has a fixed list, and fake watches to
// which the test sends events.
type fakeServer struct {
	// streams: watch-lists are answered as watches, and not refused.
	streams bool

	mu      sync.Mutex
	list    corev1.PodList       // guarded by mu
	watches []*watch.FakeWatcher // guarded by mu
}

func newFakeServer(version string, pods ...*corev1.Pod) *fakeServer {
	f := &fakeServer{}
	f.set(version, pods...)
	return f
}

func (f *fakeServer) set(version string, pods ...*corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version}}
	for _, p := range pods {
		f.list.Items = append(f.list.Items, *p)
	}
}

func (f *fakeServer) listerWatcher(im Implementation) kc.ListerWatcher {
	return im.NewListWatch(ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.list.DeepCopy(), nil
		},
		WatchFuncWithContext: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			if !f.streams && opts.SendInitialEvents != nil && *opts.SendInitialEvents {
				return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			w := watch.NewFake()
			f.watches = append(f.watches, w)
			return w, nil
		},
	})
}

// open returns the latest watch, and the number of watches so far.
func (f *fakeServer) open() (*watch.FakeWatcher, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watches[len(f.watches)-1], len(f.watches)
}

// delete deletes a pod. As with a fake clientset, the watches that are open send it, and
// no later one does.
func (f *fakeServer) delete(p *corev1.Pod) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list.Items = slices.DeleteFunc(f.list.Items, func(have corev1.Pod) bool { return have.Name == p.Name })
	for _, w := range f.watches {
		w.Delete(p)
	}
}

// collection is a map to which events are applied. It returns the notifications that a
// handler has to receive.
type collection map[string]*corev1.Pod

func (c collection) take(typ watch.EventType, p *corev1.Pod) (told string) {
	held, ok := c[p.Name]
	switch {
	case typ == watch.Deleted && !ok:
		return ""
	case typ == watch.Deleted:
		delete(c, p.Name)
		return "delete " + describe(p)
	case ok:
		told = "update " + describe(held) + " to " + describe(p)
	default:
		told = "add " + describe(p)
	}
	c[p.Name] = p
	return told
}

func (c collection) names() []string {
	var list []string
	for _, p := range c {
		list = append(list, describe(p))
	}
	slices.Sort(list)
	return list
}

// informerFakeStream streams events with all kinds of versions to an informer of a fake,
// and compares it with a map. No time passes, and the watch does not end.
func informerFakeStream(t *testing.T, im Implementation) {
	type step struct {
		typ watch.EventType
		pod *corev1.Pod
	}
	added := func(name, version string) step { return step{watch.Added, pod("ns", name, at(version))} }
	modified := func(name, version string) step { return step{watch.Modified, pod("ns", name, at(version))} }
	deleted := func(name, version string) step { return step{watch.Deleted, pod("ns", name, at(version))} }
	play := func(what, version string, listed []*corev1.Pod, steps []step) {
		f := newFakeServer(version, listed...)
		informer := podInformer(im, f.listerWatcher(im))
		must(t, informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *kc.Reflector, err error) {
			t.Errorf("%s: the watch error handler was told of %v", what, err)
		}))
		r, _ := handle(t, informer)
		twin := collection{}
		for _, p := range listed {
			twin[p.Name] = p
		}
		stop := running(t, informer.RunWithContext)
		defer stop()
		r.take()
		began := time.Now()
		w, _ := f.open()
		var want []string
		for _, s := range steps {
			w.Action(s.typ, s.pod)
			if told := twin.take(s.typ, s.pod); told != "" {
				want = append(want, told)
			}
			version = s.pod.ResourceVersion
		}
		synctest.Wait()
		same(t, what+": told", r.take(), want...)
		same(t, what+": objects", names(informer.GetStore().List()), twin.names()...)
		if _, watches := f.open(); watches != 1 || w.IsStopped() {
			t.Errorf("%s: %d watches, the first was stopped: %v", what, watches, w.IsStopped())
		}
		equal(t, what+": time that passed", time.Since(began), 0)
		if f.list.ResourceVersion != "" {
			equal(t, what+": version", informer.LastSyncResourceVersion(), version)
		}
	}
	play("a list of nothing", "", nil,
		[]step{added("a", "1"), modified("a", "2"), added("b", "1"), deleted("a", "2"), modified("b", "2")})
	play("below the list", "1000", nil,
		[]step{added("a", "1"), modified("a", "2"), deleted("a", "1"), added("a", "3")})
	play("a server that numbers anew", "1000", []*corev1.Pod{pod("ns", "a", at("900"))},
		[]step{modified("a", "1"), modified("a", "2"), added("b", "3"), deleted("a", "4")})

	seed := rand.Uint64() // the bubble's clock is always the same
	for i := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, i))
		there := map[string]bool{}
		name := func(n int) string { return string(rune('a' + n)) }
		var listed []*corev1.Pod
		for n := range rnd.IntN(3) {
			listed = append(listed, pod("ns", name(n), at(strconv.Itoa(1+rnd.IntN(30)))))
			there[name(n)] = true
		}
		var steps []step
		for range rnd.IntN(30) {
			s := step{watch.Added, pod("ns", name(rnd.IntN(3)), at(strconv.Itoa(1+rnd.IntN(30))))}
			if there[s.pod.Name] || rnd.IntN(4) == 0 {
				s.typ = watch.Modified
			}
			// client-go notifies handlers of deletes of objects that it does not have.
			if there[s.pod.Name] && rnd.IntN(3) == 0 {
				s.typ = watch.Deleted
			}
			there[s.pod.Name] = s.typ != watch.Deleted
			steps = append(steps, s)
		}
		version := []string{"", "1", "15", "1000"}[rnd.IntN(4)]
		play(fmt.Sprintf("seed %d, stream %d", seed, i), version, listed, steps)
	}
}

// informerOtherType sends events with objects of another type that have the key of an
// existing object.
func informerOtherType(t *testing.T, im Implementation) {
	f := newFakeServer("10", pod("ns", "a", at("5"), identity("1")))
	informer := podInformer(im, f.listerWatcher(im))
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	store := im.NewStore(im.MetaNamespaceKeyFunc)
	fs := newFakeServer("10", pod("ns", "a", at("5"), identity("1")))
	running(t, im.NewReflector(fs.listerWatcher(im), &corev1.Pod{}, store, 0).RunWithContext)
	r.take()
	for _, server := range []*fakeServer{f, fs} {
		w, _ := server.open()
		for _, typ := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted} {
			reports.drain()
			w.Action(typ, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", ResourceVersion: "11", UID: "2"}})
			w.Action(typ, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s", ResourceVersion: "12"}})
			synctest.Wait()
			if len(reports.drain()) == 0 {
				t.Errorf("%s: nothing was reported", typ)
			}
		}
	}
	testbubble.Elapse(time.Minute)
	r.told(t)
	same(t, "objects", names(informer.GetStore().List()), "ns/a@5")
	same(t, "objects of a reflector", names(store.List()), "ns/a@5")
	equal(t, "version", informer.LastSyncResourceVersion(), "10")
	if _, watches := f.open(); watches != 1 {
		t.Errorf("%d watches", watches)
	}
}

// informerBareBookmark ends initial events with a bookmark that has only the annotation.
func informerBareBookmark(t *testing.T, im Implementation) {
	f := newFakeServer("")
	f.streams = true
	informer := podInformer(im, f.listerWatcher(im))
	r, reg := handle(t, informer)
	running(t, informer.RunWithContext)
	w, _ := f.open()
	w.Add(pod("ns", "a", at("7")))
	w.Add(pod("ns", "a", at("8")))
	w.Add(pod("ns", "b", at("3")))
	w.Delete(pod("ns", "a", at("8")))
	end := pod("", "")
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	w.Action(watch.Bookmark, end)
	synctest.Wait()
	equal(t, "synced", informer.HasSynced() && reg.HasSynced(), true)
	r.told(t, "add ns/b@3 initial")
	w.Modify(pod("ns", "b", at("9")))
	w.Delete(pod("ns", "b", at("10")))
	synctest.Wait()
	r.told(t, "update ns/b@3 to ns/b@9", "delete ns/b@10")
	same(t, "objects", names(informer.GetStore().List()))
	equal(t, "version", informer.LastSyncResourceVersion(), "10")
	if _, watches := f.open(); watches != 1 {
		t.Errorf("%d watches", watches)
	}
}

// deletedBeforeWatch deletes an object as soon as an informer has synced. The watch of
// that moment opens a little later than it was asked for.
func deletedBeforeWatch(t *testing.T, im Implementation) string {
	f := newFakeServer("1", pod("ns", "a", at("1")))
	lw := f.listerWatcher(im)
	im.ChangeListWatch(lw, func(c *ListWatch) {
		open := c.WatchFuncWithContext
		c.WatchFuncWithContext = func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			testbubble.Pass(50 * time.Millisecond)
			return open(ctx, opts)
		}
	})
	informer := podInformer(im, lw)
	running(t, informer.RunWithContext)
	for !informer.HasSynced() {
		testbubble.Elapse(time.Millisecond)
	}
	f.delete(pod("ns", "a", at("2")))
	testbubble.Elapse(time.Minute)
	return fmt.Sprint(names(informer.GetStore().List()))
}

func storeDuringWatch(t *testing.T, im Implementation) string {
	f := newFakeServer("1", pod("ns", "a", at("1")))
	lw := f.listerWatcher(im)
	store := im.NewStore(kc.MetaNamespaceKeyFunc)
	r := im.NewReflector(lw, &corev1.Pod{}, store, 0)
	var seen string
	im.ChangeListWatch(lw, func(c *ListWatch) {
		open := c.WatchFuncWithContext
		c.WatchFuncWithContext = func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := open(ctx, opts)
			if err == nil {
				seen = fmt.Sprintf("%v, version %s", names(store.List()), r.LastSyncResourceVersion())
			}
			return w, err
		}
	})
	running(t, r.RunWithContext)
	testbubble.Elapse(time.Second)
	return seen
}

func changedInPlace(t *testing.T, im Implementation) string {
	f := newFakeServer("")
	informer := podInformer(im, f.listerWatcher(im))
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	testbubble.Elapse(time.Second)
	w, _ := f.open()
	p := pod("ns", "a")
	w.Add(p)
	testbubble.Elapse(time.Second)
	label("x", "2")(p)
	w.Add(p)
	testbubble.Elapse(time.Second)
	return strings.Join(r.take(), "; ")
}

// numbersAnew restarts a server in memory: it loses an object, and its versions start
// again. A watch outlasts the restart, and ends later.
func numbersAnew(t *testing.T, im Implementation) string {
	f := newFakeServer("1000", pod("ns", "a", at("900")), pod("ns", "b", at("901")))
	informer := podInformer(im, f.listerWatcher(im))
	running(t, informer.RunWithContext)
	w, _ := f.open()
	testbubble.Elapse(time.Minute)
	w.Stop()
	testbubble.Elapse(time.Minute)
	w, _ = f.open()
	w.Modify(pod("ns", "a", at("5")))
	f.set("6", pod("ns", "a", at("5")))
	testbubble.Elapse(time.Minute)
	live := names(informer.GetStore().List())
	w.Stop()
	testbubble.Elapse(time.Minute)
	return fmt.Sprintf("%v while the watch lives, %v after it", live, names(informer.GetStore().List()))
}
