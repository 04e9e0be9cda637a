package conformance

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// controllerRow is about NewInformer and similar functions, which make a store, a
// controller and one handler.
func controllerRow() row {
	return row{
		ID:    "controller",
		Needs: []string{"NewInformer*", "NewIndexerInformer", "NewTransforming*", "NewStore"},
		Tests: []test{
			{Sentence: "every way to make such an informer makes the same, with indexes and a transform", Run: oneHandlerInformers},
			{Sentence: "such an informer resyncs", Run: oneHandlerResyncs},
		},
	}
}

// oneHandlerInformers has informers of every constructor. What they transform is on a node
// of its own, and what they index is found there.
func oneHandlerInformers(t *testing.T, im Implementation) {
	transform := func(obj any) (any, error) {
		p := obj.(*corev1.Pod)
		p.Spec.NodeName = "n-" + p.Name
		return p, nil
	}
	type maker func(kc.ListerWatcher, kc.ResourceEventHandler) (kc.Store, kc.Controller)
	for name, c := range map[string]struct {
		make                maker
		indexes, transforms bool
	}{
		"NewInformer": {make: func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewInformer(lw, &corev1.Pod{}, 0, h)
		}},
		"NewIndexerInformer": {indexes: true, make: func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewIndexerInformer(lw, &corev1.Pod{}, 0, h, podIndexers())
		}},
		"NewTransformingInformer": {transforms: true, make: func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewTransformingInformer(lw, &corev1.Pod{}, 0, h, transform)
		}},
		"NewTransformingIndexerInformer": {indexes: true, transforms: true, make: func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewTransformingIndexerInformer(lw, &corev1.Pod{}, 0, h, podIndexers(), transform)
		}},
		"NewInformerWithOptions": {make: func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewInformerWithOptions(kc.InformerOptions{ListerWatcher: lw, ObjectType: &corev1.Pod{}, Handler: h})
		}},
		"NewInformerWithOptions, all": {indexes: true, transforms: true, make: func(lw kc.ListerWatcher, h kc.ResourceEventHandler) (kc.Store, kc.Controller) {
			return im.NewInformerWithOptions(kc.InformerOptions{ListerWatcher: lw, ObjectType: &corev1.Pod{}, Handler: h, Indexers: podIndexers(), Transform: transform})
		}},
	} {
		o := newOrigin(pod("ns", "a", on("n1")))
		r := &recorder{}
		store, controller := c.make(o, r)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { controller.Run(stop); close(done) }()
		synctest.Wait()
		o.put(pod("ns", "b", on("n1")))
		o.put(pod("ns", "a", on("n2")))
		synctest.Wait()
		same(t, name+": told", r.take(), "add ns/a@101 initial", "add ns/b@102", "update ns/a@101 to ns/a@103")
		same(t, name+": objects", names(store.List()), "ns/a@103", "ns/b@102")
		node := map[bool]string{false: "n1", true: "n-b"}[c.transforms]
		for _, obj := range append(store.List(), r.objects()...) {
			if p := obj.(*corev1.Pod); p.Name == "b" && p.Spec.NodeName != node {
				t.Errorf("%s: %s is on %q", name, describe(p), p.Spec.NodeName)
			}
		}
		if c.indexes {
			same(t, name+": on "+node, names(value(store.(kc.Indexer).ByIndex("node", node))(t)), "ns/b@102")
		}
		close(stop)
		equal(t, name+": Run returns", ended(done), true)
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
