package ctrlruntime

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// namespaceRounds is how often TestGuaranteeNamespacesComeAndGoExactly adds and removes a
// namespace.
var namespaceRounds = flag.Int("namespace-rounds", 60, "rounds of adding and removing a namespace")

// spaces returns entries without settings.
func spaces(names ...string) map[string]cache.Config {
	all := map[string]cache.Config{}
	for _, name := range names {
		all[name] = cache.Config{}
	}
	return all
}

// told is a handler that records what it receives, and checks that it is a legal
// history.
type told struct {
	t    *testing.T
	mu   sync.Mutex
	held map[string]string // versions by key; guarded by mu
	all  []string          // guarded by mu
}

func newTold(t *testing.T, c cache.Cache, obj client.Object) *told {
	t.Helper()
	h := &told{t: t, held: map[string]string{}}
	i, err := c.GetInformer(context.Background(), obj, cache.BlockUntilSynced(false))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.AddEventHandler(h); err != nil {
		t.Fatal(err)
	}
	return h
}

func keyOf(obj any) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	return m.GetNamespace() + "/" + m.GetName()
}

func versionOf(obj any) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	return m.GetResourceVersion()
}

func (h *told) note(what, key, version string, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, is := h.held[key]; is != known {
		h.t.Errorf("%s of %s, known before: %v", what, key, is)
	}
	if h.all = append(h.all, what+" "+key); what == "delete" {
		delete(h.held, key)
		return
	}
	h.held[key] = version
}

func (h *told) OnAdd(obj any, _ bool) { h.note("add", keyOf(obj), versionOf(obj), false) }

func (h *told) OnUpdate(_, obj any) { h.note("update", keyOf(obj), versionOf(obj), true) }

func (h *told) OnDelete(obj any) {
	if tombstone, lost := obj.(toolscache.DeletedFinalStateUnknown); lost {
		obj = tombstone.Obj
	}
	h.note("delete", keyOf(obj), "", true)
}

// take returns what was received since the last call, sorted.
func (h *told) take() string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (w *world) setNamespaces(c cache.Cache, obj client.Object, namespaces map[string]cache.Config) {
	w.t.Helper()
	if err := ctrlruntime.SetNamespaces(context.Background(), c, obj, namespaces); err != nil {
		w.t.Fatal(err)
	}
}

func expectTold(t *testing.T, h *told, want string) {
	t.Helper()
	if got := h.take(); got != want {
		t.Errorf("handlers received %q, want %q", got, want)
	}
}

// expectAsked fails unless pods were requested in these namespaces and nowhere else.
func (w *world) expectAsked(namespaces ...string) {
	w.t.Helper()
	synctest.Wait()
	seen := map[string]bool{}
	for _, r := range w.asked() {
		ns := strings.Split(r, `"`)[1]
		if seen[ns] = true; !slices.Contains(namespaces, ns) {
			w.t.Errorf("asked for %s", r)
		}
	}
	if len(seen) != len(namespaces) {
		w.t.Errorf("asked in %v, want %v", seen, namespaces)
	}
}

func TestNamespacesChangeUnderAnInformerThatStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil), pod("b", "p", "n1", nil), pod("c", "p", "n1", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Namespaces: spaces("a")}}})
		defer end()
		ctx := context.Background()
		before, err := c.GetInformer(ctx, &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		h := newTold(t, c, &corev1.Pod{})
		index(t, c)
		expectTold(t, h, "add a/p")
		w.expectAsked("a")

		w.setNamespaces(c, &corev1.Pod{}, spaces("a", "b"))
		if err := c.Get(ctx, keyed("b", "p"), &corev1.Pod{}); err != nil {
			t.Error("a namespace that was added:", err)
		}
		expectTold(t, h, "add b/p")
		w.expectAsked("b")

		w.setNamespaces(c, &corev1.Pod{}, spaces("b"))
		if err := c.Get(ctx, keyed("a", "p"), &corev1.Pod{}); err == nil || apierrors.IsNotFound(err) {
			t.Error("a namespace that was removed:", err)
		}
		expectTold(t, h, "delete a/p")
		w.expectAsked()

		w.setNamespaces(c, &corev1.Pod{}, spaces(""))
		var list corev1.PodList
		if err := c.List(ctx, &list); err != nil || len(list.Items) != 3 || list.ResourceVersion == "" {
			t.Errorf("all namespaces: %v at %q, %v", namesOf(list.Items), list.ResourceVersion, err)
		}
		expectTold(t, h, "add a/p, add c/p")
		w.expectAsked("")

		w.setNamespaces(c, &corev1.Pod{}, spaces("c"))
		if err := c.List(ctx, &list, client.MatchingFields{"node": "n1"}); err != nil || !slices.Equal(namesOf(list.Items), []string{"c/p"}) {
			t.Errorf("by an index: %v, %v", namesOf(list.Items), err)
		}
		expectTold(t, h, "delete a/p, delete b/p")
		if after, err := c.GetInformer(ctx, &corev1.Pod{}); err != nil || after != before {
			t.Errorf("it is another informer, %v", err)
		}
	})
}

func TestTheEntryOfAllOthersLeavesOutThoseThatAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil), pod("b", "p", "n1", nil), pod("c", "p", "n1", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{DefaultNamespaces: spaces("a", "")})
		defer end()
		h := newTold(t, c, &corev1.Pod{})
		expectTold(t, h, "add a/p, add b/p, add c/p")
		w.asked()
		w.setNamespaces(c, &corev1.Pod{}, spaces("a", "b", ""))
		expectTold(t, h, "")
		for _, r := range w.asked() {
			if strings.Contains(r, `in "a"`) || strings.Contains(r, `in ""`) && !strings.Contains(r, `fields "metadata.namespace!=a,metadata.namespace!=b"`) {
				t.Error("asked for", r)
			}
		}
		w.create(pod("b", "q", "n1", nil), pod("d", "q", "n1", nil))
		expectTold(t, h, "add b/q, add d/q")
		w.setNamespaces(c, &corev1.Pod{}, spaces("a", "b"))
		expectTold(t, h, "delete c/p, delete d/q")
	})
}

func TestANamespaceWhoseSettingsChangeIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, ns := range []string{"a", "b"} {
			w.create(pod(ns, "p", "n1", map[string]string{"x": "1"}), pod(ns, "q", "n1", map[string]string{"x": "2"}))
		}
		c, end := w.run(ctrlruntime.NewCache, cache.Options{DefaultNamespaces: spaces("a", "b"), DefaultTransform: cache.TransformStripManagedFields()})
		defer end()
		h := newTold(t, c, &corev1.Pod{})
		h.take()
		w.asked()
		ctx := context.Background()
		with := func(config cache.Config) map[string]cache.Config {
			return map[string]cache.Config{"a": {}, "b": config}
		}

		w.setNamespaces(c, &corev1.Pod{}, with(cache.Config{LabelSelector: labels.SelectorFromSet(labels.Set{"x": "1"})}))
		if err := c.Get(ctx, keyed("b", "q"), &corev1.Pod{}); !apierrors.IsNotFound(err) {
			t.Error("an object that is selected no more:", err)
		}
		expectTold(t, h, "delete b/q")
		w.expectAsked("b")

		mark := func(obj any) (any, error) {
			obj.(client.Object).SetAnnotations(map[string]string{"seen": "yes"})
			return obj, nil
		}
		w.setNamespaces(c, &corev1.Pod{}, with(cache.Config{Transform: mark}))
		var p corev1.Pod
		if err := c.Get(ctx, keyed("b", "p"), &p); err != nil || p.Annotations["seen"] != "yes" {
			t.Errorf("through the transform: %v, %v", p.Annotations, err)
		}
		expectTold(t, h, "add b/q, update b/p")
		w.expectAsked("b")

		yes := true
		w.setNamespaces(c, &corev1.Pod{}, with(cache.Config{UnsafeDisableDeepCopy: &yes}))
		if err := c.Get(ctx, keyed("b", "p"), &p); err != nil || p.Annotations["seen"] != "" || p.Kind != "" {
			t.Errorf("without the transform, and shared: %v of kind %q, %v", p.Annotations, p.Kind, err)
		}
		expectTold(t, h, "update b/p, update b/q")
		w.expectAsked("b")
		w.setNamespaces(c, &corev1.Pod{}, spaces("a", "b"))
		expectTold(t, h, "")
		w.expectAsked()
	})
}

func TestNamespacesOfAKindHoldForAllFormsAndForInformersThatAreMadeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil), pod("b", "p", "n1", nil))
		c, err := ctrlruntime.NewCache(w.server.Config(), cache.Options{Mapper: mapper()})
		if err != nil {
			t.Fatal(err)
		}
		h := newTold(t, c, &corev1.Pod{})
		w.setNamespaces(c, &corev1.Pod{}, spaces("a"))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		expectTold(t, h, "add a/p")
		u := anObject(untypedPods)
		other := newTold(t, c, u)
		expectTold(t, other, "add a/p")
		w.setNamespaces(c, u, spaces("b"))
		expectTold(t, h, "add b/p, delete a/p")
		expectTold(t, other, "add b/p, delete a/p")
		if err := c.RemoveInformer(ctx, u); err != nil {
			t.Fatal(err)
		}
		expectTold(t, newTold(t, c, u), "add b/p")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := ctrlruntime.SetNamespaces(context.Background(), c, &corev1.Pod{}, spaces("a")); err == nil {
			t.Error("no error after the end")
		}
	})
}

func TestNamespacesThatCannotBeAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{DefaultNamespaces: spaces("a")})
		defer end()
		ctx := context.Background()
		h := newTold(t, c, &corev1.Pod{})
		m := anObject(podMetadata)
		metadata := newTold(t, c, m)
		expectTold(t, h, "add a/p")
		expectTold(t, metadata, "add a/p")
		w.asked()
		stock, err := cache.New(w.server.Config(), cache.Options{Mapper: mapper()})
		if err != nil {
			t.Fatal(err)
		}
		over, cancel := context.WithCancel(ctx)
		cancel()
		var foreign *ctrlruntime.ForeignCacheError
		if err := ctrlruntime.SetNamespaces(ctx, stock, &corev1.Pod{}, spaces("b")); !errors.As(err, &foreign) {
			t.Errorf("another package's cache: %v", err)
		}
		for want, err := range map[string]error{
			"not namespaced":  ctrlruntime.SetNamespaces(ctx, c, &corev1.Node{}, spaces("a")),
			"none are named":  ctrlruntime.SetNamespaces(ctx, c, &corev1.Pod{}, nil),
			"Transform":       ctrlruntime.SetNamespaces(ctx, c, &corev1.Pod{}, map[string]cache.Config{"b": {Transform: func(obj any) (any, error) { return obj, nil }}}),
			"not an object's": ctrlruntime.SetNamespaces(ctx, c, &unknown{}, spaces("a")),
			"canceled":        waitsForItsTurn(over, c),
		} {
			if err == nil || want != "not an object's" && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
		expectTold(t, h, "")
		w.expectAsked()
		if err := c.Get(ctx, keyed("a", "p"), &corev1.Pod{}); err != nil {
			t.Error("what was held is not:", err)
		}
	})
}

// unknown is a type that no scheme has.
type unknown struct{ corev1.Pod }

// waitsForItsTurn calls SetNamespaces until it notices that a context has ended: if two
// channels are ready, either may be chosen.
func waitsForItsTurn(over context.Context, c cache.Cache) error {
	for {
		if err := ctrlruntime.SetNamespaces(over, c, &corev1.Pod{}, spaces("a")); err != nil {
			return err
		}
	}
}

// Reads continue while namespaces come and go: none shows an object of a namespace that
// was removed before, and none misses an object of one that is there.
func TestGuaranteeReadsAreOfTheNamespacesThatAreThere(t *testing.T) {
	seed := testkit.Seed(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, ns := range []string{"a", "b", "c", "d"} {
			w.create(pod(ns, "p", "n1", nil), pod(ns, "q", "n2", nil))
		}
		c, end := w.run(ctrlruntime.NewCache, cache.Options{DefaultNamespaces: spaces("a", "b")})
		defer end()
		index(t, c)
		done := make(chan struct{})
		var readers sync.WaitGroup
		for n := range uint64(4) {
			readers.Go(func() {
				rnd := rand.New(rand.NewPCG(seed, n))
				for {
					select {
					case <-done:
						return
					default:
					}
					readAtRandom(t, c, rnd)
					testbubble.Pass(time.Duration(rnd.IntN(1000)) * time.Microsecond)
				}
			})
		}
		rnd := rand.New(rand.NewPCG(seed, 99))
		for range 200 {
			named := spaces("a") // it stays
			for _, ns := range []string{"b", "c", "d", ""} {
				if rnd.IntN(2) == 0 {
					named[ns] = cache.Config{}
				}
			}
			w.setNamespaces(c, &corev1.Pod{}, named)
			var list corev1.PodList
			err := c.List(context.Background(), &list)
			want := 2 * len(named)
			if _, all := named[""]; all {
				want = 8
			}
			if err != nil || len(list.Items) != want {
				t.Fatalf("in %v: %v, %v", named, namesOf(list.Items), err)
			}
			testbubble.Pass(time.Millisecond)
		}
		close(done)
		readers.Wait()
	})
}

func readAtRandom(t *testing.T, c cache.Cache, rnd *rand.Rand) {
	ctx := context.Background()
	ns := []string{"a", "b", "c", "d"}[rnd.IntN(4)]
	if rnd.IntN(2) == 0 {
		err := c.Get(ctx, keyed(ns, "p"), &corev1.Pod{})
		if apierrors.IsNotFound(err) || err != nil && ns == "a" {
			t.Errorf("p of %s: %v", ns, err)
		}
		return
	}
	var list corev1.PodList
	opts := []client.ListOption{client.InNamespace(ns)}
	want := 2
	if rnd.IntN(2) == 0 {
		opts, want = append(opts, client.MatchingFields{"node": "n1"}), 1
	}
	if err := c.List(ctx, &list, opts...); err == nil && len(list.Items) != want || err != nil && ns == "a" {
		t.Errorf("list in %s: %v, %v", ns, namesOf(list.Items), err)
	}
}

// TestGuaranteeNamespacesComeAndGoExactly adds and removes one of 100 namespaces again
// and again, while objects of all of them change. Only that one is requested, handlers
// receive exactly its objects, and in the end heap and goroutines are what they were.
func TestGuaranteeNamespacesComeAndGoExactly(t *testing.T) {
	rounds := *namespaceRounds
	rnd := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var all []string
		for n := range 101 {
			ns := fmt.Sprintf("ns%03d", n)
			all = append(all, ns)
			for p := range 3 {
				w.create(pod(ns, fmt.Sprint("p", p), "n0", nil))
			}
		}
		held, spare := slices.Clone(all[:100]), all[100]
		c, end := w.run(ctrlruntime.NewCache, cache.Options{DefaultNamespaces: spaces(held...)})
		defer end()
		h := newTold(t, c, &corev1.Pod{})
		h.take()
		w.asked()
		stop := w.load(all)
		var heap uint64
		var goroutines int
		for round := range rounds {
			n := rnd.IntN(len(held))
			if round == 0 {
				n = 0 // the first source runs on the informer's own goroutine, which stays when it goes
			}
			gone := held[n]
			held[n] = ""
			named := slices.DeleteFunc(slices.Clone(held), func(ns string) bool { return ns == "" })
			w.setNamespaces(c, &corev1.Pod{}, spaces(named...))
			if err := c.Get(context.Background(), keyed(gone, "p0"), &corev1.Pod{}); err == nil {
				t.Fatalf("%s is gone and read", gone)
			}
			h.exactly(c, 300-3)
			w.expectAsked()
			held[n] = spare
			w.setNamespaces(c, &corev1.Pod{}, spaces(held...))
			if err := c.Get(context.Background(), keyed(spare, "p0"), &corev1.Pod{}); err != nil {
				t.Fatal(err)
			}
			h.exactly(c, 300)
			w.expectAsked(spare)
			spare = gone
			if t.Failed() {
				t.Fatal("round", round)
			}
			if round == rounds/10 {
				heap, goroutines = memory()
			}
		}
		stop()
		after, running := memory()
		// The load's own has ended since.
		if running != goroutines-1 {
			t.Errorf("%d goroutines, %d before", running, goroutines)
		}
		if after > heap+heap/5+1<<20 {
			t.Errorf("heap of %d bytes, %d before", after, heap)
		}
		t.Logf("%d rounds: heap %d bytes, %d after a tenth of them; %d goroutines, %d", rounds, after, heap, running, goroutines)
	})
}

// memory returns the heap in use and the number of the bubble's goroutines.
func memory() (heap uint64, goroutines int) {
	synctest.Wait()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, testbubble.Goroutines()
}

// exactly fails unless the handler and the cache have the same n objects.
func (h *told) exactly(c cache.Cache, n int) {
	h.t.Helper()
	var list corev1.PodList
	if err := c.List(context.Background(), &list); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = nil
	if len(h.held) != n || len(list.Items) != n {
		h.t.Errorf("handlers have %d objects, the cache %d, want %d", len(h.held), len(list.Items), n)
	}
	for i := range list.Items {
		if p := &list.Items[i]; h.held[keyOf(p)] == "" {
			h.t.Errorf("handlers do not have %s", keyOf(p))
		}
	}
}

// load changes random objects until the function that it returns is called.
func (w *world) load(namespaces []string) func() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		rnd := rand.New(rand.NewPCG(1, 2))
		for n := 0; ctx.Err() == nil; n++ {
			p := pod(namespaces[rnd.IntN(len(namespaces))], fmt.Sprint("p", rnd.IntN(3)), fmt.Sprint("n", n), nil)
			if _, err := w.storage.Update(p); err != nil {
				w.t.Error(err)
			}
			testbubble.Pass(100 * time.Microsecond)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// The forms that anObject makes.
const (
	untypedPods = iota
	podMetadata
)

func anObject(form int) client.Object {
	if form == podMetadata {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(podKind)
		return m
	}
	return unstructuredPod()
}

func (w *world) delete(namespace, name string) {
	w.t.Helper()
	if _, err := w.storage.Delete(apiserver.Pods.GroupResource(), types.NamespacedName{Namespace: namespace, Name: name}, nil); err != nil {
		w.t.Fatal(err)
	}
}
