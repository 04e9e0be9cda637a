package conformance

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testbubble"
)

func handlersRow() row {
	return row{
		ID:    "handlers",
		Needs: []string{"NewSharedIndexInformer"},
		Tests: append(
			bothWays("isInInitialList is true for what was there, and for that alone", handlerInitial),
			test{Sentence: "functions that are not there are not called", Run: handlerFuncs},
			test{Sentence: "a delete gets the final state where it is known", Run: handlerFinalState},
			test{Sentence: "a delete that was missed gets the last known state, and its key", Run: handlerUnknownState},
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
