package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/testclock"
)

// restStoreTests are the part of "the rest" that is about stores with a
// purpose of their own.
func restStoreTests() []test {
	return []test{
		{sentence: "what a TTL store holds expires", run: ttlExpires},
		{sentence: "an expiration policy decides what expires", run: expirationPolicy},
		{sentence: "an UndeltaStore pushes everything after each change", run: undeltaPushes},
		{sentence: "a heap hands out the least first", run: heapOrder},
		{sentence: "a heap waits for something, or for the end", run: heapWaits},
		{sentence: "a heap can be read and its objects deleted", run: heapReads},
		{sentence: "a mutation cache gives the newer of what was written and what is stored", run: mutationNewer},
		{sentence: "a mutation cache gives what is not stored yet, where asked to", run: mutationAdds},
		{sentence: "a mutation cache forgets after its time, and the oldest beyond its size", run: mutationForgets},
		{sentence: "a mutation cache takes no write for what is known to be deleted", run: mutationDeleted},
	}
}

func ttlExpires(t *testing.T, im Implementation) {
	s := im.NewTTLStore(keyOfKeyed, time.Minute)
	must(t, s.Add(keyed{"a", 1}))
	testclock.Elapse(40 * time.Second)
	must(t, s.Add(keyed{"b", 2}))
	must(t, s.Update(keyed{"c", 3}))
	same(t, "after 40 s", names(s.List()), "{a 1}", "{b 2}", "{c 3}")
	testclock.Elapse(30 * time.Second)
	_, exists, err := s.GetByKey("a")
	equal(t, "a after 70 s", fmt.Sprint(exists, err), "false <nil>")
	item, exists, err := s.Get(keyed{"b", 9})
	equal(t, "b after 30 s", fmt.Sprint(item, exists, err), "{b 2} true <nil>")
	same(t, "after 70 s", names(s.List()), "{b 2}", "{c 3}")
	same(t, "keys after 70 s", sorted(s.ListKeys()), "b", "c")
	must(t, s.Update(keyed{"b", 4}))
	must(t, s.Delete(keyed{"c", 0}))
	testclock.Elapse(40 * time.Second)
	same(t, "after an update", names(s.List()), "{b 4}")
	must(t, s.Replace([]any{keyed{"d", 5}, keyed{"e", 6}}, "7"))
	same(t, "after Replace", names(s.List()), "{d 5}", "{e 6}")
	testclock.Elapse(61 * time.Second)
	same(t, "after a minute", s.List())
	must(t, s.Resync())
	var keyErr kc.KeyError
	for what, err := range map[string]error{
		"Add": s.Add(keyed{"bad", 1}), "Delete": s.Delete(keyed{"bad", 1}), "Replace": s.Replace([]any{keyed{"bad", 1}}, ""),
	} {
		if !errors.As(err, &keyErr) {
			t.Errorf("%s: %v", what, err)
		}
	}

	forever := im.NewTTLStore(keyOfKeyed, 0)
	must(t, forever.Add(keyed{"a", 1}))
	testclock.Elapse(1000 * time.Hour)
	same(t, "without a time", names(forever.List()), "{a 1}")
}

// onlyOdd lets even values expire.
type onlyOdd struct{}

func (onlyOdd) IsExpired(e *kc.TimestampedEntry) bool { return e.Obj.(keyed).value%2 == 0 }

func expirationPolicy(t *testing.T, im Implementation) {
	s := im.NewExpirationStore(keyOfKeyed, onlyOdd{})
	for i := range 4 {
		must(t, s.Add(keyed{fmt.Sprint(i), i}))
	}
	same(t, "objects", names(s.List()), "{1 1}", "{3 3}")
	_, exists, _ := s.GetByKey("2")
	equal(t, "what has expired exists", exists, false)
}

func undeltaPushes(t *testing.T, im Implementation) {
	var pushes [][]string
	s := im.NewUndeltaStore(func(list []any) { pushes = append(pushes, names(list)) }, keyOfKeyed)
	must(t, s.Add(keyed{"a", 1}))
	must(t, s.Add(keyed{"b", 2}))
	must(t, s.Update(keyed{"a", 3}))
	must(t, s.Delete(keyed{"b", 0}))
	must(t, s.Replace([]any{keyed{"c", 4}}, "1"))
	if s.Add(keyed{"bad", 1}) == nil || s.Update(keyed{"bad", 1}) == nil || s.Delete(keyed{"bad", 1}) == nil || s.Replace([]any{keyed{"bad", 1}}, "") == nil {
		t.Error("a bad object is taken")
	}
	equal(t, "pushes", fmt.Sprint(pushes), "[[{a 1}] [{a 1} {b 2}] [{a 3} {b 2}] [{a 3}] [{c 4}]]")
	same(t, "keys", s.ListKeys(), "c")
}

func lessValue(a, b any) bool { return a.(keyed).value < b.(keyed).value }

func heapOrder(t *testing.T, im Implementation) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 7))
	h := im.NewHeap(keyOfKeyed, lessValue)
	twin := map[string]int{}
	for step := range 2000 {
		k := keyed{fmt.Sprint("k", r.IntN(30)), r.IntN(1_000_000)}
		switch r.IntN(6) {
		case 0, 1:
			must(t, h.Add(k))
			twin[k.key] = k.value
		case 2:
			must(t, h.Update(k))
			twin[k.key] = k.value
		case 3:
			must(t, h.AddIfNotPresent(k))
			if _, ok := twin[k.key]; !ok {
				twin[k.key] = k.value
			}
		case 4:
			_, there := twin[k.key]
			if err := h.Delete(k); (err == nil) != there {
				t.Fatalf("step %d: Delete of %s, which is there: %v: %v", step, k.key, there, err)
			}
			delete(twin, k.key)
		case 5:
			if len(twin) == 0 {
				continue
			}
			var least []int
			for _, v := range twin {
				least = append(least, v)
			}
			popped := value(h.Pop())(t).(keyed)
			if popped.value != slices.Min(least) || twin[popped.key] != popped.value {
				t.Fatalf("step %d: popped %v of %v", step, popped, twin)
			}
			delete(twin, popped.key)
		}
	}
	must(t, h.BulkAdd([]any{keyed{"x", -1}, keyed{"y", -3}, keyed{"z", -2}, keyed{"x", -4}}))
	for _, want := range []keyed{{"x", -4}, {"y", -3}, {"z", -2}} {
		equal(t, "popped", value(h.Pop())(t), any(want))
	}
}

func heapWaits(t *testing.T, im Implementation) {
	h := im.NewHeap(keyOfKeyed, lessValue)
	popping := func() <-chan string {
		done := make(chan string, 1)
		go func() {
			obj, err := h.Pop()
			done <- fmt.Sprint(obj, ", ", err != nil)
		}()
		return done
	}
	done := popping()
	equal(t, "Pop of an empty heap", outcome(done), "waits")
	must(t, h.Add(keyed{"a", 1}))
	equal(t, "Pop after Add", outcome(done), "{a 1}, false")
	done = popping()
	must(t, h.BulkAdd([]any{keyed{"b", 2}}))
	equal(t, "Pop after BulkAdd", outcome(done), "{b 2}, false")
	done = popping()
	synctest.Wait()
	equal(t, "closed", h.IsClosed(), false)
	h.Close()
	equal(t, "Pop at Close", outcome(done), "<nil>, true")
	equal(t, "closed", h.IsClosed(), true)
	if h.Add(keyed{"c", 1}) == nil || h.AddIfNotPresent(keyed{"c", 1}) == nil || h.BulkAdd([]any{keyed{"c", 1}}) == nil {
		t.Error("a closed heap takes objects")
	}
}

func heapReads(t *testing.T, im Implementation) {
	h := im.NewHeap(keyOfKeyed, lessValue)
	must(t, h.Add(keyed{"a", 2}))
	must(t, h.Add(keyed{"b", 1}))
	same(t, "objects", names(h.List()), "{a 2}", "{b 1}")
	same(t, "keys", sorted(h.ListKeys()), "a", "b")
	item, exists, err := h.Get(keyed{"a", 9})
	equal(t, "Get", fmt.Sprint(item, exists, err), "{a 2} true <nil>")
	item, exists, err = h.GetByKey("none")
	equal(t, "GetByKey of an absent key", fmt.Sprint(item, exists, err), "<nil> false <nil>")
	var keyErr kc.KeyError
	for what, err := range map[string]error{
		"Add": h.Add(keyed{"bad", 1}), "Delete": h.Delete(keyed{"bad", 1}), "AddIfNotPresent": h.AddIfNotPresent(keyed{"bad", 1}),
		"BulkAdd": h.BulkAdd([]any{keyed{"bad", 1}}),
	} {
		if !errors.As(err, &keyErr) {
			t.Errorf("%s: %v", what, err)
		}
	}
	h.Close()
	must(t, h.Delete(keyed{"a", 0}))
	equal(t, "popped after Close", value(h.Pop())(t), any(keyed{"b", 1}))
}

// mutated is a mutation cache over a store with pods in it.
func mutated(t *testing.T, im Implementation, o kc.MutationCacheOptions, stored ...*corev1.Pod) (MutationCache, kc.Indexer) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	for _, p := range stored {
		must(t, s.Add(p))
	}
	if o.Indexer == nil {
		o.Indexer = s
	}
	return im.NewMutationCache(s, o), s
}

// gives checks what a mutation cache has under a key.
func gives(t *testing.T, m MutationCache, key, want string) {
	t.Helper()
	item, exists, err := m.GetByKey(key)
	must(t, err)
	got := "nothing"
	if exists {
		got = describe(item)
	}
	equal(t, "under "+key, got, want)
}

func mutationNewer(t *testing.T, im Implementation) {
	m, s := mutated(t, im, kc.MutationCacheOptions{}, pod("ns", "a", at("5"), on("n1")))
	gives(t, m, "ns/a", "ns/a@5")
	m.Mutation(pod("ns", "a", at("7"), on("n2")))
	gives(t, m, "ns/a", "ns/a@7")
	m.Mutation(pod("ns", "a", at("6")))
	gives(t, m, "ns/a", "ns/a@7")
	same(t, "on n1", names(value(m.ByIndex("node", "n1"))(t)), "ns/a@7")
	must(t, s.Update(pod("ns", "a", at("8"), on("n1"))))
	gives(t, m, "ns/a", "ns/a@8")
	m.Mutation(pod("ns", "b", at("9"), on("n1")))
	gives(t, m, "ns/b", "nothing")
	same(t, "on n1", names(value(m.ByIndex("node", "n1"))(t)), "ns/a@8")
	if _, err := m.ByIndex("none", "x"); err == nil {
		t.Error("an unknown index is no error")
	}
	alone := im.NewMutationCache(im.NewStore(im.MetaNamespaceKeyFunc), kc.MutationCacheOptions{})
	if _, err := alone.ByIndex("node", "n1"); err == nil {
		t.Error("ByIndex without an indexer is no error")
	}
	alone.Mutation("a string")
}

func mutationAdds(t *testing.T, im Implementation) {
	m, s := mutated(t, im, kc.MutationCacheOptions{IncludeAdds: true}, pod("ns", "a", at("5"), on("n1")))
	m.Mutation(pod("ns", "b", at("6"), on("n1")))
	same(t, "on n1", names(value(m.ByIndex("node", "n1"))(t)), "ns/a@5", "ns/b@6")
	same(t, "on n2", value(m.ByIndex("node", "n2"))(t))
	gives(t, m, "ns/b", "ns/b@6")
	m.Mutation(pod("ns", "b", at("6"), on("n1")))
	must(t, s.Add(pod("ns", "b", at("6"), on("n1"))))
	m.OnAddOrUpdate(pod("ns", "b", at("6"), on("n1")))
	must(t, s.Delete(pod("ns", "b")))
	gives(t, m, "ns/b", "nothing")
}

func mutationForgets(t *testing.T, im Implementation) {
	m, _ := mutated(t, im, kc.MutationCacheOptions{IncludeAdds: true, TTL: time.Minute, MaxCacheSize: 2})
	m.Mutation(pod("ns", "a", at("1"), on("n1")))
	testclock.Elapse(59 * time.Second)
	same(t, "after 59 s", names(value(m.ByIndex("node", "n1"))(t)), "ns/a@1")
	testclock.Elapse(2 * time.Second)
	same(t, "after 61 s", value(m.ByIndex("node", "n1"))(t))
	gives(t, m, "ns/a", "nothing")
	for i, name := range []string{"x", "y", "z"} {
		m.Mutation(pod("ns", name, at(fmt.Sprint(i+2))))
	}
	gives(t, m, "ns/x", "nothing")
	gives(t, m, "ns/y", "ns/y@3")
	gives(t, m, "ns/z", "ns/z@4")

	long, _ := mutated(t, im, kc.MutationCacheOptions{IncludeAdds: true})
	long.Mutation(pod("ns", "a", at("1"), on("n1")))
	testclock.Elapse(4 * time.Minute)
	same(t, "after four minutes", names(value(long.ByIndex("node", "n1"))(t)), "ns/a@1")
	testclock.Elapse(2 * time.Minute)
	gives(t, long, "ns/a", "nothing")
}

func mutationDeleted(t *testing.T, im Implementation) {
	m, _ := mutated(t, im, kc.MutationCacheOptions{IncludeAdds: true})
	m.Mutation(pod("ns", "a", at("5"), identity("first")))
	m.OnDelete(pod("ns", "a", at("6"), identity("first")))
	gives(t, m, "ns/a", "nothing")
	m.Mutation(pod("ns", "a", at("7"), identity("first")))
	gives(t, m, "ns/a", "nothing")
	m.Mutation(pod("ns", "a", at("4"), identity("older")))
	gives(t, m, "ns/a", "nothing")
	same(t, "on no node", value(m.ByIndex("node", "n1"))(t))
	m.Mutation(pod("ns", "a", at("8"), identity("second")))
	m.OnDelete(pod("ns", "a", at("2"), identity("other")))
	gives(t, m, "ns/a", "ns/a@8")
}
