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
			"NewFIFO", "NewDeltaFIFOWithOptions", "NewRealFIFO*", "NewSharedIndexInformer", "NewTypedSharedPodInformer", "ShutDownEventHandler",
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
	worded(t, err, noMeta)
	_, err = im.DeletionHandlingMetaNamespaceKeyFunc(nil)
	worded(t, err, noMeta)
	_, err = im.MetaNamespaceIndexFunc(7)
	worded(t, err, noMeta)
	_, err = im.ObjectToName(nil)
	worded(t, err, noMeta)
	_, err = im.DeletionHandlingObjectToName(7)
	worded(t, err, noMeta)
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
	store := im.NewStore(im.MetaNamespaceKeyFunc)
	worded(t, store.Add(7), keyless)
	worded(t, store.Update(7), keyless)
	worded(t, store.Delete(7), keyless)
	worded(t, store.Replace([]any{7}, ""), keyless)
	_, _, err := store.Get(7)
	worded(t, err, keyless)

	failing := im.NewTransformingStore(im.MetaNamespaceKeyFunc, func(any) (any, error) { return nil, errBad })
	transforming := "transforming: " + errBad.Error()
	worded(t, failing.Add(pod("ns", "a")), transforming)
	worded(t, failing.Update(pod("ns", "a")), transforming)
	worded(t, failing.Replace([]any{pod("ns", "a")}, ""), transforming)

	indexer := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	none := "Index with name nix does not exist"
	_, err = indexer.Index("nix", pod("ns", "a"))
	worded(t, err, none)
	_, err = indexer.IndexKeys("nix", "x")
	worded(t, err, none)
	_, err = indexer.ByIndex("nix", "x")
	worded(t, err, none)
	worded(t, indexer.AddIndexers(kc.Indexers{"node": byNode}), "indexer conflict: map[node:{}]")
	safe := im.NewThreadSafeStore(podIndexers(), kc.Indices{})
	_, err = safe.Index("nix", pod("ns", "a"))
	worded(t, err, none)
	worded(t, safe.AddIndexers(kc.Indexers{"node": byNode}), "indexer conflict: map[node:{}]")

	heap := im.NewHeap(im.MetaNamespaceKeyFunc, func(a, b any) bool { return false })
	worded(t, heap.Delete(pod("ns", "a")), "object not found")
	worded(t, heap.Add(7), keyless)
	heap.Close()
	worded(t, heap.Add(pod("ns", "a")), "heap is closed")
	worded(t, heap.BulkAdd([]any{pod("ns", "a")}), "heap is closed")
	worded(t, heap.AddIfNotPresent(pod("ns", "a")), "heap is closed")
	_, err = heap.Pop()
	worded(t, err, "heap is closed")

	mutations := im.NewMutationCache(store, kc.MutationCacheOptions{TTL: time.Minute})
	_, err = mutations.ByIndex("node", "n1")
	worded(t, err, "no indexer has been provided to the mutation cache")
}

func textsOfQueues(t *testing.T, im Implementation) {
	keyless := fmt.Sprintf("couldn't create key for object %+v: %s", 7, noMeta)
	fifo := im.NewFIFO(im.MetaNamespaceKeyFunc)
	worded(t, fifo.Add(7), keyless)
	worded(t, fifo.Update(7), keyless)
	worded(t, fifo.Delete(7), keyless)
	worded(t, fifo.Replace([]any{7}, ""), keyless)
	fifo.Close()
	_, err := fifo.Pop(func(any, bool) error { return nil })
	worded(t, err, "DeltaFIFO: manipulating with closed queue")

	deltas := im.NewDeltaFIFOWithOptions(kc.DeltaFIFOOptions{KeyFunction: im.MetaNamespaceKeyFunc})
	worded(t, deltas.Add(7), keyless)
	worded(t, deltas.Update(7), keyless)
	worded(t, deltas.Delete(7), keyless)
	worded(t, deltas.Replace([]any{7}, ""), keyless)
	_, err = deltas.KeyOf(kc.Deltas{})
	worded(t, err, fmt.Sprintf("couldn't create key for object %+v: 0 length Deltas object; can't get key", kc.Deltas{}))
	deltas.Close()
	_, err = deltas.Pop(func(any, bool) error { return nil })
	worded(t, err, "DeltaFIFO: manipulating with closed queue")

	real := im.NewRealFIFO(im.MetaNamespaceKeyFunc, im.NewStore(im.MetaNamespaceKeyFunc), nil)
	worded(t, real.Add(7), keyless)
	worded(t, real.Update(7), keyless)
	worded(t, real.Delete(7), keyless)
	worded(t, real.Replace([]any{7}, ""), keyless)
	real.Close()
	for _, write := range []func() error{
		func() error { return real.Add(pod("ns", "a")) },
		func() error { return real.Update(pod("ns", "a")) },
		func() error { return real.Delete(pod("ns", "a")) },
		func() error { return real.Replace(nil, "") },
		func() error { return real.Resync() },
	} {
		if err := write(); !errors.Is(err, kc.ErrFIFOClosed) && err != nil {
			t.Errorf("a write to a closed queue: %v", err)
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
	typed := im.NewTypedSharedPodInformer(informer)
	_, err := typed.AddTypedEventHandler(kc.TypedResourceEventHandlerFuncs[*corev1.Pod]{}, kc.HandlerOptions{}, kc.HandlerOptions{})
	worded(t, err, "at most one HandlerOptions may be passed, got 2")
	stop := running(t, informer.RunWithContext)
	worded(t, informer.SetTransform(nil), "informer has already started")
	worded(t, informer.SetWatchErrorHandler(nil), "informer has already started")
	worded(t, informer.SetWatchErrorHandlerWithContext(nil), "informer has already started")
	stop()
	_, err = informer.AddEventHandler(&recorder{})
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
