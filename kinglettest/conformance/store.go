package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	kc "k8s.io/client-go/tools/cache"
)

// storeRow has what neither client-go's own tests of stores say, which `make peers-cache`
// runs over package cache, nor the tests of package cache beside client-go.
func storeRow() row {
	return row{
		ID:    "store",
		Needs: []string{"DeletionHandlingMetaNamespaceKeyFunc", "NewStore", "NewTransformingStore", "NewIndexer", "NewTTLStore"},
		Tests: []test{
			{Sentence: "random operations leave what a map would hold", Run: storeEqualsMap},
			{Sentence: "the lists that are handed out belong to the caller", Run: storeListsAreTheCallers},
			{Sentence: "the version is that of the last write, replace or bookmark", Run: storeVersion},
			{Sentence: "every answer is of one moment", Run: threadSafeOneMoment, Real: true},
		},
	}
}

func storeEqualsMap(t *testing.T, im Implementation) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	// The bubble of the caller ends with its goroutine, so the stores are
	// tried one after the other in it.
	for name, s := range map[string]kc.Store{
		"NewStore":    im.NewStore(keyOfKeyed),
		"NewIndexer":  im.NewIndexer(keyOfKeyed, kc.Indexers{"value": valueOfKeyed}),
		"transformer": im.NewTransformingStore(keyOfKeyed, func(obj any) (any, error) { return obj, nil }),
	} {
		r := rand.New(rand.NewPCG(seed, 1))
		twin := map[string]keyed{}
		for step := range 2000 {
			k := keyed{fmt.Sprintf("%c/%d", 'a'+rune(r.IntN(3)), r.IntN(12)), step}
			switch r.IntN(10) {
			case 0, 1, 2:
				must(t, s.Add(k))
				twin[k.key] = k
			case 3, 4:
				must(t, s.Update(k))
				twin[k.key] = k
			case 5, 6, 7:
				must(t, s.Delete(k))
				delete(twin, k.key)
			case 8:
				item, exists, err := s.Get(k)
				must(t, err)
				want, ok := twin[k.key]
				if exists != ok || ok && item != any(want) {
					t.Fatalf("%s, step %d: Get(%s) = %v, %v; want %v, %v", name, step, k.key, item, exists, want, ok)
				}
				if !ok && item != nil {
					t.Fatalf("%s, step %d: Get of an absent key gives %v", name, step, item)
				}
			case 9:
				if r.IntN(10) == 0 {
					var list []any
					clear(twin)
					for i := range r.IntN(8) {
						k := keyed{fmt.Sprintf("a/%d", i), step}
						twin[k.key] = k
						list = append(list, k)
					}
					must(t, s.Replace(list, fmt.Sprint(step)))
				}
			}
			if step%50 == 0 {
				sameAsMap(t, s, twin)
			}
		}
		sameAsMap(t, s, twin)
	}
}

func valueOfKeyed(obj any) ([]string, error) { return []string{fmt.Sprint(obj.(keyed).value % 7)}, nil }

func sameAsMap(t *testing.T, s kc.Store, twin map[string]keyed) {
	t.Helper()
	same(t, "keys", sorted(s.ListKeys()), slices.Sorted(maps.Keys(twin))...)
	var want []string
	for _, k := range twin {
		want = append(want, fmt.Sprint(k))
	}
	same(t, "objects", names(s.List()), sorted(want)...)
	for key, k := range twin {
		item, exists, err := s.GetByKey(key)
		if err != nil || !exists || item != any(k) {
			t.Errorf("GetByKey(%s) = %v, %v, %v; want %v", key, item, exists, err, k)
		}
	}
}

func storeListsAreTheCallers(t *testing.T, im Implementation) {
	s := im.NewIndexer(keyOfKeyed, kc.Indexers{"value": valueOfKeyed})
	must(t, s.Add(keyed{"a", 1}))
	must(t, s.Add(keyed{"b", 1}))
	for _, list := range [][]any{s.List(), value(s.ByIndex("value", "1"))(t), value(s.Index("value", keyed{"x", 1}))(t)} {
		clear(list)
	}
	for _, list := range [][]string{s.ListKeys(), value(s.IndexKeys("value", "1"))(t), s.ListIndexFuncValues("value")} {
		clear(list)
	}
	same(t, "objects", names(s.List()), "{a 1}", "{b 1}")
	same(t, "keys", sorted(s.ListKeys()), "a", "b")
	same(t, "by index", names(value(s.ByIndex("value", "1"))(t)), "{a 1}", "{b 1}")
	same(t, "keys by index", sorted(value(s.IndexKeys("value", "1"))(t)), "a", "b")
	same(t, "values", s.ListIndexFuncValues("value"), "1")
}

func storeVersion(t *testing.T, im Implementation) {
	for _, s := range []kc.Store{
		im.NewStore(im.DeletionHandlingMetaNamespaceKeyFunc),
		im.NewIndexer(im.DeletionHandlingMetaNamespaceKeyFunc, kc.Indexers{}),
		im.NewTTLStore(im.DeletionHandlingMetaNamespaceKeyFunc, time.Hour),
	} {
		is := func(what, want string) {
			t.Helper()
			equal(t, fmt.Sprintf("version of a %T after %s", s, what), s.LastStoreSyncResourceVersion(), want)
		}
		is("nothing", "")
		s.Bookmark("4")
		is("a bookmark", "4")
		must(t, s.Replace([]any{pod("ns", "a", at("3"))}, "7"))
		is("Replace", "7")
		if _, ttl := s.(kc.Indexer); ttl {
			must(t, s.Add(pod("ns", "b", at("8"))))
			is("Add", "8")
			must(t, s.Update(pod("ns", "b", at("9"))))
			is("Update", "9")
		}
		must(t, s.Delete(pod("ns", "b", at("10"))))
		is("Delete", "10")
		must(t, s.Delete(kc.DeletedFinalStateUnknown{Key: "ns/a"}))
		is("a delete of unknown state", "10")
	}
}

func podIndexers() kc.Indexers { return kc.Indexers{"node": byNode, "labels": byLabels} }

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
