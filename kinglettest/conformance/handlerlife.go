package conformance

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// handlerLifeTests are the part of the row "shared informer" about handlers.
func handlerLifeTests() []test {
	return []test{
		{Sentence: "a handler that comes late gets the current state as initial adds, then what follows", Run: handlerLate},
		{Sentence: "a handler has synced when it has returned from the last of the initial list", Run: handlerSynced},
		{Sentence: "a handler that comes late has synced when it has returned from the last of them", Run: handlerLateSynced},
		{Sentence: "a handler that stands still delays nobody and loses nothing", Run: handlerStandsStill},
		{Sentence: "a handler may add a handler", Run: handlerAddsHandler},
		{Sentence: "one handler may be added twice, and removed once", Run: handlerTwice},
		{Sentence: "functions that are not there are not called", Run: handlerFuncs},
		{Sentence: "a delete that was missed gets the last known state, and its key", Run: handlerUnknownState},
	}
}

func handlerLate(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	running(t, informer.RunWithContext)
	o.put(pod("ns", "b"))
	o.put(pod("ns", "a"))
	synctest.Wait()
	r, reg := handle(t, informer)
	synctest.Wait()
	r.toldInAnyOrder(t, "add ns/a@103 initial", "add ns/b@102 initial")
	equal(t, "synced", reg.HasSynced() && isDone(reg.HasSyncedChecker()), true)
	o.remove("ns", "a")
	o.put(pod("ns", "a"))
	synctest.Wait()
	r.told(t, "delete ns/a@104", "add ns/a@105")
}

func handlerSynced(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"), pod("ns", "b"))
	informer := podInformer(im, o)
	steps := make(chan struct{})
	reg := value(informer.AddEventHandler(&recorder{before: func(string) { <-steps }}))(t)
	running(t, informer.RunWithContext)
	equal(t, "the informer has synced", informer.HasSynced(), true)
	for range 2 {
		equal(t, "the handler has synced while it is told", reg.HasSynced() || isDone(reg.HasSyncedChecker()), false)
		steps <- struct{}{}
		synctest.Wait()
	}
	equal(t, "the handler has synced", reg.HasSynced() && isDone(reg.HasSyncedChecker()), true)
	close(steps)
}

func handlerLateSynced(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"), pod("ns", "b"))
	informer := podInformer(im, o)
	running(t, informer.RunWithContext)
	steps := make(chan struct{})
	reg := value(informer.AddEventHandler(&recorder{before: func(string) { <-steps }}))(t)
	o.put(pod("ns", "c"))
	for range 2 {
		synctest.Wait()
		equal(t, "the handler has synced while it is told", reg.HasSynced() || isDone(reg.HasSyncedChecker()), false)
		steps <- struct{}{}
	}
	synctest.Wait()
	equal(t, "the handler has synced", reg.HasSynced() && isDone(reg.HasSyncedChecker()), true)
	close(steps)
}

func handlerStandsStill(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	g := newGate()
	slow := &recorder{before: g.wait}
	value(informer.AddEventHandler(slow))(t)
	quick, _ := handle(t, informer)
	running(t, informer.RunWithContext)
	var want []string
	for i := range 100 {
		o.put(pod("ns", "a"))
		want = append(want, fmt.Sprintf("update ns/a@%d to ns/a@%d", 101+i, 102+i))
	}
	synctest.Wait()
	want = append([]string{"add ns/a@101 initial"}, want...)
	quick.told(t, want...)
	slow.told(t)
	g.open()
	synctest.Wait()
	slow.told(t, want...)
}

func handlerAddsHandler(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	late := &recorder{}
	var once sync.Once
	value(informer.AddEventHandler(&recorder{before: func(string) {
		once.Do(func() {
			if _, err := informer.AddEventHandler(late); err != nil {
				t.Error(err)
			}
		})
	}}))(t)
	running(t, informer.RunWithContext)
	late.told(t, "add ns/a@101 initial")
}

func handlerTwice(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := im.NewSharedIndexInformer(o, &corev1.Pod{}, 0, kc.Indexers{})
	r := &recorder{}
	first := value(informer.AddEventHandler(r))(t)
	value(informer.AddEventHandler(r))(t)
	running(t, informer.RunWithContext)
	r.told(t, "add ns/a@101 initial", "add ns/a@101 initial")
	must(t, informer.RemoveEventHandler(first))
	o.put(pod("ns", "b"))
	synctest.Wait()
	r.told(t, "add ns/b@102")
}

func handlerFuncs(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := im.NewSharedInformer(o, &corev1.Pod{}, 0)
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
