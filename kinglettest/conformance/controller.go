package conformance

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testbubble"
)

// controllerRow is about NewInformer and similar functions, which make a store, a
// controller and one handler.
func controllerRow() row {
	return row{
		ID:    "controller",
		Needs: []string{"NewInformer*", "NewIndexerInformer", "NewTransforming*", "NewStore"},
		Tests: append(bothWays("an informer of the controller keeps its store and tells its handler", oneHandlerInformer),
			test{Sentence: "every way to make such an informer makes the same", Run: oneHandlerInformers},
			test{Sentence: "such an informer has indexes", Run: oneHandlerIndexes},
			test{Sentence: "such an informer transforms", Run: oneHandlerTransforms},
			test{Sentence: "such an informer resyncs", Run: oneHandlerResyncs},
			test{Sentence: "such an informer tells what it missed", Run: oneHandlerMissed},
		),
	}
}

func oneHandlerInformer(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	r := &recorder{}
	store, c := im.NewInformer(o, &corev1.Pod{}, 0, r)
	equal(t, "synced before Run", c.HasSynced(), false)
	stop := running(t, c.RunWithContext)
	r.told(t, "add ns/a@101 initial")
	equal(t, "synced", c.HasSynced() && isDone(c.HasSyncedChecker()), true)
	o.put(pod("ns", "b"))
	o.put(pod("ns", "a"))
	o.remove("ns", "b")
	synctest.Wait()
	r.told(t, "add ns/b@102", "update ns/a@101 to ns/a@103", "delete ns/b@104")
	same(t, "objects", names(store.List()), "ns/a@103")
	equal(t, "version", c.LastSyncResourceVersion(), "104")
	stop()
	equal(t, "open watches", o.open(), 0)
}

func oneHandlerInformers(t *testing.T, im Implementation) {
	same1 := func(obj any) (any, error) { return obj, nil }
	for name, make := range map[string]func(kc.ListerWatcher, kc.ResourceEventHandler) (kc.Store, kc.Controller){
		"NewInformer": func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewInformer(lw, &corev1.Pod{}, 0, h)
		},
		"NewIndexerInformer": func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewIndexerInformer(lw, &corev1.Pod{}, 0, h, kc.Indexers{})
		},
		"NewTransformingInformer": func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewTransformingInformer(lw, &corev1.Pod{}, 0, h, same1)
		},
		"NewTransformingIndexerInformer": func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewTransformingIndexerInformer(lw, &corev1.Pod{}, 0, h, kc.Indexers{}, same1)
		},
		"NewInformerWithOptions": func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewInformerWithOptions(kc.InformerOptions{ListerWatcher: lw, ObjectType: &corev1.Pod{}, Handler: h})
		},
	} {
		o := newOrigin(pod("ns", "a"))
		r := &recorder{}
		store, c := make(o, r)
		stop, done := makeChan(), makeChan()
		go func() { c.Run(stop); close(done) }()
		synctest.Wait()
		o.put(pod("ns", "b"))
		synctest.Wait()
		same(t, name+": told", r.take(), "add ns/a@101 initial", "add ns/b@102")
		same(t, name+": objects", names(store.List()), "ns/a@101", "ns/b@102")
		close(stop)
		equal(t, name+": Run returns", ended(done), true)
	}
}

func makeChan() chan struct{} { return make(chan struct{}) }

func oneHandlerIndexes(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a", on("n1")))
	indexer, c := im.NewIndexerInformer(o, &corev1.Pod{}, 0, kc.ResourceEventHandlerFuncs{}, podIndexers())
	running(t, c.RunWithContext)
	store, c := im.NewInformerWithOptions(kc.InformerOptions{
		ListerWatcher: o, ObjectType: &corev1.Pod{}, Handler: kc.ResourceEventHandlerFuncs{}, Indexers: podIndexers(),
	})
	running(t, c.RunWithContext)
	o.put(pod("ns", "b", on("n1")))
	o.put(pod("ns", "a", on("n2")))
	synctest.Wait()
	other, ok := store.(kc.Indexer)
	if !ok {
		t.Fatalf("a %T is no Indexer", store)
	}
	for _, indexer := range []kc.Indexer{indexer, other} {
		same(t, "on n1", names(value(indexer.ByIndex("node", "n1"))(t)), "ns/b@102")
		same(t, "on n2", names(value(indexer.ByIndex("node", "n2"))(t)), "ns/a@103")
	}
}

func oneHandlerTransforms(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	transform := func(obj any) (any, error) {
		p := obj.(*corev1.Pod)
		p.Spec.NodeName = "n-" + p.Name
		return p, nil
	}
	first, second, third := &recorder{}, &recorder{}, &recorder{}
	store, c := im.NewTransformingInformer(o, &corev1.Pod{}, 0, first, transform)
	running(t, c.RunWithContext)
	indexer, c := im.NewTransformingIndexerInformer(o, &corev1.Pod{}, 0, second, podIndexers(), transform)
	running(t, c.RunWithContext)
	optional, c := im.NewInformerWithOptions(kc.InformerOptions{ListerWatcher: o, ObjectType: &corev1.Pod{}, Handler: third, Transform: transform})
	running(t, c.RunWithContext)
	o.put(pod("ns", "b"))
	synctest.Wait()
	same(t, "on n-b", names(value(indexer.ByIndex("node", "n-b"))(t)), "ns/b@102")
	objects := append(store.List(), optional.List()...)
	for _, r := range []*recorder{first, second, third} {
		objects = append(objects, r.objects()...)
	}
	equal(t, "objects", len(objects), 10)
	for _, obj := range objects {
		if p := obj.(*corev1.Pod); p.Spec.NodeName != "n-"+p.Name {
			t.Errorf("%s is on %q", describe(p), p.Spec.NodeName)
		}
	}
}

func oneHandlerResyncs(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	r := &recorder{}
	_, c := im.NewInformer(o, &corev1.Pod{}, 10*time.Second, r)
	running(t, c.RunWithContext)
	r.told(t, "add ns/a@101 initial")
	testbubble.Elapse(9 * time.Second)
	r.told(t)
	testbubble.Elapse(2 * time.Second)
	r.told(t, "update ns/a@101 to ns/a@101")
	testbubble.Elapse(10 * time.Second)
	r.told(t, "update ns/a@101 to ns/a@101")
}

func oneHandlerMissed(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "gone"), pod("ns", "changed"))
	r := &recorder{}
	store, c := im.NewInformer(o, &corev1.Pod{}, 0, r)
	running(t, c.RunWithContext)
	r.take()
	o.behindItsBack(func() {
		o.remove("ns", "gone")
		o.put(pod("ns", "changed"))
		o.put(pod("ns", "new"))
	})
	testbubble.Elapse(time.Minute)
	r.toldInAnyOrder(t,
		"delete ns/gone@101, final state unknown", "update ns/changed@102 to ns/changed@104", "add ns/new@105")
	same(t, "objects", names(store.List()), "ns/changed@104", "ns/new@105")
}
