package conformance

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func handlersRow() row {
	return row{
		ID:    "handlers",
		Needs: []string{"NewSharedIndexInformer", "NewTypedSharedPodInformer"},
		Tests: append(
			bothWays("isInInitialList is true for what was there, and for that alone", handlerInitial),
			test{Sentence: "functions that are not there are not called", Run: handlerFuncs},
			test{Sentence: "the detailed functions get isInInitialList", Run: handlerDetailedFuncs},
			test{Sentence: "a filter turns updates into adds and deletes", Run: handlerFilter},
			test{Sentence: "a filter keeps isInInitialList, and sees tombstones", Run: handlerFilterInitial},
			test{Sentence: "a delete gets the final state where it is known", Run: handlerFinalState},
			test{Sentence: "a delete that was missed gets the last known state, and its key", Run: handlerUnknownState},
			test{Sentence: "typed handlers get typed objects, and say what they know of a delete", Run: handlerTyped},
			test{Sentence: "a typed filter filters", Run: handlerTypedFilter},
			test{Sentence: "typed indexers index and find typed objects", Run: handlerTypedIndexers},
			test{Sentence: "a panic that is survived is logged to the handler's logger, and the next call comes a second later", Run: handlerPanicLogged},
		),
	}
}

func handlerInitial(t *testing.T, im Implementation, o *origin) {
	o.put(pod("ns", "a"))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	o.put(pod("ns", "b"))
	synctest.Wait()
	o.behindItsBack(func() { o.put(pod("ns", "c")) })
	testbubble.Elapse(time.Minute)
	var adds []string
	for _, what := range r.take() {
		if what[:3] == "add" {
			adds = append(adds, what)
		}
	}
	same(t, "adds", adds, "add ns/a@101 initial", "add ns/b@102", "add ns/c@103")
	late, _ := handle(t, informer)
	synctest.Wait()
	late.toldInAnyOrder(t, "add ns/a@101 initial", "add ns/b@102 initial", "add ns/c@103 initial")
}

func handlerFuncs(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	var log logbook
	reg := value(informer.AddEventHandler(kc.ResourceEventHandlerFuncs{}))(t)
	value(informer.AddEventHandler(kc.ResourceEventHandlerFuncs{AddFunc: func(obj any) { log.write("add " + describe(obj)) }}))(t)
	value(informer.AddEventHandler(kc.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) { log.write("update " + describe(before) + " to " + describe(after)) },
	}))(t)
	value(informer.AddEventHandler(&kc.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) { log.write("delete " + describe(obj)) }}))(t)
	running(t, informer.RunWithContext)
	equal(t, "a handler without functions has synced", reg.HasSynced(), true)
	o.put(pod("ns", "a"))
	synctest.Wait()
	o.remove("ns", "a")
	synctest.Wait()
	log.told(t, "add ns/a@101", "update ns/a@101 to ns/a@102", "delete ns/a@103")
}

func handlerDetailedFuncs(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	r := &recorder{}
	value(informer.AddEventHandler(kc.ResourceEventHandlerDetailedFuncs{
		AddFunc: r.OnAdd, UpdateFunc: r.OnUpdate, DeleteFunc: r.OnDelete,
	}))(t)
	value(informer.AddEventHandler(kc.ResourceEventHandlerDetailedFuncs{}))(t)
	running(t, informer.RunWithContext)
	o.put(pod("ns", "b"))
	o.put(pod("ns", "b"))
	o.remove("ns", "b")
	synctest.Wait()
	r.told(t, "add ns/a@101 initial", "add ns/b@102", "update ns/b@102 to ns/b@103", "delete ns/b@104")
}

func onNode(node string) func(any) bool {
	return func(obj any) bool {
		if d, ok := obj.(kc.DeletedFinalStateUnknown); ok {
			obj = d.Obj
		}
		return obj.(*corev1.Pod).Spec.NodeName == node
	}
}

func handlerFilter(t *testing.T, im Implementation) {
	o := newOrigin()
	informer := podInformer(im, o)
	r := &recorder{}
	value(informer.AddEventHandler(kc.FilteringResourceEventHandler{FilterFunc: onNode("n1"), Handler: r}))(t)
	running(t, informer.RunWithContext)
	step := func(change func(), want ...string) {
		t.Helper()
		change()
		synctest.Wait()
		r.told(t, want...)
	}
	step(func() { o.put(pod("ns", "a", on("n2"))) })
	step(func() { o.put(pod("ns", "a", on("n2"))) })
	step(func() { o.put(pod("ns", "a", on("n1"))) }, "add ns/a@103")
	step(func() { o.put(pod("ns", "a", on("n1"))) }, "update ns/a@103 to ns/a@104")
	step(func() { o.put(pod("ns", "a", on("n2"))) }, "delete ns/a@104")
	step(func() { o.remove("ns", "a") })
	step(func() { o.put(pod("ns", "b", on("n1"))) }, "add ns/b@107")
	step(func() { o.remove("ns", "b") }, "delete ns/b@108")
}

func handlerFilterInitial(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a", on("n1")), pod("ns", "b", on("n2")))
	informer := podInformer(im, o)
	r := &recorder{}
	reg := value(informer.AddEventHandler(kc.FilteringResourceEventHandler{FilterFunc: onNode("n1"), Handler: r}))(t)
	running(t, informer.RunWithContext)
	r.told(t, "add ns/a@101 initial")
	equal(t, "synced", reg.HasSynced(), true)
	o.behindItsBack(func() { o.remove("ns", "a"); o.remove("ns", "b") })
	testbubble.Elapse(time.Minute)
	r.told(t, "delete ns/a@101, final state unknown")
}

func handlerFinalState(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a", on("n1")))
	informer := podInformer(im, o)
	r, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	r.take()
	r.objects()
	o.remove("ns", "a")
	synctest.Wait()
	objects := r.objects()
	r.told(t, "delete ns/a@102")
	if len(objects) != 1 || objects[0].(*corev1.Pod).Spec.NodeName != "n1" {
		t.Errorf("the final state is %v", names(objects))
	}
}

func handlerUnknownState(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a", on("n1")), pod("", "b"))
	informer := podInformer(im, o)
	deleted := map[string]any{}
	value(informer.AddEventHandler(kc.ResourceEventHandlerFuncs{DeleteFunc: func(obj any) {
		d, ok := obj.(kc.DeletedFinalStateUnknown)
		if !ok {
			t.Errorf("the delete of %s is no DeletedFinalStateUnknown but a %T", describe(obj), obj)
			return
		}
		deleted[d.Key] = d.Obj
	}}))(t)
	running(t, informer.RunWithContext)
	last := informer.GetStore().List()
	o.behindItsBack(func() { o.remove("ns", "a"); o.remove("", "b") })
	testbubble.Elapse(time.Minute)
	equal(t, "deletes", len(deleted), 2)
	for _, obj := range last {
		key := "b"
		if obj.(*corev1.Pod).Namespace != "" {
			key = "ns/a"
		}
		if deleted[key] != obj {
			t.Errorf("the last state of %s is %v", key, deleted[key])
		}
	}
}

// typedLog is a typed handler that records its calls.
type typedLog struct{ logbook }

func (l *typedLog) OnAdd(p *corev1.Pod, initial bool) {
	l.write("add " + describe(p) + flagged(initial))
}

func (l *typedLog) OnUpdate(before, after *corev1.Pod) {
	l.write("update " + describe(before) + " to " + describe(after))
}

func (l *typedLog) OnDelete(d kc.DeletedObject[*corev1.Pod]) {
	what := "delete " + d.GetKey() + " " + d.GetNamespace() + " " + d.GetName() + " " + describe(d.OptionalObj)
	if d.FinalStateUnknown != nil {
		what += ", final state unknown"
	}
	l.write(what)
}

func (l *typedLog) told(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	l.logbook.told(t, want...)
}

func handlerTyped(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := im.NewTypedSharedPodInformer(podInformer(im, o))
	l := &typedLog{}
	reg := value(informer.AddTypedEventHandler(l))(t)
	if _, err := informer.AddTypedEventHandler(l, kc.HandlerOptions{}, kc.HandlerOptions{}); err == nil {
		t.Error("two sets of options are taken")
	}
	running(t, informer.RunWithContext)
	equal(t, "synced", reg.HasSynced(), true)
	o.put(pod("ns", "a"))
	o.put(pod("ns", "b"))
	o.remove("ns", "b")
	l.told(t, "add ns/a@101 initial", "update ns/a@101 to ns/a@102", "add ns/b@103", "delete ns/b ns b ns/b@104")
	o.behindItsBack(func() { o.remove("ns", "a") })
	testbubble.Elapse(time.Minute)
	l.told(t, "delete ns/a ns a ns/a@102, final state unknown")
}

func handlerTypedFilter(t *testing.T, im Implementation) {
	o := newOrigin()
	informer := im.NewTypedSharedPodInformer(podInformer(im, o))
	l := &typedLog{}
	value(informer.AddTypedEventHandler(kc.TypedFilteringResourceEventHandler[*corev1.Pod]{
		FilterFunc: func(p *corev1.Pod) bool { return p.Spec.NodeName == "n1" }, Handler: l,
	}))(t)
	running(t, informer.RunWithContext)
	o.put(pod("ns", "a", on("n2")))
	o.put(pod("ns", "a", on("n1")))
	o.put(pod("ns", "a", on("n1")))
	o.put(pod("ns", "a", on("n2")))
	o.remove("ns", "a")
	l.told(t, "add ns/a@102", "update ns/a@102 to ns/a@103", "delete ns/a ns a ns/a@103")
}

func handlerTypedIndexers(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a", on("n1")), pod("ns", "b", on("n1")))
	informer := im.NewTypedSharedPodInformer(im.NewSharedIndexInformer(o, &corev1.Pod{}, 0, kc.Indexers{}))
	must(t, informer.AddTypedIndexers(kc.TypedIndexers[*corev1.Pod]{
		"early": func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
	}))
	running(t, informer.RunWithContext)
	must(t, informer.GetTypedIndexer().AddTypedIndexers(kc.TypedIndexers[*corev1.Pod]{
		"late": func(p *corev1.Pod) ([]string, error) { return []string{p.Name}, nil },
	}))
	equal(t, "on n1", len(value(informer.GetTypedIndexer().ByTypedIndex("early", "n1"))(t)), 2)
	b := value(informer.GetTypedIndexer().TypedIndex("late", pod("ns", "b")))(t)
	if len(b) != 1 || b[0].ResourceVersion != "102" {
		t.Errorf("named b: %v", b)
	}
	if _, err := informer.GetTypedIndexer().ByTypedIndex("none", "x"); err == nil {
		t.Error("an unknown index is no error")
	}
}
