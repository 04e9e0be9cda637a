package conformance

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kc "k8s.io/client-go/tools/cache"
)

func storeRow() row {
	return row{
		id: "store",
		needs: []string{
			"MetaNamespaceKeyFunc", "DeletionHandlingMetaNamespaceKeyFunc", "SplitMetaNamespaceKey", "MetaNamespaceIndexFunc",
			"IndexFuncToKeyFuncAdapter", "NewStore", "NewTransformingStore", "NewIndexer",
		},
		tests: append([]test{
			{sentence: "random operations leave what a map would hold", run: storeEqualsMap},
			{sentence: "an update of an absent key adds it, and deleting an absent key does nothing", run: storeAbsentKeys},
			{sentence: "reads give back the very object that was stored", run: storeIdentity},
			{sentence: "a key error is a KeyError, names object and cause, and changes nothing", run: storeKeyErrors},
			{sentence: "the lists that are handed out belong to the caller", run: storeListsAreTheCallers},
			{sentence: "resync does nothing", run: storeResync},
			{sentence: "an explicit key stands for an object", run: storeExplicitKey},
			{sentence: "an object of unknown final state is deleted by its key", run: storeTombstone},
			{sentence: "keys are namespace/name, or the name alone", run: keysOfObjects},
			{sentence: "an index function with one value makes a key function", run: indexFuncAsKeyFunc},
			{sentence: "a transformer changes what is stored, and its error changes nothing", run: storeTransformer},
			{sentence: "the version is that of the last write, replace or bookmark", run: storeVersion},
			{sentence: "a transaction makes its writes, and names those that failed", run: storeTransaction},
		}, indexTests()...),
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

func storeAbsentKeys(t *testing.T, im Implementation) {
	for _, s := range []kc.Store{im.NewStore(keyOfKeyed), im.NewIndexer(keyOfKeyed, kc.Indexers{})} {
		same(t, "keys of a new store", s.ListKeys())
		same(t, "objects of a new store", s.List())
		must(t, s.Delete(keyed{"a", 1}))
		must(t, s.Update(keyed{"a", 1}))
		same(t, "keys", s.ListKeys(), "a")
		must(t, s.Add(keyed{"a", 2}))
		same(t, "objects", s.List(), any(keyed{"a", 2}))
		must(t, s.Delete(keyed{"a", 3}))
		must(t, s.Delete(keyed{"a", 3}))
		same(t, "keys after the delete", s.ListKeys())
		if list := s.List(); list == nil {
			t.Error("the list of an empty store is nil")
		}
	}
}

func storeIdentity(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, kc.Indexers{"node": byNode})
	p := pod("ns", "a", on("n1"))
	must(t, s.Add(p))
	for what, get := range map[string]func() any{
		"Get":      func() any { item, _, _ := s.Get(pod("ns", "a")); return item },
		"GetByKey": func() any { item, _, _ := s.GetByKey("ns/a"); return item },
		"List":     func() any { return s.List()[0] },
		"ByIndex":  func() any { return value(s.ByIndex("node", "n1"))(t)[0] },
		"Index":    func() any { return value(s.Index("node", p))(t)[0] },
	} {
		if get() != any(p) {
			t.Errorf("%s gives another object", what)
		}
	}
	item, exists, err := s.Get(pod("ns", "b"))
	if item != nil || exists || err != nil {
		t.Errorf("an absent object: %v, %v, %v", item, exists, err)
	}
}

func storeKeyErrors(t *testing.T, im Implementation) {
	for _, s := range []kc.Store{
		im.NewStore(keyOfKeyed),
		im.NewIndexer(keyOfKeyed, kc.Indexers{"value": valueOfKeyed}),
	} {
		must(t, s.Add(keyed{"a", 1}))
		bad := keyed{"bad", 2}
		_, _, getErr := s.Get(bad)
		for what, err := range map[string]error{
			"Add": s.Add(bad), "Update": s.Update(bad), "Delete": s.Delete(bad), "Get": getErr,
			"Replace": s.Replace([]any{keyed{"b", 3}, bad}, "5"),
		} {
			var keyErr kc.KeyError
			if !errors.As(err, &keyErr) {
				t.Errorf("%s: %T is no KeyError: %v", what, err, err)
				continue
			}
			if keyErr.Obj != any(bad) || keyErr.Err != errBad || !errors.Is(err, errBad) {
				t.Errorf("%s: the KeyError is of %v, because of %v", what, keyErr.Obj, keyErr.Err)
			}
			if !strings.Contains(err.Error(), errBad.Error()) {
				t.Errorf("%s: %q does not name the cause", what, err)
			}
		}
		same(t, "objects after the errors", s.List(), any(keyed{"a", 1}))
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

func storeResync(t *testing.T, im Implementation) {
	s := im.NewStore(keyOfKeyed)
	must(t, s.Resync())
	must(t, s.Add(keyed{"a", 1}))
	must(t, s.Resync())
	same(t, "objects", s.List(), any(keyed{"a", 1}))
}

func storeExplicitKey(t *testing.T, im Implementation) {
	s := im.NewStore(im.MetaNamespaceKeyFunc)
	p := pod("ns", "a")
	must(t, s.Add(p))
	item, exists, err := s.Get(kc.ExplicitKey("ns/a"))
	if item != any(p) || !exists || err != nil {
		t.Errorf("Get by explicit key: %v, %v, %v", item, exists, err)
	}
	must(t, s.Delete(kc.ExplicitKey("ns/a")))
	same(t, "keys", s.ListKeys())
}

func storeTombstone(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.DeletionHandlingMetaNamespaceKeyFunc, kc.Indexers{"node": byNode})
	must(t, s.Add(pod("ns", "a", on("n1"))))
	must(t, s.Add(pod("ns", "b", on("n1"))))
	must(t, s.Delete(kc.DeletedFinalStateUnknown{Key: "ns/a"}))
	must(t, s.Delete(kc.DeletedFinalStateUnknown{Key: "ns/b", Obj: pod("ns", "b")}))
	same(t, "keys", s.ListKeys())
	same(t, "values", s.ListIndexFuncValues("node"))
}

func keysOfObjects(t *testing.T, im Implementation) {
	for _, c := range []struct {
		obj  any
		want string
	}{
		{pod("ns", "a"), "ns/a"},
		{pod("", "a"), "a"},
		{&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}, "ns/m"},
		{kc.ExplicitKey("any/thing/at all"), "any/thing/at all"},
	} {
		equal(t, "key", value(im.MetaNamespaceKeyFunc(c.obj))(t), c.want)
		equal(t, "key", value(im.DeletionHandlingMetaNamespaceKeyFunc(c.obj))(t), c.want)
	}
	for _, obj := range []any{nil, "a string", keyed{"a", 1}} {
		if key, err := im.MetaNamespaceKeyFunc(obj); err == nil || key != "" {
			t.Errorf("the key of %v is %q, %v", obj, key, err)
		}
	}
	if _, err := im.MetaNamespaceKeyFunc(kc.DeletedFinalStateUnknown{Key: "ns/a"}); err == nil {
		t.Error("MetaNamespaceKeyFunc takes a DeletedFinalStateUnknown")
	}
	equal(t, "key of unknown state", value(im.DeletionHandlingMetaNamespaceKeyFunc(kc.DeletedFinalStateUnknown{Key: "x/y"}))(t), "x/y")

	for _, c := range []struct {
		key, namespace, name string
		bad                  bool
	}{
		{key: "ns/a", namespace: "ns", name: "a"},
		{key: "a", name: "a"},
		{key: ""},
		{key: "/a", name: "a"},
		{key: "ns/", namespace: "ns"},
		{key: "a/b/c", bad: true},
	} {
		namespace, name, err := im.SplitMetaNamespaceKey(c.key)
		if namespace != c.namespace || name != c.name || (err != nil) != c.bad {
			t.Errorf("%q splits into %q, %q, %v", c.key, namespace, name, err)
		}
	}

	same(t, "namespace index", value(im.MetaNamespaceIndexFunc(pod("ns", "a")))(t), "ns")
	same(t, "namespace index of none", value(im.MetaNamespaceIndexFunc(pod("", "a")))(t), "")
	if values, err := im.MetaNamespaceIndexFunc("a string"); err == nil {
		t.Errorf("the namespace of a string is %v", values)
	}
}

func indexFuncAsKeyFunc(t *testing.T, im Implementation) {
	key := im.IndexFuncToKeyFuncAdapter(byNode)
	equal(t, "key", value(key(pod("ns", "a", on("n1"))))(t), "n1")
	if _, err := key(pod("ns", "a")); err == nil {
		t.Error("no value makes a key")
	}
	if _, err := key("a string"); err == nil {
		t.Error("an error makes a key")
	}
	two := im.IndexFuncToKeyFuncAdapter(func(any) ([]string, error) { return []string{"a", "b"}, nil })
	if _, err := two(nil); err == nil {
		t.Error("two values make a key")
	}
}

func storeTransformer(t *testing.T, im Implementation) {
	s := im.NewTransformingStore(keyOfKeyed, func(obj any) (any, error) {
		k := obj.(keyed)
		if k.value == 13 {
			return nil, errBad
		}
		k.value *= 10
		return k, nil
	})
	must(t, s.Add(keyed{"a", 1}))
	must(t, s.Update(keyed{"b", 2}))
	same(t, "objects", names(s.List()), "{a 10}", "{b 20}")
	for what, err := range map[string]error{
		"Add": s.Add(keyed{"c", 13}), "Update": s.Update(keyed{"a", 13}),
		"Replace": s.Replace([]any{keyed{"d", 1}, keyed{"e", 13}}, "1"),
	} {
		if !errors.Is(err, errBad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same(t, "objects after the errors", names(s.List()), "{a 10}", "{b 20}")
	must(t, s.Replace([]any{keyed{"d", 4}}, "1"))
	same(t, "objects after Replace", names(s.List()), "{d 40}")
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

func storeTransaction(t *testing.T, im Implementation) {
	s := im.NewIndexer(keyOfKeyed, kc.Indexers{"value": valueOfKeyed})
	txns, ok := s.(kc.TransactionStore)
	if !ok {
		t.Fatalf("a %T has no transactions", s)
	}
	if err := txns.Transaction(); err != nil {
		t.Errorf("an empty transaction: %v", err)
	}
	must(t, s.Add(keyed{"gone", 1}))
	if err := txns.Transaction(
		kc.Transaction{Type: kc.TransactionTypeAdd, Object: keyed{"a", 1}},
		kc.Transaction{Type: kc.TransactionTypeUpdate, Object: keyed{"a", 2}},
		kc.Transaction{Type: kc.TransactionTypeUpdate, Object: keyed{"b", 3}},
		kc.Transaction{Type: kc.TransactionTypeDelete, Object: keyed{"gone", 0}},
		kc.Transaction{Type: kc.TransactionTypeDelete, Object: keyed{"never there", 0}},
	); err != nil {
		t.Errorf("a transaction failed: %v", err)
	}
	same(t, "objects", names(s.List()), "{a 2}", "{b 3}")
	same(t, "by index", names(value(s.ByIndex("value", "2"))(t)), "{a 2}")
	same(t, "by an index value that is gone", value(s.ByIndex("value", "1"))(t))

	err := txns.Transaction(
		kc.Transaction{Type: kc.TransactionTypeAdd, Object: keyed{"c", 4}},
		kc.Transaction{Type: kc.TransactionTypeAdd, Object: keyed{"bad", 5}},
		kc.Transaction{Type: kc.TransactionTypeDelete, Object: keyed{"a", 0}},
	)
	if err == nil {
		t.Fatal("a transaction with a bad key succeeded")
	}
	same(t, "writes that succeeded", err.SuccessfulIndices, 0, 2)
	equal(t, "writes", err.TotalTransactions, 3)
	var keyErr kc.KeyError
	if len(err.Errors) != 1 || !errors.As(err.Errors[0], &keyErr) {
		t.Errorf("errors: %v", err.Errors)
	}
	same(t, "objects", names(s.List()), "{b 3}", "{c 4}")

	pods := im.NewIndexer(im.MetaNamespaceKeyFunc, kc.Indexers{})
	pods.(kc.TransactionStore).Transaction(
		kc.Transaction{Type: kc.TransactionTypeAdd, Object: pod("ns", "a", at("5"))},
		kc.Transaction{Type: kc.TransactionTypeAdd, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "6"}}},
	)
	equal(t, "version after a transaction", pods.LastStoreSyncResourceVersion(), "6")
}
