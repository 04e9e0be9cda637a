package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kc "k8s.io/client-go/tools/cache"
)

// Programs compare the texts of errors where nothing else distinguishes them. These tests
// assert client-go's texts, and run over client-go too.

func errorsRow() row {
	return row{
		ID: "errors",
		Needs: []string{
			"MetaNamespaceKeyFunc", "DeletionHandling*", "MetaNamespaceIndexFunc", "ObjectToName", "SplitMetaNamespaceKey", "ParseObjectName",
			"IndexFuncToKeyFuncAdapter", "NewStore", "NewTransformingStore", "NewIndexer", "NewThreadSafeStore", "NewHeap", "NewMutationCache",
			"NewFIFO", "NewDeltaFIFOWithOptions", "NewRealFIFO*", "NewSharedIndexInformer", "ShutDownEventHandler",
			"NewListWatch", "NewReflectorWithOptions", "NewGenericLister",
		},
		Tests: []test{
			{Sentence: "those of keys and names are worded as programs know them", Run: textsOfKeys},
			{Sentence: "those of stores are worded as programs know them", Run: textsOfStores},
			{Sentence: "those of queues are worded as programs know them", Run: textsOfQueues},
			{Sentence: "those of informers are worded as programs know them", Run: textsOfInformers},
			{Sentence: "those of lists are worded as programs know them", Run: textsOfLists},
		},
	}
}

// worded checks the text of an error.
func worded(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", want)
	} else if err.Error() != want {
		t.Errorf("the error says\n%q, want\n%q", err.Error(), want)
	}
}

// panicked returns the text of f's panic, or "" if there is none.
func panicked(f func()) (said string) {
	defer func() {
		if value := recover(); value != nil {
			said = fmt.Sprint(value)
		}
	}()
	f()
	return ""
}

const noMeta = "object has no meta: object does not implement the Object interfaces"

func textsOfKeys(t *testing.T, im Implementation) {
	_, err := im.MetaNamespaceKeyFunc(7)
	_, err1 := im.DeletionHandlingMetaNamespaceKeyFunc(nil)
	_, err2 := im.MetaNamespaceIndexFunc(7)
	_, err3 := im.ObjectToName(nil)
	_, err4 := im.DeletionHandlingObjectToName(7)
	for _, err := range []error{err, err1, err2, err3, err4} {
		worded(t, err, noMeta)
	}
	_, _, err = im.SplitMetaNamespaceKey("a/b/c")
	worded(t, err, `unexpected key format: "a/b/c"`)
	_, err = im.ParseObjectName("a/b/c")
	worded(t, err, `unexpected key format: "a/b/c"`)
	adapted := func(values []string, err error) error {
		_, err = im.IndexFuncToKeyFuncAdapter(func(any) ([]string, error) { return values, err })(pod("ns", "a"))
		return err
	}
	worded(t, adapted([]string{"a", "b"}, nil), "too many keys: [a b]")
	worded(t, adapted(nil, nil), "unexpected empty indexKeys")
	worded(t, adapted([]string{"a"}, errBad), errBad.Error())
}

func textsOfStores(t *testing.T, im Implementation) {
	keyless := fmt.Sprintf("couldn't create key for object %+v: %s", 7, noMeta)
	a := pod("ns", "a")
	store := im.NewStore(im.MetaNamespaceKeyFunc)
	_, _, err := store.Get(7)
	for _, err := range []error{err, store.Add(7), store.Update(7), store.Delete(7), store.Replace([]any{7}, "")} {
		worded(t, err, keyless)
	}
	failing := im.NewTransformingStore(im.MetaNamespaceKeyFunc, func(any) (any, error) { return nil, errBad })
	for _, err := range []error{failing.Add(a), failing.Update(a), failing.Replace([]any{a}, "")} {
		worded(t, err, "transforming: "+errBad.Error())
	}
	indexer, safe := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers()), im.NewThreadSafeStore(podIndexers(), kc.Indices{})
	_, err1 := indexer.Index("nix", a)
	_, err2 := indexer.IndexKeys("nix", "x")
	_, err3 := indexer.ByIndex("nix", "x")
	_, err4 := safe.Index("nix", a)
	for _, err := range []error{err1, err2, err3, err4} {
		worded(t, err, "Index with name nix does not exist")
	}
	for _, err := range []error{indexer.AddIndexers(kc.Indexers{"node": byNode}), safe.AddIndexers(kc.Indexers{"node": byNode})} {
		worded(t, err, "indexer conflict: map[node:{}]")
	}

	heap := im.NewHeap(im.MetaNamespaceKeyFunc, func(a, b any) bool { return false })
	worded(t, heap.Delete(pod("ns", "a")), "object not found")
	worded(t, heap.Add(7), keyless)
	heap.Close()
	_, err = heap.Pop()
	for _, err := range []error{err, heap.Add(a), heap.BulkAdd([]any{a}), heap.AddIfNotPresent(a)} {
		worded(t, err, "heap is closed")
	}

	mutations := im.NewMutationCache(store, kc.MutationCacheOptions{TTL: time.Minute})
	_, err = mutations.ByIndex("node", "n1")
	worded(t, err, "no indexer has been provided to the mutation cache")
}

func textsOfQueues(t *testing.T, im Implementation) {
	keyless := fmt.Sprintf("couldn't create key for object %+v: %s", 7, noMeta)
	deltas := im.NewDeltaFIFOWithOptions(kc.DeltaFIFOOptions{KeyFunction: im.MetaNamespaceKeyFunc})
	_, err := deltas.KeyOf(kc.Deltas{})
	worded(t, err, fmt.Sprintf("couldn't create key for object %+v: 0 length Deltas object; can't get key", kc.Deltas{}))
	for _, q := range []Queue{im.NewFIFO(im.MetaNamespaceKeyFunc), deltas, im.NewRealFIFO(im.MetaNamespaceKeyFunc, im.NewStore(im.MetaNamespaceKeyFunc), nil)} {
		for _, err := range []error{q.Add(7), q.Update(7), q.Delete(7), q.Replace([]any{7}, "")} {
			worded(t, err, keyless)
		}
		q.Close()
		_, err := q.Pop(func(any, bool) error { return nil })
		worded(t, err, "DeltaFIFO: manipulating with closed queue")
		a := pod("ns", "a")
		for _, err := range []error{q.Add(a), q.Update(a), q.Delete(a), q.Replace(nil, ""), q.Resync()} {
			if err != nil && !errors.Is(err, kc.ErrFIFOClosed) {
				t.Errorf("a write to a closed %T: %v", q, err)
			}
		}
	}
	for _, c := range []struct {
		options kc.RealFIFOOptions
		want    string
	}{
		{kc.RealFIFOOptions{}, "coding error: knownObjects must be provided when AtomicEvents is false"},
		{kc.RealFIFOOptions{AtomicEvents: true, KnownObjects: im.NewStore(im.MetaNamespaceKeyFunc)}, "coding error: knownObjects must not be provided when AtomicEvents is true"},
		{kc.RealFIFOOptions{UnlockWhileProcessing: true, KnownObjects: im.NewStore(im.MetaNamespaceKeyFunc)}, "coding error: UnlockWhileProcessing must be false when AtomicEvents is false"},
		{kc.RealFIFOOptions{EmitDeltaTypeBookmark: true, KnownObjects: im.NewStore(im.MetaNamespaceKeyFunc)}, "coding error: EmitDeltaTypeBookmark must be false when AtomicEvents is false"},
	} {
		c.options.KeyFunction = im.MetaNamespaceKeyFunc
		equal(t, "panic", panicked(func() { im.NewRealFIFOWithOptions(c.options) }), c.want)
	}
}

// foreignHandle is a handle that no informer has returned.
type foreignHandle struct {
	kc.ResourceEventHandlerRegistration
}

// deaf accepts the removal of handles that it does not know.
type deaf struct{ kc.SharedInformer }

func (deaf) RemoveEventHandler(kc.ResourceEventHandlerRegistration) error { return nil }

func textsOfInformers(t *testing.T, im Implementation) {
	o := newOrigin(pod("ns", "a"))
	informer := podInformer(im, o)
	worded(t, informer.AddIndexers(kc.Indexers{"node": byNode}), "indexer conflict: map[node:{}]")
	worded(t, im.ShutDownEventHandler(deaf{informer}, foreignHandle{}), "handle does not support ShutdownChan()")
	if err := informer.RemoveEventHandler(foreignHandle{}); err == nil || !strings.HasPrefix(err.Error(), "invalid key type ") {
		t.Errorf("a handle of nobody's: %v", err)
	}
	stop := running(t, informer.RunWithContext)
	worded(t, informer.SetTransform(nil), "informer has already started")
	worded(t, informer.SetWatchErrorHandler(nil), "informer has already started")
	worded(t, informer.SetWatchErrorHandlerWithContext(nil), "informer has already started")
	stop()
	_, err := informer.AddEventHandler(&recorder{})
	// Between the two is the handler, formatted, or its name.
	if err == nil || !strings.HasPrefix(err.Error(), "handler ") ||
		!strings.HasSuffix(err.Error(), " was not added to shared informer because it has stopped already") {
		t.Errorf("a handler that is added to a stopped informer: %v", err)
	}
	worded(t, informer.AddIndexers(kc.Indexers{"late": byNode}), "indexer was not added because it has stopped already")
}

func textsOfLists(t *testing.T, im Implementation) {
	for _, c := range []struct {
		answer func() (runtime.Object, error)
		store  kc.ReflectorStore
		want   string
	}{
		{
			func() (runtime.Object, error) { return nil, errBad }, &sink{},
			"failed to list my pods: " + errBad.Error(),
		},
		{
			func() (runtime.Object, error) { return &corev1.PodList{}, nil }, &stubborn{},
			"unable to sync list result: " + errBad.Error(),
		},
	} {
		lw := im.NewListWatch(ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) { return c.answer() },
		})
		r := im.NewReflectorWithOptions(withoutStreams{lw}, &corev1.Pod{}, c.store, kc.ReflectorOptions{TypeDescription: "my pods"})
		worded(t, r.ListAndWatch(t.Context().Done()), c.want)
	}
	getter := im.NewGenericLister(im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers()), corev1.Resource("pods"))
	_, err := getter.Get("a")
	worded(t, err, `pods "a" not found`)
	_, err = getter.ByNamespace("ns").Get("a")
	worded(t, err, `pods "a" not found`)
}

// stubborn is a store that rejects every list.
type stubborn struct{ sink }

func (*stubborn) Replace([]any, string) error { return errBad }

// withoutStreams reports that it does not support watch-lists.
type withoutStreams struct{ kc.ListerWatcher }

func (withoutStreams) IsWatchListSemanticsUnSupported() bool { return true }
