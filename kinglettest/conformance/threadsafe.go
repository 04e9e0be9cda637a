package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	kc "k8s.io/client-go/tools/cache"
)

func threadSafeRow() row {
	return row{
		id:    "thread-safe store",
		needs: []string{"NewThreadSafeStore", "NewIndexer", "MetaNamespaceKeyFunc"},
		tests: []test{
			{sentence: "random operations by key leave what a map would hold", run: threadSafeEqualsMap},
			{sentence: "its indexes follow its objects", run: threadSafeIndexes},
			{sentence: "the key is the caller's and need not be the object's", run: threadSafeForeignKeys},
			{sentence: "the version is that of the last object written, deleted, replaced or of a bookmark", run: threadSafeVersion},
			{sentence: "a transaction makes its writes in order", run: threadSafeTransaction},
			{sentence: "readers and writers may work at the same time", run: threadSafeConcurrent, real: true},
			{sentence: "every answer is of one moment", run: threadSafeOneMoment, real: true},
		},
	}
}

func threadSafeEqualsMap(t *testing.T, im Implementation) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	s := im.NewThreadSafeStore(kc.Indexers{"value": valueOfKeyed}, kc.Indices{})
	twin := map[string]any{}
	for step := range 3000 {
		key := fmt.Sprintf("k%d", r.IntN(20))
		obj := keyed{key, step}
		switch n := r.IntN(100); {
		case n < 30:
			s.Add(key, obj)
			twin[key] = obj
		case n < 50:
			s.Update(key, obj)
			twin[key] = obj
		case n < 70:
			s.Delete(key)
			delete(twin, key)
		case n < 80:
			s.DeleteWithObject(key, obj)
			delete(twin, key)
		case n < 82:
			clear(twin)
			for range r.IntN(10) {
				key := fmt.Sprintf("k%d", r.IntN(20))
				twin[key] = keyed{key, step}
			}
			s.Replace(maps.Clone(twin), fmt.Sprint(step))
		default:
			item, exists := s.Get(key)
			if want, ok := twin[key]; exists != ok || item != want {
				t.Fatalf("step %d: Get(%s) = %v, %v; want %v, %v", step, key, item, exists, want, ok)
			}
		}
		if step%100 != 0 {
			continue
		}
		same(t, "keys", sorted(s.ListKeys()), slices.Sorted(maps.Keys(twin))...)
		same(t, "objects", names(s.List()), names(slices.Collect(maps.Values(twin)))...)
		for i := range 7 {
			var want []string
			for key, obj := range twin {
				if obj.(keyed).value%7 == i {
					want = append(want, key)
				}
			}
			same(t, "keys by index", sorted(value(s.IndexKeys("value", fmt.Sprint(i)))(t)), sorted(want)...)
		}
	}
	must(t, s.Resync())
}

func threadSafeIndexes(t *testing.T, im Implementation) {
	s := im.NewThreadSafeStore(kc.Indexers{"node": byNode}, kc.Indices{})
	s.Add("a", pod("ns", "a", on("n1")))
	s.Add("b", pod("ns", "b", on("n1"), label("app", "x")))
	must(t, s.AddIndexers(kc.Indexers{"labels": byLabels}))
	same(t, "on n1", names(value(s.ByIndex("node", "n1"))(t)), "ns/a", "ns/b")
	same(t, "like b", names(value(s.Index("labels", pod("", "", label("app", "x"))))(t)), "ns/b")
	same(t, "keys on n1", sorted(value(s.IndexKeys("node", "n1"))(t)), "a", "b")
	same(t, "labels", s.ListIndexFuncValues("labels"), "app=x")
	same(t, "names of the indexers", slices.Sorted(maps.Keys(s.GetIndexers())), "labels", "node")
	s.Update("a", pod("ns", "a", on("n2")))
	s.Delete("b")
	same(t, "nodes", s.ListIndexFuncValues("node"), "n2")
	same(t, "labels", s.ListIndexFuncValues("labels"))
	if _, err := s.ByIndex("none", "x"); err == nil {
		t.Error("an unknown index is no error")
	}
	if err := s.AddIndexers(kc.Indexers{"node": byNode}); err == nil {
		t.Error("an indexer of the same name is taken")
	}
	s.Replace(map[string]any{"c": pod("ns", "c", on("n9"))}, "9")
	same(t, "nodes after Replace", s.ListIndexFuncValues("node"), "n9")
}

func threadSafeForeignKeys(t *testing.T, im Implementation) {
	s := im.NewThreadSafeStore(kc.Indexers{}, kc.Indices{})
	p := pod("ns", "a")
	for _, key := range []string{"", "/", "a/b/c", "ns/a", "ns/", "/a", "a"} {
		s.Add(key, p)
		if item, exists := s.Get(key); !exists || item != any(p) {
			t.Errorf("under %q is %v, %v", key, item, exists)
		}
	}
	same(t, "keys", sorted(s.ListKeys()), "", "/", "/a", "a", "a/b/c", "ns/", "ns/a")
	equal(t, "objects", len(s.List()), 7)
	s.Delete("a/b/c")
	s.Delete("")
	s.Delete("/a")
	same(t, "keys after the deletes", sorted(s.ListKeys()), "/", "a", "ns/", "ns/a")
	if item, exists := s.Get("none"); item != nil || exists {
		t.Errorf("under an absent key is %v, %v", item, exists)
	}
}

func threadSafeVersion(t *testing.T, im Implementation) {
	s := im.NewThreadSafeStore(kc.Indexers{}, kc.Indices{})
	is := func(what, want string) {
		t.Helper()
		equal(t, "version after "+what, s.LastStoreSyncResourceVersion(), want)
	}
	is("nothing", "")
	s.Add("a", pod("ns", "a", at("5")))
	is("Add", "5")
	s.Update("a", pod("ns", "a", at("6")))
	is("Update", "6")
	s.Delete("a")
	is("Delete without object", "6")
	s.DeleteWithObject("a", pod("ns", "a", at("7")))
	is("DeleteWithObject", "7")
	s.Bookmark("9")
	is("Bookmark", "9")
	s.Replace(map[string]any{"b": pod("ns", "b", at("3"))}, "12")
	is("Replace", "12")
	s.Add("x", "an object without a version")
	is("an object without metadata", "12")
}

func threadSafeTransaction(t *testing.T, im Implementation) {
	s, ok := im.NewThreadSafeStore(kc.Indexers{"node": byNode}, kc.Indices{}).(kc.ThreadSafeStoreWithTransaction)
	if !ok {
		t.Fatal("a thread-safe store has no transactions")
	}
	s.Transaction()
	write := func(kind kc.TransactionType, key string, obj any) kc.ThreadSafeStoreTransaction {
		return kc.ThreadSafeStoreTransaction{Transaction: kc.Transaction{Type: kind, Object: obj}, Key: key}
	}
	s.Transaction(
		write(kc.TransactionTypeAdd, "a", pod("ns", "a", on("n1"), at("1"))),
		write(kc.TransactionTypeAdd, "b", pod("ns", "b", on("n1"), at("2"))),
		write(kc.TransactionTypeUpdate, "a", pod("ns", "a", on("n2"), at("3"))),
		write(kc.TransactionTypeDelete, "b", pod("ns", "b", at("4"))),
		write(kc.TransactionTypeDelete, "c", pod("ns", "c", at("5"))),
	)
	same(t, "objects", names(s.List()), "ns/a@3")
	same(t, "nodes", s.ListIndexFuncValues("node"), "n2")
	equal(t, "version", s.LastStoreSyncResourceVersion(), "5")
}

// threadSafeConcurrent has the race detector look for what is unguarded.
func threadSafeConcurrent(t *testing.T, im Implementation) {
	s := im.NewThreadSafeStore(kc.Indexers{"value": valueOfKeyed}, kc.Indices{})
	var wg sync.WaitGroup
	for writer := range 4 {
		wg.Go(func() {
			for i := range 300 {
				key := fmt.Sprintf("%d/%d", writer, i%20)
				switch i % 5 {
				case 0, 1, 2:
					s.Update(key, keyed{key, i})
				case 3:
					s.Delete(key)
				case 4:
					s.Bookmark(fmt.Sprint(i))
				}
			}
			s.Replace(map[string]any{}, "1")
		})
		wg.Go(func() {
			for i := range 300 {
				for _, obj := range s.List() {
					_ = obj.(keyed).value
				}
				_ = s.ListKeys()
				_, _ = s.Get(fmt.Sprintf("%d/%d", writer, i%20))
				_, _ = s.ByIndex("value", fmt.Sprint(i%7))
				_, _ = s.IndexKeys("value", fmt.Sprint(i%7))
				_ = s.ListIndexFuncValues("value")
				_ = s.LastStoreSyncResourceVersion()
			}
		})
	}
	wg.Go(func() {
		for i := range 10 {
			if err := s.AddIndexers(kc.Indexers{fmt.Sprint("more", i): valueOfKeyed}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
}

// threadSafeOneMoment moves one object between two index values, so that at
// every moment there is one in either of them, and one in the list.
func threadSafeOneMoment(t *testing.T, im Implementation) {
	s := im.NewIndexer(keyOfKeyed, kc.Indexers{"side": func(obj any) ([]string, error) {
		return []string{"both", fmt.Sprint("side", obj.(keyed).value%2)}, nil
	}})
	must(t, s.Add(keyed{"a", 0}))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 3000 {
			if err := s.Update(keyed{"a", i}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		wg.Go(func() {
			for range 1000 {
				both, err := s.ByIndex("side", "both")
				if err != nil || len(both) != 1 {
					t.Errorf("the index shows %v, %v", both, err)
					return
				}
				if list := s.List(); len(list) != 1 {
					t.Errorf("the list shows %v", list)
					return
				}
				one, err := s.Index("side", keyed{"x", 1})
				if err != nil || len(one) != 1 {
					t.Errorf("the union of two values shows %v, %v", one, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
