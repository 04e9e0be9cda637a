package conformance

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"
)

func listWatchRow() row {
	return row{
		ID: "list and watch",
		Needs: []string{
			"NewListWatch*", "ChangeListWatch", "NewFilteredListWatchFromClient", "ToListerWatcherWithContext", "ToListWatcherWithWatchListSemantics",
			"NewSharedIndexInformer", "NewReflector",
		},
		Tests: []test{
			{Sentence: "a ListWatch calls its functions, those with a context first", Run: listWatchFuncs},
			{Sentence: "any lister-watcher can be made one with contexts", Run: listWatchToContext},
			{Sentence: "a ListWatch knows whether its client knows watch-list", Run: listWatchSemantics},
			{Sentence: "an informer gives its context to the source", Run: listWatchContext},
			{Sentence: "a ListWatch from a client asks for its resource, namespace and fields", Run: fromClientRequests, Real: true},
			{Sentence: "a ListWatch from a client lists and watches by itself", Run: fromClientByItself, Real: true},
		},
	}
}

func listWatchFuncs(t *testing.T, im Implementation) {
	var log logbook
	plainList := func(o metav1.ListOptions) (runtime.Object, error) {
		log.write("list " + o.LabelSelector)
		return &corev1.PodList{}, nil
	}
	plainWatch := func(o metav1.ListOptions) (watch.Interface, error) {
		log.write("watch " + o.LabelSelector)
		return watch.NewFake(), nil
	}
	contextList := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		log.write("list with context " + o.LabelSelector)
		return &corev1.PodList{}, ctx.Err()
	}
	contextWatch := func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		log.write("watch with context " + o.LabelSelector)
		return watch.NewFake(), ctx.Err()
	}
	use := func(lw kc.ListerWatcher) {
		t.Helper()
		value(lw.List(metav1.ListOptions{LabelSelector: "1"}))(t)
		value(lw.Watch(metav1.ListOptions{LabelSelector: "2"}))(t).Stop()
		with := lw.(kc.ListerWatcherWithContext)
		value(with.ListWithContext(t.Context(), metav1.ListOptions{LabelSelector: "3"}))(t)
		value(with.WatchWithContext(t.Context(), metav1.ListOptions{LabelSelector: "4"}))(t).Stop()
	}
	use(im.NewListWatch(ListWatch{ListFunc: plainList, WatchFunc: plainWatch}))
	log.told(t, "list 1", "watch 2", "list 3", "watch 4")
	use(im.NewListWatch(ListWatch{ListWithContextFunc: contextList, WatchFuncWithContext: contextWatch}))
	log.told(t, "list with context 1", "watch with context 2", "list with context 3", "watch with context 4")
	use(im.NewListWatch(ListWatch{
		ListFunc: plainList, WatchFunc: plainWatch, ListWithContextFunc: contextList, WatchFuncWithContext: contextWatch,
		DisableChunking: true,
	}))
	log.told(t, "list 1", "watch 2", "list with context 3", "watch with context 4")
}

// plain hides the methods that take a context.
type plain struct{ o *origin }

func (p plain) List(options metav1.ListOptions) (runtime.Object, error)   { return p.o.List(options) }
func (p plain) Watch(options metav1.ListOptions) (watch.Interface, error) { return p.o.Watch(options) }

func listWatchToContext(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	if im.ToListerWatcherWithContext(o) != kc.ListerWatcherWithContext(o) {
		t.Error("what has the methods is wrapped")
	}
	with := im.ToListerWatcherWithContext(plain{o})
	list := value(with.ListWithContext(t.Context(), metav1.ListOptions{}))(t).(*corev1.PodList)
	equal(t, "listed", len(list.Items), 1)
	w := value(with.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "101"}))(t)
	o.put(pod("ns", "b"))
	equal(t, "watched", describe((<-w.ResultChan()).Object), "ns/b@102")
	w.Stop()

	informer := podInformer(im, plain{o})
	running(t, informer.RunWithContext)
	same(t, "objects of a source without contexts", names(informer.GetStore().List()), "ns/a@101", "ns/b@102")
}

type ignorant struct{}

func (ignorant) IsWatchListSemanticsUnSupported() bool { return true }

func listWatchSemantics(t *testing.T, im Implementation) {
	for _, c := range []struct {
		client any
		want   []string
	}{
		{ignorant{}, []string{`list from "0"`, `watch from "101"`}},
		{struct{}{}, []string{`watch-list from ""`}},
	} {
		o := newOrigin(pod("ns", "a"))
		lw := im.ToListWatcherWithWatchListSemantics(ListWatch{ListWithContextFunc: o.ListWithContext, WatchFuncWithContext: o.WatchWithContext}, c.client)
		informer := podInformer(im, lw)
		running(t, informer.RunWithContext)
		same(t, "objects", names(informer.GetStore().List()), "ns/a@101")
		same(t, "requests", o.verbs(), c.want...)
		running(t, im.NewReflector(lw, &corev1.Pod{}, &sink{}, 0).RunWithContext)
		same(t, "requests of a reflector", o.verbs(), c.want...)
	}
}

func listWatchContext(t *testing.T, im Implementation) {
	o := listOnly(pod("ns", "a"))
	informer := podInformer(im, o)
	stop := running(t, func(ctx context.Context) {
		informer.RunWithContext(context.WithValue(ctx, contextKey{}, "a value"))
	})
	requests := o.asked()
	for _, r := range requests {
		if r.ctx.Value(contextKey{}) != "a value" {
			t.Errorf("%v: the context is not that of Run", r)
		}
	}
	stop()
	if last := requests[len(requests)-1]; last.ctx.Err() == nil {
		t.Errorf("the context of %v has not ended with the informer", last)
	}
}
